// Where the processes of a communicator are.
#ifndef FERMATA_NET_MPI_PLACES_HPP
#define FERMATA_NET_MPI_PLACES_HPP

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

namespace fermata::net {

// What each process tells the others.
struct Place {
  std::uint64_t host = 0;  // fermata_host_id()
  int pinned = -1;
  char name[80] = {};
  // Of a team: what is told of it where that is made (team.cpp).
  int members = 0;  // below 0: a status
  int wait = 0, tagged = 0;
  std::uint64_t meeting[2] = {};  // nobody else can guess it
};

struct Places {
  std::vector<Place> said;         // by each process
  std::vector<int> host_of;        // of each process; numbers of hosts in the order of their first process
  std::vector<int> pinned;         // of each process: its CPU, or the first of its core; -1: it may use several
  std::vector<std::string> names;  // of the hosts

  int hosts() const { return static_cast<int>(names.size()); }
};

// Collective. FERMATA_FAKE_HOSTS=k takes the processes for those of k hosts, in blocks. `mine`: a team's part of it.
Places find_places(MPI_Comm comm, Place mine = {});

int size_of(MPI_Comm comm);
int rank_in(MPI_Comm comm);

}  // namespace fermata::net
#endif
