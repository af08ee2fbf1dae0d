#include "world.hpp"

#include <fermata/hosts.h>
#include <stdlib.h>

#include "begun.hpp"
#include "hook.hpp"
#include "os/environment.hpp"
#include "pool.hpp"
#include "real.hpp"

namespace fermata::preload {
namespace {

struct Place {
  std::uint64_t host;
  std::int8_t multiple;  // its process has MPI_THREAD_MULTIPLE
  std::int8_t hook;      // its process has the hook
  std::int16_t helper;   // its process has its helper thread
  std::int32_t cpu;      // the CPU that it is bound to, or -1
};
Place* places = nullptr;
int world_size = 0;
MPI_Group world_group = MPI_GROUP_NULL;

// The helper is enough within a host: there it needs no MPI. All ranks know alike whether there are several.
void choose_progress() {
  int same = 0;
  while (same < world_size && places[same].host == places[0].host) ++same;
  if (same == world_size) {
    for (int r = 0; r < world_size; ++r) places[r].hook = 0;
    remove_hook();
  }
  // with MPI_THREAD_SERIALIZED this thread would call MPI beside the program
  if (has_hook) fermata_progress_thread(0);
}

}  // namespace

bool find_world() {
  PMPI_Comm_group(MPI_COMM_WORLD, &world_group);
  PMPI_Comm_size(MPI_COMM_WORLD, &world_size);
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  places = static_cast<Place*>(malloc(static_cast<std::size_t>(world_size) * sizeof(Place)));
  int* const cpus = static_cast<int*>(malloc(static_cast<std::size_t>(world_size) * sizeof(int)));
  if (!all_have({MPI_COMM_WORLD, nullptr}, places != nullptr && cpus != nullptr)) {
    free(cpus);
    return false;
  }
  const bool has_helper = world_size == 1 || settings.kinds == 0 || make_helper();
  const bool hooked = world_size > 1 && settings.kinds != 0 && add_hook();
  Place mine{fermata_host_id(), static_cast<std::int8_t>(several_threads), static_cast<std::int8_t>(hooked),
             static_cast<std::int16_t>(has_helper), bound_cpu()};
  if (const std::int64_t fake = os::fake_host_of(rank, world_size); fake > 0)
    mine.host += static_cast<std::uint64_t>(fake);
  int first = 0;
  MPI_Comm host = MPI_COMM_NULL;
  bool known = real.Allgather(&mine, sizeof mine, MPI_BYTE, places, sizeof mine, MPI_BYTE, MPI_COMM_WORLD) ==
               MPI_SUCCESS;
  while (known && places[first].host != mine.host) ++first;
  known = known && real.Comm_split(MPI_COMM_WORLD, first, 0, &host) == MPI_SUCCESS;
  if (!known) {
    free(cpus);
    return false;
  }
  choose_progress();
  if (!has_helper && !has_hook)
    say("no helper thread can be made: non-blocking and persistent collectives stay the library's");
  for (int r = 0; r < world_size; ++r) cpus[r] = places[r].cpu;
  const bool prepared = prepare_teams(host, cpus);
  real.Comm_free(&host);
  return prepared;
}

void drop_world() {
  remove_hook();
  free(places);
  places = nullptr;
  if (world_group != MPI_GROUP_NULL) PMPI_Group_free(&world_group);
}

bool world_ranks(MPI_Comm comm, int size, int (&ranks)[kMostMembers]) {
  int own[kMostMembers];
  MPI_Group group = MPI_GROUP_NULL;
  if (PMPI_Comm_group(comm, &group) != MPI_SUCCESS) return false;
  for (int r = 0; r < size; ++r) own[r] = r;
  const int rc = PMPI_Group_translate_ranks(group, size, own, world_group, ranks);
  PMPI_Group_free(&group);
  for (int r = 0; rc == MPI_SUCCESS && r < size; ++r)
    if (ranks[r] == MPI_UNDEFINED) return false;
  return rc == MPI_SUCCESS;
}

bool are_on_several_hosts(const int* ranks, int size) {
  for (int r = 1; r < size; ++r)
    if (places[ranks[r]].host != places[ranks[0]].host) return true;
  return false;
}

bool all_may_call_beside(const int* ranks, int size) {
  for (int r = 0; r < size; ++r)
    if (places[ranks[r]].multiple == 0 && places[ranks[r]].hook == 0) return false;
  return true;
}

const char* why_none_begins(const int* ranks, int size, bool over_hosts) {
  if (library_is_newer) return "the MPI library is newer than this preload library";
  for (int r = 0; r < size; ++r)
    if (places[ranks[r]].helper == 0 && places[ranks[r]].hook == 0)
      return "a rank could not make its helper thread";
  return over_hosts && !all_may_call_beside(ranks, size)
             ? "over several hosts it needs MPI_THREAD_MULTIPLE with this MPI library"
             : nullptr;
}

}  // namespace fermata::preload
