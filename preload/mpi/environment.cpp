// MPI_Init and MPI_Finalize, and everything that makes communicators.
#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "begun.hpp"
#include "communicator.hpp"
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

Origin copy_of(MPI_Comm parent) { return {parent, true}; }
Origin child_of(MPI_Comm parent) { return {parent}; }
Origin no_child_of(MPI_Comm) { return {}; }  // not all ranks of the parent make the call

// The first argument is the parent, the last one is where the new communicator goes.
template <auto kLibrary, Origin (*kOrigin)(MPI_Comm)>
struct Making;
template <class... Given, int (*Real::*kLibrary)(Given...), Origin (*kOrigin)(MPI_Comm)>
struct Making<kLibrary, kOrigin> {
  static int call(Given... given) {
    State* const state = watches() ? new_state() : nullptr;
    const int rc = in_library([=] { return (real.*kLibrary)(given...); });
    const Origin origin = kOrigin(from_end<sizeof...(given) - 1>(given...));
    if (watches()) rc == MPI_SUCCESS ? set_up(state, *from_end<0>(given...), origin) : forget(state);
    return rc;
  }
};

}  // namespace
}  // namespace fermata::preload

using namespace fermata::preload;

#define FERMATA_MAKING(name, origin) FERMATA_LEAD(name, (Making<&Real::name, origin>::call))
FERMATA_MPI_MAKERS(FERMATA_MAKING)
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

}  // extern "C"
