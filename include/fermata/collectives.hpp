// The blocks of each collective: one table, and the rules that follow from it. The library, the C++ interface
// and the MPI preload take these rules from here.
//
// A member gives blocks, its input, and gets blocks, its output. Unless the call has displacements, several
// blocks lie in the order of the ranks that they come from or go to. A collective either folds the members'
// blocks with an operator, or moves them.
#ifndef FERMATA_COLLECTIVES_HPP
#define FERMATA_COLLECTIVES_HPP

#include <cstdint>

namespace fermata::inline v0 {

// P is the number of members.
struct CollectiveRules {
  enum class Blocks : std::uint8_t { kNone, kOne, kOneEach };  // kOneEach: P, one for each member
  enum class At : std::uint8_t { kAll, kRoot, kOthers };       // kOthers: at all members but the root
  // An output block is an input block (kMoved), or a fold of one input block of each rank that the name
  // says.
  enum class Makes : std::uint8_t { kMoved, kFoldOfAll, kFoldUpToOwn, kFoldBelowOwn };
  struct Side {
    Blocks blocks;
    At at;
    constexpr bool is_at(bool at_root) const {
      return blocks != Blocks::kNone && (at == At::kAll || (at == At::kRoot) == at_root);
    }
  };
  static constexpr std::int32_t kEverybody = -1;  // instead of a rank

  const char* name;
  Side in, out;
  Makes makes;

  constexpr bool folds() const { return makes != Makes::kMoved; }
  constexpr bool root_gives() const { return in.at == At::kRoot; }
  constexpr bool root_gets() const { return out.at == At::kRoot; }
  constexpr bool has_root() const { return root_gives() || root_gets(); }
  // A member finishes only after every member has begun, since it needs something from each of them. Do not
  // rely on it in a call with an empty block.
  constexpr bool synchronizes() const {
    return in.at == At::kAll && out.at == At::kAll && (makes == Makes::kMoved || makes == Makes::kFoldOfAll);
  }

  // ---- All blocks together: none, 1, P, or P x P. With P x P, block b goes from member b / P to member
  // b % P.
  constexpr bool differs_by_giver() const { return out.blocks == Blocks::kOneEach; }
  constexpr bool differs_by_receiver() const { return in.blocks == Blocks::kOneEach; }
  constexpr bool has_several() const { return differs_by_giver() || differs_by_receiver(); }
  constexpr bool is_square() const { return differs_by_giver() && differs_by_receiver(); }
  constexpr std::int64_t blocks(std::int32_t members) const {
    if (in.blocks == Blocks::kNone) return 0;
    return std::int64_t{differs_by_giver() ? members : 1} * (differs_by_receiver() ? members : 1);
  }
  // Returns the member that gives a block, or kEverybody.
  constexpr std::int32_t giver(std::int32_t block, std::int32_t members, std::int32_t root) const {
    if (!differs_by_giver()) return root_gives() ? root : kEverybody;
    return is_square() ? block / members : block;
  }
  // Returns the member that gets a block, or kEverybody. The root of a broadcast has its block already.
  constexpr std::int32_t receiver(std::int32_t block, std::int32_t members, std::int32_t root) const {
    if (!differs_by_receiver()) return root_gets() ? root : kEverybody;
    return is_square() ? block % members : block;
  }
  // Return the place of a block in the input of its giver, and in the output of its receiver.
  constexpr std::int32_t place_in(std::int32_t block, std::int32_t members) const {
    return differs_by_receiver() ? receiver(block, members, 0) : 0;
  }
  constexpr std::int32_t place_out(std::int32_t block, std::int32_t members) const {
    return differs_by_giver() ? giver(block, members, 0) : 0;
  }
  // For a collective that folds: how many of the lowest ranks contribute to the output of `rank`. 0: nothing
  // is written to its output.
  constexpr std::int32_t folded(std::int32_t rank, std::int32_t members) const {
    return makes == Makes::kFoldUpToOwn ? rank + 1 : makes == Makes::kFoldBelowOwn ? rank : members;
  }

