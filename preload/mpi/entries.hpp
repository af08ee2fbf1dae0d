// Where the calls of the program and of tools lead (FERMATA_INTERCEPT in mpi.hpp).
#ifndef FERMATA_PRELOAD_MPI_ENTRIES_HPP
#define FERMATA_PRELOAD_MPI_ENTRIES_HPP

namespace fermata::preload {

// From now on every call leads to a tool or to the MPI library, as without this library. Must come before the
// first MPI call that has any effect.
void leave_everything();

}  // namespace fermata::preload
#endif
