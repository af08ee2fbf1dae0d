// What each collective begins with and must end with, chunk by chunk, by the rules of
// fermata/collectives.hpp.
//
// Register 0 of a chunk holds a member's contribution where the chunk starts, and the result where it ends.
// At other members it is scratch space. The other registers are scratch space of the same size.
//
// All blocks are cut alike, each into chunks / blocks chunks: one chunk, or several if the algorithm cuts the
// vector or a pipeline has segments.
// The chunks of block b begin at b x chunks / blocks.
#ifndef FERMATA_SCHEDULE_CONTENTS_HPP
#define FERMATA_SCHEDULE_CONTENTS_HPP

#include <cstdint>

#include "base/collective.hpp"
#include "schedule/schedule.hpp"

namespace fermata {

inline constexpr std::int32_t kEverybody = CollectiveRules::kEverybody;

struct ChunkRule {
  std::int32_t starts_at = kEverybody;
  std::int32_t ends_at = kEverybody;
  bool contributes(std::int32_t member) const { return starts_at == kEverybody || starts_at == member; }
  bool wanted(std::int32_t member) const { return ends_at == kEverybody || ends_at == member; }
};

// Number of blocks of a vector: 0 for a barrier, else 1, members, or members^2.
constexpr std::int64_t blocks_of(Collective collective, std::int32_t members) {
  return rules_of(collective).blocks(members);
}
// Precondition of both: no barrier, and chunks is a positive multiple of blocks_of().
std::int32_t block_of(const Schedule& schedule, std::int32_t chunk);
ChunkRule rule_of(const Schedule& schedule, std::int32_t chunk);

// For a collective that folds: how many of the lowest ranks contribute to the result of `member`. 0: its
// result is undefined.
constexpr std::int32_t folded_at(Collective collective, std::int32_t members, std::int32_t member) {
  return rules_of(collective).folded(member, members);
}

}  // namespace fermata
#endif
