// Where the processes of a communicator are.
#ifndef FERMATA_NET_MPI_PLACES_HPP
#define FERMATA_NET_MPI_PLACES_HPP

#include <mpi.h>

#include <string>
#include <vector>

namespace fermata::net {

struct Places {
  std::vector<int> host_of;        // of each process; numbers of hosts in the order of their first process
  std::vector<int> pinned;         // of each process: its CPU, or the first of its core; -1: it may use several
  std::vector<std::string> names;  // of the hosts
  MPI_Comm here = MPI_COMM_NULL;   // those of this host

  int hosts() const { return static_cast<int>(names.size()); }
};

// Collective. FERMATA_FAKE_HOSTS=k takes the processes for those of k hosts, in blocks.
Places find_places(MPI_Comm comm);

int size_of(MPI_Comm comm);
int rank_in(MPI_Comm comm);

}  // namespace fermata::net
#endif
