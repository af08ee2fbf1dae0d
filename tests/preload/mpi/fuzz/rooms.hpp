// The communicators of a batch.
#ifndef FERMATA_FUZZ_ROOMS_HPP
#define FERMATA_FUZZ_ROOMS_HPP

#include <vector>

#include "call.hpp"

namespace fuzz {

// Collective, by all of `ground`, which has all ranks and is the batch's own: a program's later communicators
// of one parent get their teams when they have been used for a while, if at all. Errors return, by MPI's
// handler or by one of ours.
Room make_room(MPI_Comm ground, const std::vector<Room>& others, const Off& off, Random& shared);
void free_room(Room& room);
// How often our error handler ran.
long handled();

}  // namespace fuzz
#endif
