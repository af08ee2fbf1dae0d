// The costs between members, and the choices that were measured. All members of a team have the same ones, so
// each member chooses the same schedules for collectives on blocks. The creator of the team packs them into
// the team's segment, where they never change.
#ifndef FERMATA_PLAN_BLOCK_KNOWLEDGE_HPP
#define FERMATA_PLAN_BLOCK_KNOWLEDGE_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/collective.hpp"
#include "base/text.hpp"
#include "plan/plan.hpp"
#include "profile/profile.hpp"
#include "schedule/cost.hpp"
#include "topo/topology.hpp"

namespace fermata {

// For blocks of this size (a power of two), the candidate of this name was chosen by measured times.
struct KnownChoice {
  std::uint64_t name = 0;  // hash_of(BlockCandidate::name)
  std::uint8_t collective = 0;
  std::uint8_t log2_bytes = 0;
  std::uint8_t unused[6] = {};  // zero, since hosts compare hashes over all bytes of packed knowledge
  bool operator==(const KnownChoice&) const = default;
};

// A model in which every pair costs as much as two cores that share a cache.
CostModel flat_model(std::int32_t members);

// Returns the costs between the key's members, by which schedules of blocks are chosen. The result is
// flat_model, with the costs of shared CPUs added, if three things hold: bytes were never measured, all pairs
// cost the same, and the team is on one host. The profile then has no better estimate. Between hosts, the
// profile's estimate includes the cost of a message. In all other cases the result is cost_model()
// (plan/plan.hpp).
CostModel block_costs(const Profile& profile, const Topology& topology, const PlanKey& key);
bool knows_bytes(const Profile& profile);  // true if the profile has costs per byte (Profile::g)

struct BlockKnowledge {
  CostModel model;
  std::vector<KnownChoice> choices;
  // The choice for blocks of exactly `bytes` bytes; null: there is none. Callers round the size up to a power
  // of two.
  const KnownChoice* find(Collective collective, std::size_t bytes) const;
};

// Packs the model without `hosts` and `further`, by classes of pairs. The costs (o + l, g, direct) of the
// pairs in a class differ by at most a tenth, and each pair gets the mean costs of its class. If this gives
// more than 256 classes, the pairs in a class may differ by more.
std::vector<std::byte> pack(const CostModel& model, const std::vector<KnownChoice>& choices);
// False if `packed` is malformed, has an invalid cost, or was made for another number of members.
bool unpack(std::span<const std::byte> packed, std::int32_t members, BlockKnowledge* out);

}  // namespace fermata
#endif
