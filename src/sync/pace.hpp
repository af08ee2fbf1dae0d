// Pace: what the members of a team learn together for the `auto` wait policy (sync/wait.hpp).
#ifndef FERMATA_SYNC_PACE_HPP
#define FERMATA_SYNC_PACE_HPP

#include <cstdint>

#include "sync/atomics.hpp"

namespace fermata {

// What the members of a team have learned together about their CPUs. A member writes it only after a stall, a
// scout's yield or a calm, and before slow work (exclude_until()). All are hints: no
// value makes a wait hang.
template <class A>
struct BasicPace {
  template <class T>
  using Atomic = typename A::template Atomic<T>;
  // In calls before this one members park, later they send scouts; 0: they may yield.
  Atomic<std::uint64_t> parks_until;
  // No hold begins before stalls have cost that much: the last one gained nothing.
  Atomic<std::int64_t> rest_ns;
  Atomic<std::int64_t> stalled_ns;     // when the last stall ended,
  Atomic<std::uint64_t> stalled_call;  // and the call of that wait
  Atomic<std::uint64_t> busy_until;    // the call up to which members work more than they wait
  Atomic<std::uint32_t> quick;         // scouts that came back quickly since parks_until
  Atomic<std::uint32_t> parked_us;     // what a call took in that hold
};
using Pace = BasicPace<RealAtomics>;

// Resets it to the state before the first wait; call exclude_until() too.
template <class A>
void forget(BasicPace<A>& pace) {
  // order: relaxed throughout: no other thread knows of it yet
  A::store_relaxed(pace.parks_until, std::uint64_t{0});
  A::store_relaxed(pace.rest_ns, std::int64_t{0});        // order: see above
  A::store_relaxed(pace.stalled_ns, std::int64_t{0});     // order: see above
  A::store_relaxed(pace.stalled_call, std::uint64_t{0});  // order: see above
  A::store_relaxed(pace.quick, std::uint32_t{0});         // order: see above
  A::store_relaxed(pace.parked_us, std::uint32_t{0});     // order: see above
}

inline constexpr std::uint64_t kFirstCalls = 4;

// Long waits in the next few calls are no stalls. The maker of a team or barrier calls it with 0. Each member
// calls it with the number of its call, before slow work that all members do for the first time: they choose
// schedules and touch memory, which takes milliseconds.
template <class A>
void exclude_until(BasicPace<A>& pace, std::uint64_t call) {
  // order: relaxed: a hint, and members mostly write the same value
  A::store_relaxed(pace.busy_until, call + kFirstCalls);
}

}  // namespace fermata
#endif
