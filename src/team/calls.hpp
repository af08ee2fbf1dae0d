// The collectives that this part calls itself. No review() (team/team.hpp) comes after them, unlike after the
// C ABI's blocking calls on lines.
#ifndef FERMATA_TEAM_CALLS_HPP
#define FERMATA_TEAM_CALLS_HPP

#include <algorithm>
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

// Within this, the time limit of the member's waits is at least kPatienceNs, and the idle hook cannot
// interrupt them. For calls that the program has not made: it cannot resume them.
class OwnPatience {
 public:
  explicit OwnPatience(fermata_member* member) : member_(member), program_(settings()) {
    if (program_.timeout_ns > 0) settings().timeout_ns = std::max(program_.timeout_ns, kPatienceNs);
    if (program_.hook == nullptr) return;
    settings().hook = call_hook;
    settings().hook_context = this;
  }
  ~OwnPatience() { settings() = program_; }
  OwnPatience(const OwnPatience&) = delete;
  OwnPatience& operator=(const OwnPatience&) = delete;

 private:
  // Longer than share() waits for another process.
  static constexpr std::int64_t kPatienceNs = 60'000'000'000;
  static int call_hook(void* self) {
    const auto& program = static_cast<const OwnPatience*>(self)->program_;
    program.hook(program.hook_context);
    return 0;
  }
  exec::Waiter::Settings& settings() { return member_->member->waiter().settings; }

  fermata_member* member_;  // it may move to another team meanwhile
  const exec::Waiter::Settings program_;
};

inline void break_team(const fermata_member* member) {
  member->member->break_team(Status::kBroken, "it could not go on in a step of all members");
}
// Breaks the team if the step throws at this member: it has no memory, say.
template <class Step>
int break_if_thrown(const fermata_member* member, const Step& step) {
  try {
    return step();
  } catch (...) {
    break_team(member);
    throw;
  }
}
// Takes a step that all members take after the same call of the program. An error breaks the team.
template <class Step>
int step_of_all(fermata_member* member, const Step& step) {
  const OwnPatience patience(member);
  const int rc = break_if_thrown(member, step);
  if (rc != FERMATA_OK) break_team(member);
  return rc;
}

}  // namespace fermata::team
#endif
