// The teams of this process. They are made for communicators, and cached for later ones of the same ranks in
// the same order.
#ifndef FERMATA_PRELOAD_MPI_POOL_HPP
#define FERMATA_PRELOAD_MPI_POOL_HPP

#include <fermata/fermata.h>

#include <cstdint>

#include "agreement.hpp"
#include "mpi.hpp"

namespace fermata::preload {

struct Pooled {
  Pooled* next = nullptr;
  std::uint64_t id = 0;  // the same at all members: its place in the segment; over hosts a random number
  fermata_team* team = nullptr;
  fermata_member* member = nullptr;
  int size = 0;
  int* ranks = nullptr;  // in MPI_COMM_WORLD, in the order of the team's ranks
  bool taken = false;    // by a communicator
  bool over_hosts = false;
  // the team's ranks per online CPU of this host, rounded up; over hosts an upper bound
  std::int64_t ranks_of_a_cpu = 1;
  std::int64_t look_every_ns = 0;  // between calls that drive MPI, by a waiting member that is awake
};

// The one CPU that this rank is bound to, or -1.
int bound_cpu();
// Collective over `host`, which has the ranks of this host, before any team is made. cpus: bound_cpu() of all
// ranks of MPI_COMM_WORLD, from malloc; drop_teams() frees the array. The ranks must agree beforehand that
// all have the array. Returns false only if `cpus` is null.
bool prepare_teams(MPI_Comm host, int* cpus);
// Collective over the communicator: a team of its ranks (numbers in MPI_COMM_WORLD), which are on one host or
// several. `council`: how they agree. Null, at all of them alike: there is none, and `why` says why.
Pooled* take_team(const Council& council, const int* ranks, int size, int rank, bool over_hosts,
                  const char** why);
// The caller has no outstanding calls in it. `broken`: this destroys the team, so that it is not used again.
void give_back(Pooled* pooled, bool broken);
// Destroys all teams, and frees the array of prepare_teams().
void drop_teams();
// Fermata's own communicator, to drive MPI's progress and for messages. MPI_COMM_NULL before MPI_Init, if
// Fermata is disabled, or if MPI did not make it. MPI_Finalize frees it if start_up() succeeded.
extern MPI_Comm private_comm;
int own_rank();  // in private_comm
// Lets MPI make progress.
void drive_library();

}  // namespace fermata::preload
#endif
