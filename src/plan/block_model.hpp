// What the members of a team must know alike, so that each by itself chooses the same schedules for operations on blocks: the costs
// between them, and which choices were measured. Whoever makes the team packs it; it lies in the team's segment and never changes.
#ifndef FERMATA_PLAN_BLOCK_MODEL_HPP
#define FERMATA_PLAN_BLOCK_MODEL_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/kind.hpp"
#include "schedule/cost.hpp"

namespace fermata {

// For blocks of this size (a power of two) the candidate of this name was measured as the fastest.
struct KnownChoice {
  std::uint64_t name = 0;  // hash_of
  std::uint8_t kind = 0;
  std::uint8_t log2_bytes = 0;
  std::uint8_t unused[6] = {};  // hosts compare what is packed, byte by byte
  bool operator==(const KnownChoice&) const = default;
};
std::uint64_t hash_of(std::string_view name);

struct BlockKnowledge {
  CostModel model;
  std::vector<KnownChoice> choices;
  const KnownChoice* find(Kind kind, std::size_t bytes) const;
};

// Pairs that cost the same within a tenth, or, where there would be too many classes, within more, get the same mean costs.
std::vector<std::byte> pack(const CostModel& model, const std::vector<KnownChoice>& choices);
// False: no such thing, or of another number of members.
bool unpack(std::span<const std::byte> packed, std::int32_t members, BlockKnowledge* out);

}  // namespace fermata
#endif