  // ---- Lengths. They may differ where there are several blocks. A member knows the length of the blocks
  // that it gives or gets. Returns true if there is a member that does not know all lengths.
  constexpr bool hides_lengths() const { return has_several() && (has_root() || is_square()); }

  // ---- The buffers `in` and `out` of one member. Without a root, at_root makes no difference.
  // reads() says whether the member uses `in`, and writes() whether it uses `out`. A member of a broadcast
  // either gives or gets the block, so it has one buffer: out. Its root reads `out`.
  constexpr bool has_one_buffer() const { return in.at == At::kRoot && out.at == At::kOthers; }
  constexpr bool reads(bool at_root) const { return in.is_at(at_root) && !has_one_buffer(); }
  constexpr bool writes(bool at_root) const { return out.is_at(at_root) || has_one_buffer(); }
  constexpr bool reads_several(bool at_root) const { return in.is_at(at_root) && differs_by_receiver(); }
  constexpr bool writes_several(bool at_root) const { return out.is_at(at_root) && differs_by_giver(); }
  // collects(): one block in and several out. divides(): several in and one out.
  constexpr bool collects() const { return differs_by_giver() && !differs_by_receiver(); }
  constexpr bool divides() const { return differs_by_receiver() && !differs_by_giver(); }
  // FERMATA_IN_PLACE stands for the input, which then lies in the output's buffer. In a scatter it stands for
  // the root's output: its own block stays where it lies in the input.
  constexpr bool in_place_is_output() const { return divides() && !folds(); }
  // May the member pass FERMATA_IN_PLACE for its input? Any member of a reduce may, if it has passed an
  // output.
  constexpr bool may_read_in_place(bool at_root) const {
    return reads(at_root) && !in_place_is_output() && (writes(at_root) || folds());
  }
};

namespace detail::collectives {

using enum CollectiveRules::Blocks;
using enum CollectiveRules::At;
using enum CollectiveRules::Makes;

// The row numbers are those of enum fermata_collective.
inline constexpr int kRows = 11;
inline constexpr CollectiveRules kTable[kRows] = {
    // name, input, output, what an output block is
    {"barrier", {kNone, kAll}, {kNone, kAll}, kMoved},
    {"broadcast", {kOne, kRoot}, {kOne, kOthers}, kMoved},
    {"reduce", {kOne, kAll}, {kOne, kRoot}, kFoldOfAll},
    {"allreduce", {kOne, kAll}, {kOne, kAll}, kFoldOfAll},
    {"gather", {kOne, kAll}, {kOneEach, kRoot}, kMoved},
    {"scatter", {kOneEach, kRoot}, {kOne, kAll}, kMoved},
    {"allgather", {kOne, kAll}, {kOneEach, kAll}, kMoved},
    {"reduce_scatter", {kOneEach, kAll}, {kOne, kAll}, kFoldOfAll},
    {"alltoall", {kOneEach, kAll}, {kOneEach, kAll}, kMoved},
    {"scan", {kOne, kAll}, {kOne, kAll}, kFoldUpToOwn},
    {"exscan", {kOne, kAll}, {kOne, kAll}, kFoldBelowOwn},
};

}  // namespace detail::collectives

inline constexpr int kCollectiveCount = detail::collectives::kRows;

// Returns the rules of a collective, a value of enum fermata_collective. For any other number, returns those
// of a barrier.
constexpr const CollectiveRules& rules_of(int collective) {
  const bool exists = collective >= 0 && collective < kCollectiveCount;
  return detail::collectives::kTable[exists ? collective : 0];
}

// holds<&CollectiveRules::folds>(collective) is rules_of(collective).folds(), without a load from memory. It
// is false for a number that is no collective.
template <bool (CollectiveRules::*kRule)() const>
constexpr bool holds(int collective) {
  constexpr std::uint32_t kBits = [] {
    std::uint32_t bits = 0, bit = 1;
    for (const CollectiveRules& rules : detail::collectives::kTable) {
      if ((rules.*kRule)()) bits |= bit;
      bit <<= 1;
    }
    return bits;
  }();
  return static_cast<unsigned>(collective) < 32 && (kBits >> collective & 1) != 0;
}

}  // namespace fermata::inline v0
#endif
