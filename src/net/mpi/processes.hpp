// Finds out where the processes of a communicator are.
#ifndef FERMATA_NET_MPI_PROCESSES_HPP
#define FERMATA_NET_MPI_PROCESSES_HPP

#include <mpi.h>

#include <cstdint>
#include <new>
#include <string>
#include <vector>

#include "fermata/status.h"

namespace fermata::net {

// What each process sends to the others.
struct ProcessInfo {
  std::uint64_t host = 0;  // fermata_host_id(), plus the simulated host's number
  int pinned = -1;         // as Processes::pinned
  char name[80] = {};
  // For fermata_team_create_mpi: what the process says about the team (team.cpp).
  int members = 0;  // below 0: a status
  int wait = 0, tagged = 0;
  // The name by which a host's processes meet. No other process can guess it, unless getrandom() is
  // forbidden.
  std::uint64_t meeting[2] = {};
};

struct Processes {
  std::vector<ProcessInfo> said;  // what each process has sent
  std::vector<int> host_of;       // of each process; hosts are numbered in the order of their first process
  // Of each process: its CPU, or the first of its core; -1: it may use several cores, or that is not known.
  std::vector<int> pinned;
  std::vector<std::string> names;  // of each host

  int hosts() const { return static_cast<int>(names.size()); }
};

int size_of(MPI_Comm comm);
int rank_in(MPI_Comm comm);

// Collective. Returns the worst status of all processes: errors are negative. Where MPI reports an error it
// returns FERMATA_ERR_SYSTEM, and other processes may get another status.
int agreed(MPI_Comm comm, int status);

// Collective. Each process does `step`, which returns a status and is not collective itself. All processes
// get the worst status. A process without memory for its step has FERMATA_ERR_MEMORY.
template <class Step>
int agreed_after(MPI_Comm comm, Step&& step) {
  int status = FERMATA_ERR_MEMORY;
  try {
    status = step();
  } catch (const std::bad_alloc&) {
  }
  return agreed(comm, status);
}

// Collective. FERMATA_FAKE_HOSTS=k, k > 1, is for communicators on one real host. It divides the ranks of
// `comm` into k blocks, and each block counts as a host (os::fake_host_of()). `mine`: what this process says
// about a team. Returns what agreed() returns: OK, MEMORY, or SYSTEM if MPI reported an error.
int find_processes(MPI_Comm comm, ProcessInfo mine, Processes& out);

}  // namespace fermata::net
#endif
