// Teams of this process: made for communicators, kept for the next one of the same ranks.
#ifndef FERMATA_PRELOAD_MPI_POOL_HPP
#define FERMATA_PRELOAD_MPI_POOL_HPP

#include <fermata/fermata.h>

#include <cstdint>

#include "mpi.hpp"

namespace fermata::preload {

struct State;

struct Pooled {
  Pooled* next = nullptr;
  std::uint64_t id = 0;  // the same at all of its members: its place
  fermata_team* team = nullptr;
  fermata_member* member = nullptr;
  int size = 0;
  int* ranks = nullptr;  // of MPI_COMM_WORLD, in the order of the team's
  bool taken = false;
  bool over_hosts = false;
  std::int64_t ranks_of_a_cpu = 1;
  std::int64_t look_every_ns = 0;  // at the library, by who waits and is awake
};

// By which the ranks of a communicator come to an agreement: a team of the same ranks that there is already,
// or the library.
struct Council {
  MPI_Comm comm;
  State* team;           // null: the library
  bool refuses = false;  // this rank can have no team
};

// The one CPU that this rank is bound to, or -1.
int bound_cpu();
// Collective, by all of MPI_COMM_WORLD, before any team: `host` has the ranks of this host. cpus: bound_cpu()
// of all, from malloc; kept.
bool prepare_teams(MPI_Comm host, int* cpus);
// Collective, by all of the communicator: a team of its ranks (numbers in MPI_COMM_WORLD), who are on one
// host or several. Null, at all of them alike: there is none. `why` is set then.
Pooled* take_team(const Council& council, const int* ranks, int size, int rank, bool over_hosts,
                  const char** why);
// By whoever has no outstanding calls in it. `broken`: it will not be used again.
void give_back(Pooled* pooled, bool broken);
// All of them.
void drop_teams();
// MPI's own communicator for looking after the library's progress; MPI_COMM_NULL: MPI is not initialized.
extern MPI_Comm private_comm;
int own_rank();  // in it
// The library gets on with what it has to do.
void drive_library();

}  // namespace fermata::preload
#endif
