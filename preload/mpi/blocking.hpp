// A blocking collective of a communicator that has a team.
#ifndef FERMATA_PRELOAD_MPI_BLOCKING_HPP
#define FERMATA_PRELOAD_MPI_BLOCKING_HPP

#include "operation.hpp"

namespace fermata::preload {

// Returns what the MPI function returns. *left: nothing was done, and MPI is to do it.
int run(State& state, Kind kind, const Arguments& arguments, bool* left);
int run_barrier(State& state, bool* left);

}  // namespace fermata::preload
#endif
