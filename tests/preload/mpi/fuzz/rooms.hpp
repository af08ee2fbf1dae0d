// The communicators of a batch.
#ifndef FERMATA_FUZZ_ROOMS_HPP
#define FERMATA_FUZZ_ROOMS_HPP

#include <vector>

#include "call.hpp"

namespace fuzz {

// Makes a communicator, or takes MPI_COMM_WORLD. All ranks of `ground` call it together; `ground` has all
// ranks and belongs to the batch. Later communicators of one parent get their teams only after some use, if
// at all. Errors return, by MPI's handler or by the fuzzer's.
Room make_room(MPI_Comm ground, const std::vector<Room>& others, const Off& off, Random& shared);
void free_room(Room& room);
// How often the fuzzer's error handler ran.
long handled();

}  // namespace fuzz
#endif
