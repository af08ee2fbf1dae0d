// The memory of ring buffers: where the rings of a channel lie in a team's segment, and their lines and
// buffers (exec/blocks.hpp says how pieces travel through them).
#ifndef FERMATA_EXEC_CHANNEL_HPP
#define FERMATA_EXEC_CHANNEL_HPP

#include <cstddef>
#include <cstdint>

#include "base/line.hpp"
#include "exec/block_program.hpp"
#include "exec/copy_choice.hpp"
#include "exec/segment_layout.hpp"
#include "net/net.hpp"

namespace fermata::exec {

// Lines of a ring: a power of two.
inline constexpr std::uint64_t kLeastRingLines = 4, kMostRingLines = 128;
// Oversubscribed teams on one host may have more lines: at most kMostCrowdedLines, and over kMostRingLines
// only while lines x members of a CPU are at most kLinesOfACpu. Each time a member runs, it fills the room in
// its rings. So calls that do not synchronize share the cost of a context switch. kLinesOfACpu keeps one
// round of a CPU's members well below the time from which a wait counts as a stall (sync/wait.hpp).
inline constexpr std::uint64_t kMostCrowdedLines = 512, kLinesOfACpu = 1024;
// Teams over several hosts have more lines, too, if the rings have room. Calls that do not synchronize run
// ahead until the ring is full. A credit for half of the lines takes a round trip, and longer if ranks share
// CPUs. So the rate is at most half of the lines in a round trip: with 2 ms each way, a call every 4 us.
inline constexpr std::uint64_t kMostLinesOverHosts = 2048;
inline constexpr std::size_t kRingLine = 64;
inline constexpr std::uint64_t kRingQuarters = 4;  // of the buffer after the lines
// The most bytes of a quarter. The whole buffer is longer than most second-level caches: what the sender
// wrote is in a cache that both CPUs share when the reader comes, and need not be fetched from the sender's
// own. That makes exchanges twice as fast (bench/results/README.md).
inline constexpr std::size_t kMostInQuarter = 524288;
// A ring between two hosts has more room, because a credit takes a round trip: the rate is at most the buffer
// in a round trip, with 2 ms each way 1 GB/s. Its buffer has parts instead of quarters. The sender enters the
// first part whose pieces were all read. So it uses no more of the buffer than its pieces on their way need,
// and what it uses stays in the caches.
inline constexpr std::size_t kMostInQuarterOverHosts = std::size_t{1} << 20;
inline constexpr std::size_t kMostInPart = std::size_t{128} << 10;
inline constexpr std::size_t kMostParts = kRingQuarters * kMostInQuarterOverHosts / kMostInPart;
using fermata::kMostPiece;
using fermata::kOnLine;
static_assert(kMostPiece <= net::kMostBlock && kRingLine == (1 + net::kLineWords) * 8);
// Where the rings of one channel lie in a team's segment, and how far this member is in each. Operations that
// share a channel run in the same order at all members.
struct Channel {
  struct End {
    std::uint64_t next = 1;  // piece to write, or to await
    std::uint64_t credit_seen = 0;
    std::uint64_t place = 0;                    // bytes of the buffer used or skipped so far, over all laps
    std::uint64_t last_in[kRingQuarters] = {};  // the sender's: the last piece written into each quarter
    bool refused = false;                       // the receiver has refused single copy from this process
    CopyChoice copies;                          // the sender's
  };
  std::byte* base = nullptr;
  std::uint64_t lines = kLeastRingLines;
  std::size_t in_quarter = 0;  // most bytes of a quarter of the buffer; 0: lines only
  // Not 0: a ring for each ordered pair of members, and the ends that this member has. 0: a ring and two ends
  // for each edge of one program.
  std::uint32_t members = 0;
  End* ends = nullptr;
  // In a team over several hosts, for each receiver: the last piece written into each of kMostParts parts.
  // Null: the quarters are the parts.
  std::uint64_t* last_in_parts = nullptr;

