// The two sides of a collective's arguments: what a rank sends and what it receives, and where both lie.
#ifndef FERMATA_PRELOAD_MPI_SIDES_HPP
#define FERMATA_PRELOAD_MPI_SIDES_HPP

#include <string.h>

#include <cstddef>
#include <cstdint>

#include "types.hpp"

namespace fermata::preload {

// Counts or displacements as MPI has them, of either width: int, or MPI_Count and MPI_Aint, which may be
// different types. Or a sequence: `first`, and `step` more each time.
struct Numbers {
  const int* narrow = nullptr;
  const void* wide = nullptr;
  MPI_Count first = 0, step = 0;
  bool in_steps = false;
  Numbers() = default;
  Numbers(const int* given) : narrow(given) {}  // NOLINT: a count of either width is a count
  template <class Wide>
  Numbers(const Wide* given) : wide(given) {  // NOLINT: as above
    static_assert(sizeof(Wide) == sizeof(std::int64_t));
  }
  Numbers(MPI_Count from, MPI_Count by) : first(from), step(by), in_steps(true) {}
  bool given() const { return narrow != nullptr || wide != nullptr || in_steps; }
  MPI_Count operator[](int i) const {
    if (in_steps) return first + i * step;
    if (narrow != nullptr) return narrow[i];
    std::int64_t number;
    memcpy(&number, static_cast<const char*>(wide) + sizeof number * static_cast<std::size_t>(i),
           sizeof number);
    return number;
  }
};

// Blocks of `count` elements, side by side, or blocks by `counts` and `displacements`.
struct Side {
  const void* at = nullptr;
  MPI_Count count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  Numbers counts = {}, displacements = {};
};

// Blocks of one length, side by side, in the form of blocks that may differ.
inline Side side_by_side(const void* at, MPI_Count count, MPI_Datatype type) {
  return {at, count, type, {count, 0}, {0, count}};
}

inline bool is_in_place(const Side& side) { return side.at == MPI_IN_PLACE; }
// May the memory of the two sides overlap? A side's range goes from its lowest block to its highest one,
// gaps included. An element counts as one extent from its address on, so data outside of it are not found.
// False if either side is in place or of an invalid type.
bool meet(const Side& a, int a_blocks, const Side& b, int b_blocks);
// Do any two of the blocks, given by counts and displacements, share an element? Also true if there is no
// memory to find out.
bool overlaps_itself(const Side& side, int blocks);

}  // namespace fermata::preload
#endif
