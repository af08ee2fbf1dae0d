#include "schedule/contents.hpp"

namespace fermata {

std::int64_t blocks_of(Kind kind, std::int32_t members) {
  switch (kind) {
    case Kind::kBarrier: return 0;
    case Kind::kGather:
    case Kind::kScatter:
    case Kind::kAllgather:
    case Kind::kReduceScatter: return members;
    case Kind::kAlltoall: return std::int64_t{members} * members;
    default: return 1;
  }
}

std::int32_t block_of(const Schedule& s, std::int32_t chunk) {
  return static_cast<std::int32_t>(chunk / (s.chunks / blocks_of(s.kind, s.members)));
}

ChunkRule rule_of(const Schedule& s, std::int32_t chunk) {
  const std::int32_t block = block_of(s, chunk);
  switch (s.kind) {
    case Kind::kBroadcast: return {.starts_at = s.root};
    case Kind::kReduce: return {.ends_at = s.root};
    case Kind::kGather: return {.starts_at = block, .ends_at = s.root};
    case Kind::kScatter: return {.starts_at = s.root, .ends_at = block};
    case Kind::kAllgather: return {.starts_at = block};
    case Kind::kReduceScatter: return {.ends_at = block};
    case Kind::kAlltoall: return {.starts_at = block / s.members, .ends_at = block % s.members};
    default: return {};
  }
}

std::int32_t folded_at(Kind kind, std::int32_t members, std::int32_t member) {
  if (kind == Kind::kScan) return member + 1;
  return kind == Kind::kExscan ? member : members;
}

}  // namespace fermata