  static constexpr std::size_t ring_bytes(std::uint64_t lines, std::size_t in_quarter) {
    return round_up(kMaxLine + lines * kRingLine + kRingQuarters * in_quarter, kMaxLine);
  }
  static constexpr std::size_t ends_of(std::uint32_t members) { return 2 * std::size_t{members}; }
  // Resets the rings at `base`, where other rings may have been.
  static void clear(std::byte* base, std::uint64_t lines, std::size_t in_quarter, std::size_t rings);
  // Bytes of the longest piece.
  std::size_t most() const {
    return in_quarter > kMostPiece ? kMostPiece : in_quarter > kOnLine ? in_quarter : kOnLine;
  }
  // The same between two hosts. Such pieces fill a part of the buffer, but for some lines.
  std::size_t most_away() const {
    const std::size_t part = in_part();
    if (part >= 2 * net::kMostBlock) return net::kMostBlock;
    return part > kOnLine ? (part > net::kMostBlock ? part / 2 : part) / kRingLine * kRingLine : kOnLine;
  }
  std::byte* ring(const BlockEdge& edge, std::uint32_t number) const {
    return base + (members != 0 ? std::size_t{edge.from} * members + edge.to : number) *
                      ring_bytes(lines, in_quarter);
  }
  std::byte* line(std::byte* ring, std::uint64_t piece) const {
    return ring + kMaxLine + (piece & (lines - 1)) * kRingLine;
  }
  // The bytes of a quarter of a ring on one host.
  std::size_t quarter() const { return in_quarter < kMostInQuarter ? in_quarter : kMostInQuarter; }
  // Of a ring between two hosts: the bytes of a part of the buffer, and how many parts there are.
  std::size_t in_part() const {
    return last_in_parts != nullptr && in_quarter > kMostInPart ? kMostInPart : in_quarter;
  }
  std::size_t parts() const { return kRingQuarters * in_quarter / in_part(); }
  // On one host: the contiguous place of the next piece in the buffer, counted like `place`. Both ends
  // compute the same.
  struct Extent {
    std::uint64_t start = 0, end = 0;
  };
  Extent extent_of(std::uint64_t place, std::size_t bytes) const {
    const std::uint64_t room = kRingQuarters * quarter();
    const std::uint64_t size = round_up(bytes, kRingLine);
    const std::uint64_t left = room - place % room;
    const std::uint64_t start = size <= left ? place : place + left;
    return {start, start + size};
  }
  std::byte* buffer(std::byte* ring) const { return ring + kMaxLine + lines * kRingLine; }
  std::byte* at(std::byte* ring, std::uint64_t start) const {
    return buffer(ring) + start % (kRingQuarters * quarter());
  }
  // A member can send to itself.
  End* end(const BlockEdge& edge, std::uint32_t number, bool receives) const {
    if (members == 0) return &ends[2 * number + (receives ? 1 : 0)];
    return &ends[receives ? members + edge.from : edge.to];
  }
};

// Ring buffers for all ordered pairs of members, then the heap. This is address space: memory is allocated
// where it is used. Lines and buffers of the rings fit in kRingSpace, or over several hosts in
// kRingSpaceOverHosts, if possible: at most a quarter of it is for lines, the rest for the buffers.
inline constexpr std::uint64_t kRingSpace = std::uint64_t{32} << 20;
inline constexpr std::uint64_t kRingSpaceOverHosts = std::uint64_t{128} << 20;
inline constexpr std::uint64_t kHeapSpace = std::uint64_t{16} << 20;
// A ring between hosts holds what is sent in a round trip, so it is longer.
inline constexpr std::uint64_t kHeapSpaceOverHosts = std::uint64_t{128} << 20;

// layout.members and layout.hosts are set.
inline std::size_t lay_out_blocks(std::size_t at, std::uint64_t most_lines, TeamLayout& layout) {
  const bool over_hosts = layout.hosts != 0;
  const std::uint64_t pairs = std::uint64_t{layout.members} * layout.members;
  const std::uint64_t fits = (over_hosts ? kRingSpaceOverHosts : kRingSpace) / pairs;
  layout.ring_lines = most_lines;
  while (layout.ring_lines > kLeastRingLines && layout.ring_lines * kRingLine > fits / 4)
    layout.ring_lines /= 2;
  const std::uint64_t lines = layout.ring_lines * kRingLine;
  const std::uint64_t in_quarter = fits > lines ? (fits - lines) / kRingQuarters / kRingLine * kRingLine : 0;
  const std::uint64_t most = over_hosts ? kMostInQuarterOverHosts : kMostInQuarter;
  layout.in_quarter = in_quarter < most ? in_quarter : most;
  layout.rings = at;
  layout.heap = at + round_up(pairs * Channel::ring_bytes(layout.ring_lines, layout.in_quarter), kMaxPage);
  layout.heap_bytes = over_hosts ? kHeapSpaceOverHosts : kHeapSpace;
  return layout.heap + layout.heap_bytes;
}

}  // namespace fermata::exec
#endif
