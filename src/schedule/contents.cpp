#include "schedule/contents.hpp"

namespace fermata {

std::int32_t block_of(const Schedule& s, std::int32_t chunk) {
  return static_cast<std::int32_t>(chunk / (s.chunks / blocks_of(s.collective, s.members)));
}

ChunkRule rule_of(const Schedule& s, std::int32_t chunk) {
  const std::int32_t block = block_of(s, chunk);
  const CollectiveRules& rules = rules_of(s.collective);
  return {.starts_at = rules.giver(block, s.members, s.root),
          .ends_at = rules.receiver(block, s.members, s.root)};
}

}  // namespace fermata
