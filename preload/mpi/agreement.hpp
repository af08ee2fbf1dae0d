// How the ranks of a communicator agree.
#ifndef FERMATA_PRELOAD_MPI_AGREEMENT_HPP
#define FERMATA_PRELOAD_MPI_AGREEMENT_HPP

#include <cstddef>

#include "mpi.hpp"

namespace fermata::preload {

struct State;

// The means by which the ranks of `comm` agree: MPI, or the team of another communicator that has the same
// ranks in the same order.
struct Council {
  MPI_Comm comm;
  State* team;  // the other communicator's state, which has a team; null: MPI
  // This rank can take no team from the pool. Only take_team() (pool.hpp) reads it: then no rank gets one.
  bool refuses = false;
};

// Both are collective. all_have() returns true at all ranks if `mine` is true at all of them, else false at
// all. tell() copies rank 0's data to all ranks. They report no errors. At a rank where the call fails,
// all_have() returns false, though it may be true at others. There tell() may leave `data` unchanged, or
// written in part.
bool all_have(const Council& council, bool mine);
void tell(const Council& council, void* data, std::size_t bytes);

}  // namespace fermata::preload
#endif
