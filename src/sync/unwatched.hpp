// The first actions of a wait in a crowd, before the policy is asked. Nobody looks at the team for them, and
// few members look at the clock.
#ifndef FERMATA_SYNC_UNWATCHED_HPP
#define FERMATA_SYNC_UNWATCHED_HPP

#include <cstdint>

#include "sync/wait.hpp"

namespace fermata {

// Begins a wait in the call of that number. Returns true if it is over; else wait by the policy, after what
// *yielded says. Os: yield(), and as of spread(). over(): looks once whether the wait is over.
template <class A, class Os, class Over>
[[gnu::always_inline]] inline bool over_unwatched(BasicAutoWait<A>& policy, std::uint64_t call,
                                                  Yielded* yielded, const Os& os, Over&& over) {
  if (!policy.yields_first(call)) return false;
  const bool times = policy.is_its_turn(call);
  if (times && policy.looks_around(call)) return false;
  BasicSigns<A>* const signs = policy.signs();
  if (signs != nullptr) {
    const std::int32_t cpu = os.cpu();
    BasicWaitersHere<A>& here = signs->waiters[static_cast<std::uint32_t>(cpu) % kSigned];
    if (here.arrive(cpu, call, policy.number()) && here.spin(os, over)) return true;
  }
  const std::int64_t begun_ns = times ? os.now_ns() : 0;
  std::uint8_t yields = 0;
  bool is_over = false;
  while (!is_over && yields < WaitConstants::kUnwatched) {
    os.yield();
    ++yields;
    is_over = over();
  }
  const std::int64_t now_ns = times ? os.now_ns() : 0;
  if (!is_over) *yielded = {yields, now_ns - begun_ns};
  else if (times) policy.timed(call, begun_ns, now_ns, os);
  return is_over;
}

}  // namespace fermata
#endif
