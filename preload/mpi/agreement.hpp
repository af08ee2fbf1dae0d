// How the ranks of a communicator agree.
#ifndef FERMATA_PRELOAD_MPI_AGREEMENT_HPP
#define FERMATA_PRELOAD_MPI_AGREEMENT_HPP

#include <cstddef>

#include "mpi.hpp"

namespace fermata::preload {

struct State;

// The means by which the ranks of a communicator agree: an existing team of the same ranks, or MPI.
struct Council {
  MPI_Comm comm;
  State* team;           // null: MPI
  bool refuses = false;  // this rank can have no team
};

// Both are collective. all_have(): true, at all ranks, if `mine` is true at all of them. tell() sends data
// from the first rank to all.
bool all_have(const Council& council, bool mine);
void tell(const Council& council, void* data, std::size_t bytes);

}  // namespace fermata::preload
#endif
