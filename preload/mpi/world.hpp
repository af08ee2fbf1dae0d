// What each rank knows of all ranks of MPI_COMM_WORLD: hosts, CPUs, thread levels, helper threads.
#ifndef FERMATA_PRELOAD_MPI_WORLD_HPP
#define FERMATA_PRELOAD_MPI_WORLD_HPP

#include "mpi.hpp"

namespace fermata::preload {

inline constexpr int kMostMembers = 1024;  // of a team that moves blocks

// Collective, in MPI_Init. Also prepares the teams of this host (pool.hpp), and makes the helper thread,
// which only non-blocking and persistent collectives of several ranks need. False: there can be no teams.
bool find_world();
void drop_world();

// The communicator's ranks in MPI_COMM_WORLD; false: some are of another MPI_COMM_WORLD. The functions below
// take an array of ranks in MPI_COMM_WORLD, and give the same answer at each of these ranks.
bool world_ranks(MPI_Comm comm, int size, int (&ranks)[kMostMembers]);
bool are_on_several_hosts(const int* ranks, int size);
bool all_are_multiple(const int* ranks, int size);  // their processes have MPI_THREAD_MULTIPLE
// Why MPI does all non-blocking and persistent collectives of these ranks; null: Fermata can do them, unless
// something else forbids the single call. A call that waits in MPI needs the helper beside it. MPI's
// functions pass on data from another host, and the helper may call them only with MPI_THREAD_MULTIPLE.
const char* why_none_begins(const int* ranks, int size, bool over_hosts);

}  // namespace fermata::preload
#endif
