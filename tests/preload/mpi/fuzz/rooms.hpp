// The communicators of a batch.
#ifndef FERMATA_FUZZ_ROOMS_HPP
#define FERMATA_FUZZ_ROOMS_HPP

#include <vector>

#include "call.hpp"

namespace fuzz {

// Collective, by all of MPI_COMM_WORLD. Errors return, by MPI's handler or by one of ours.
Room make_room(const std::vector<Room>& others, const Off& off, Random& shared);
void free_room(Room& room);
// How often our error handler ran.
long handled();

}  // namespace fuzz
#endif
