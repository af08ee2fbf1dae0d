// The collectives that this part calls itself. No review of the placement comes after them, unlike after the
// C ABI's calls on lines.
#ifndef FERMATA_TEAM_CALLS_HPP
#define FERMATA_TEAM_CALLS_HPP

#include <cstddef>
#include <cstdint>

#include "team/blocks.hpp"

namespace fermata::team {

inline int barrier(fermata_member* member) {
  return answer(member, member->member->barrier(member->first_signals));
}
// `bytes` may exceed one line.
inline int broadcast(fermata_member* member, void* data, std::size_t bytes, int root) {
  if (bytes > kLinePayload)
    return call(member, {FERMATA_BROADCAST, FERMATA_INT8, 0, root, nullptr, data, bytes});
  return answer(member, member->member->broadcast(data, static_cast<std::uint32_t>(bytes),
                                                  static_cast<std::uint32_t>(root)));
}
// The least of each of `count` values, at most 7, at rank 0 or at all ranks.
inline int least_at_first(fermata_member* member, const std::int64_t* in, std::int64_t* out,
                          std::uint32_t count) {
  return answer(member, member->member->reduce(in, out, count, Type::kInt64, Op::kMin, 0));
}
inline int least_at_all(fermata_member* member, std::int64_t* values, std::uint32_t count) {
  return answer(member, member->member->allreduce(values, values, count, Type::kInt64, Op::kMin));
}
inline int allgather(fermata_member* member, const std::uint64_t* own, std::uint64_t* all,
                     std::size_t count) {
  return call(member, {FERMATA_ALLGATHER, FERMATA_UINT64, 0, 0, own, all, count});
}

}  // namespace fermata::team
#endif
