#include "sides.hpp"

#include <stdlib.h>

namespace fermata::preload {
namespace {

// Where blocks of a side begin and end, as addresses.
struct Range {
  std::uintptr_t begin = 0, end = 0;
};

Range range_of(const Side& side, int blocks) {
  Layout layout;
  if (is_in_place(side) || !layout_of(side.type, &layout)) return {};
  Range range{UINTPTR_MAX, 0};
  const auto at = reinterpret_cast<std::uintptr_t>(side.at);
  if (!side.counts.given())
    return {at, at + static_cast<std::uintptr_t>(side.count * blocks * layout.extent)};
  for (int b = 0; b < blocks; ++b) {
    if (side.counts[b] == 0) continue;
    const auto begin = at + static_cast<std::uintptr_t>(side.displacements[b] * layout.extent);
    const auto end = begin + static_cast<std::uintptr_t>(side.counts[b] * layout.extent);
    if (begin < range.begin) range.begin = begin;
    if (end > range.end) range.end = end;
  }
  return range;
}

struct Block {
  MPI_Count begin, end;
};

int by_begin(const void* a, const void* b) {
  const MPI_Count first = static_cast<const Block*>(a)->begin, second = static_cast<const Block*>(b)->begin;
  return first < second ? -1 : first > second ? 1 : 0;
}

}  // namespace

bool meet(const Side& a, int a_blocks, const Side& b, int b_blocks) {
  const Range first = range_of(a, a_blocks), second = range_of(b, b_blocks);
  return first.begin < second.end && second.begin < first.end;
}

bool overlaps_itself(const Side& side, int blocks) {
  // Mostly the blocks lie in the order of the ranks.
  MPI_Count end = side.displacements[0];
  int b = 0;
  for (; b < blocks && (side.counts[b] == 0 || side.displacements[b] >= end); ++b)
    if (side.counts[b] != 0) end = side.displacements[b] + side.counts[b];
  if (b == blocks) return false;
  auto* const sorted = static_cast<Block*>(malloc(static_cast<std::size_t>(blocks) * sizeof(Block)));
  if (sorted == nullptr) return true;  // this answer costs a copy and is never wrong
  std::size_t n = 0;
  for (b = 0; b < blocks; ++b)
    if (side.counts[b] != 0) sorted[n++] = {side.displacements[b], side.displacements[b] + side.counts[b]};
  qsort(sorted, n, sizeof(Block), by_begin);
  bool overlaps = false;
  for (std::size_t i = 1; i < n; ++i) overlaps = overlaps || sorted[i].begin < sorted[i - 1].end;
  free(sorted);
  return overlaps;
}

}  // namespace fermata::preload
