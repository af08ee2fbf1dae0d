// The costs between members, and the choices that were measured. All members of a team have the same ones, so
// each member chooses the same schedules for collectives on blocks. The creator of the team packs them into
// the team's segment, where they never change.
#ifndef FERMATA_PLAN_BLOCK_MODEL_HPP
#define FERMATA_PLAN_BLOCK_MODEL_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/collective.hpp"
#include "schedule/cost.hpp"

namespace fermata {

// For blocks of this size (a power of two), the candidate of this name was the fastest one measured.
struct KnownChoice {
  std::uint64_t name = 0;  // hash_of(BlockCandidate::name)
  std::uint8_t collective = 0;
  std::uint8_t log2_bytes = 0;
  std::uint8_t unused[6] = {};  // zero, since hosts compare packed knowledge byte by byte
  bool operator==(const KnownChoice&) const = default;
};
std::uint64_t hash_of(std::string_view name);

struct BlockKnowledge {
  CostModel model;
  std::vector<KnownChoice> choices;
  const KnownChoice* find(Collective collective, std::size_t bytes) const;
};

// Packs the model by classes of pairs. Pairs whose costs agree within a tenth are one class and get its mean
// costs. If this gives too many classes, the limit is raised.
std::vector<std::byte> pack(const CostModel& model, const std::vector<KnownChoice>& choices);
// False if `packed` is malformed or made for another number of members.
bool unpack(std::span<const std::byte> packed, std::int32_t members, BlockKnowledge* out);

}  // namespace fermata
#endif
