// The first actions of a wait in a crowd, before the policy is asked. Nobody looks at the team for them, and
// nobody at the clock for the yields: two looks at the clock cost a tenth of a switch.
#ifndef FERMATA_SYNC_UNWATCHED_HPP
#define FERMATA_SYNC_UNWATCHED_HPP

#include <cstdint>

#include "sync/wait.hpp"

namespace fermata {

// Begins a wait in the call of that number. Returns true if it is over; else wait by the policy, after
// *yielded yields. Os: cpu(), now_ns() and yield(). over(): looks once whether the wait is over.
template <class A, class Os, class Over>
[[gnu::always_inline]] inline bool over_unwatched(const BasicAutoWait<A>& policy, std::uint64_t call,
                                                  std::uint8_t* yielded, const Os& os, Over&& over) {
  if (!policy.yields_first(call)) return false;
  if (BasicSigns<A>* const signs = policy.signs(); signs != nullptr) {
    const std::int32_t cpu = os.cpu();
    BasicWaitersHere<A>& here = signs->waiters[static_cast<std::uint32_t>(cpu) % kSigned];
    if (here.arrive(cpu, call) && here.spin(os, over)) return true;
  }
  const std::uint8_t yields = policy.unwatched_yields(call);
  for (std::uint8_t n = 0; n < yields; ++n) {
    os.yield();
    if (over()) return true;
  }
  *yielded = yields;
  return false;
}

}  // namespace fermata
#endif
