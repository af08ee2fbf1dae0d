// Where a segment's ring buffers and its heap lie.
#ifndef FERMATA_EXEC_RING_LAYOUT_HPP
#define FERMATA_EXEC_RING_LAYOUT_HPP

#include <cstddef>
#include <cstdint>

#include "exec/blocks.hpp"
#include "exec/segment_layout.hpp"

namespace fermata::exec {

// Ring buffers for all ordered pairs of members, then the heap. This is address space: memory is allocated
// where it is used. The rings fit in kRingSpace if possible: at most a quarter of it is for lines, the rest
// for the buffers after the lines.
inline constexpr std::uint64_t kRingSpace = std::uint64_t{32} << 20;
inline constexpr std::uint64_t kHeapSpace = std::uint64_t{16} << 20;
inline constexpr std::uint32_t kMostBlockMembers = 1024;

inline std::size_t lay_out_blocks(std::size_t at, std::uint64_t most_lines, TeamLayout& layout) {
  const std::uint64_t pairs = std::uint64_t{layout.members} * layout.members;
  const std::uint64_t fits = kRingSpace / pairs;
  layout.ring_lines = most_lines;
  while (layout.ring_lines > kLeastRingLines && layout.ring_lines * kRingLine > fits / 4)
    layout.ring_lines /= 2;
  const std::uint64_t lines = layout.ring_lines * kRingLine;
  const std::uint64_t in_quarter = fits > lines ? (fits - lines) / kRingQuarters / kRingLine * kRingLine : 0;
  layout.in_quarter = in_quarter < kMostInQuarter ? in_quarter : kMostInQuarter;
  layout.rings = at;
  layout.heap = at + round_up(pairs * Channel::ring_bytes(layout.ring_lines, layout.in_quarter), 4096);
  layout.heap_bytes = kHeapSpace;
  return layout.heap + layout.heap_bytes;
}

}  // namespace fermata::exec
#endif
