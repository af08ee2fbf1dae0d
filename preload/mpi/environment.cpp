// MPI_Init and MPI_Finalize, and everything that makes communicators.
#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "begun.hpp"
#include "communicator.hpp"
#include "entries.hpp"
#include "real.hpp"

namespace fermata::preload {
namespace {

// What MPI_Get_library_version() tells of a known library. Intel's has the ABI of MPICH.
#ifdef OPEN_MPI
constexpr const char* kLibraries[] = {"Open MPI"};
#else
constexpr const char* kLibraries[] = {"MPICH", "Intel(R) MPI Library"};
#endif

// The handles of other relatives of MPICH look alike, but nobody has tested them.
bool is_known_library() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  PMPI_Get_library_version(version, &length);
  for (const char* known : kLibraries)
    if (strstr(version, known) != nullptr) return true;
  version[strcspn(version, "\n")] = '\0';
  say_always(
      "this preload library does not know this program's MPI library, '%s', so everything stays the MPI "
      "library's",
      version);
  return false;
}

// Fermata asks for it when a process joins its first team. While the process has one thread, it takes a
// microsecond. In MPI_Init, where MPI's threads run, it takes 4 to 16 ms: the kernel waits until all CPUs
// have noticed.
__attribute__((constructor(104))) void register_fence_early() {
  if (!settings.disabled) syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0);
}

void initialized(int rc) {
  if (rc != MPI_SUCCESS || settings.disabled) return;
  int level = MPI_THREAD_SINGLE;
  PMPI_Query_thread(&level);
  several_threads = guarded = level == MPI_THREAD_MULTIPLE;
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) say_wrong_variables();
  start_up();
}

template <class Make>
int made(Make&& make, const MPI_Comm* comm, const Origin& origin) {
  State* const state = watches() ? new_state() : nullptr;
  int rc = MPI_SUCCESS;
  {
    const Beside beside;
    rc = make();
  }
  if (watches()) rc == MPI_SUCCESS ? set_up(state, *comm, origin) : forget(state);
  return rc;
}

}  // namespace
}  // namespace fermata::preload

using namespace fermata::preload;

FERMATA_MPI_MAKERS(FERMATA_INTERCEPT)
FERMATA_MPI_ENVIRONMENT(FERMATA_INTERCEPT)

extern "C" {

int MPI_Init(int* argc, char*** argv) {
  if (!is_known_library()) leave_everything();
  const int rc = real.Init(argc, argv);
  initialized(rc);
  return rc;
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  if (!is_known_library()) leave_everything();
  const int rc = real.Init_thread(argc, argv, required, provided);
  initialized(rc);
  return rc;
}

int MPI_Finalize() {
  finish_all();
  shut_down();
  return real.Finalize();
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* out) {
  return made([=] { return real.Comm_dup(comm, out); }, out, {comm, true});
}

int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* out) {
  return made([=] { return real.Comm_dup_with_info(comm, info, out); }, out, {comm, true});
}

int MPI_Comm_split(MPI_Comm comm, int colour, int key, MPI_Comm* out) {
  return made([=] { return real.Comm_split(comm, colour, key, out); }, out, {comm});
}

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* out) {
  return made([=] { return real.Comm_split_type(comm, type, key, info, out); }, out, {comm});
}

int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* out) {
  return made([=] { return real.Comm_create(comm, group, out); }, out, {comm});
}

int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* out) {
  return made([=] { return real.Comm_create_group(comm, group, tag, out); }, out, {});
}

int MPI_Cart_create(MPI_Comm comm, int dimensions, const int* sizes, const int* periods, int reorder,
                    MPI_Comm* out) {
  return made([=] { return real.Cart_create(comm, dimensions, sizes, periods, reorder, out); }, out, {comm});
}

int MPI_Cart_sub(MPI_Comm comm, const int* remains, MPI_Comm* out) {
  return made([=] { return real.Cart_sub(comm, remains, out); }, out, {comm});
}

int MPI_Graph_create(MPI_Comm comm, int nodes, const int* index, const int* edges, int reorder,
                     MPI_Comm* out) {
  return made([=] { return real.Graph_create(comm, nodes, index, edges, reorder, out); }, out, {comm});
}

int MPI_Dist_graph_create(MPI_Comm comm, int n, const int* sources, const int* degrees,
                          const int* destinations, const int* weights, MPI_Info info, int reorder,
                          MPI_Comm* out) {
  return made(
      [=] {
        return real.Dist_graph_create(comm, n, sources, degrees, destinations, weights, info, reorder, out);
      },
      out, {comm});
}

int MPI_Dist_graph_create_adjacent(MPI_Comm comm, int in_degree, const int* sources, const int* in_weights,
                                   int out_degree, const int* destinations, const int* out_weights,
                                   MPI_Info info, int reorder, MPI_Comm* out) {
  return made(
      [=] {
        return real.Dist_graph_create_adjacent(comm, in_degree, sources, in_weights, out_degree, destinations,
                                               out_weights, info, reorder, out);
      },
      out, {comm});
}

}  // extern "C"
