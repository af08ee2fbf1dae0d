// What each rank knows of all ranks of MPI_COMM_WORLD: hosts, CPUs, thread levels, helper threads.
#ifndef FERMATA_PRELOAD_MPI_WORLD_HPP
#define FERMATA_PRELOAD_MPI_WORLD_HPP

#include "mpi.hpp"

namespace fermata::preload {

inline constexpr int kMostMembers = 1024;  // of a team that moves blocks

// Collective, in MPI_Init. Also prepares the teams of this host (pool.hpp), and makes the helper thread,
// which only non-blocking and persistent collectives of several ranks need. False: there can be no teams.
bool find_world();
void drop_world();  // before private_comm is freed (pool.hpp)

// The communicator's ranks in MPI_COMM_WORLD; false: some are of another MPI_COMM_WORLD. The functions below
// take an array of ranks in MPI_COMM_WORLD, and give the same answer at each of these ranks.
bool world_ranks(MPI_Comm comm, int size, int (&ranks)[kMostMembers]);
bool are_on_several_hosts(const int* ranks, int size);
// While a call of such a rank waits in MPI, the progress beside it may call MPI and the program's operators:
// with MPI_THREAD_MULTIPLE the helper may, else only the hook (hook.hpp).
bool all_may_call_beside(const int* ranks, int size);
// Why MPI does all non-blocking and persistent collectives of these ranks; null: Fermata can do them, unless
// something else forbids the single call. A call that waits in MPI needs progress beside it. Data from
// another host pass through MPI's functions, so over hosts this progress must be one that may call them.
const char* why_none_begins(const int* ranks, int size, bool over_hosts);

}  // namespace fermata::preload
#endif
