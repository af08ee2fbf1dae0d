// Doorbell: where a member (or all pollers of a word) parks, rung by a sender only if armed.
//
// Dekker's pattern with an asymmetric fence. Parker: arm; heavy fence; look again; sleep. Sender: signal; light fence; look
// whether armed; ring. Whichever comes second sees the other's write, so a wake-up is never lost; timed parks bound the
// damage of a mistake but are not the argument. The heavy fence is membarrier (the sender's side costs one load of a
// line that stays shared), or, where members outnumber CPUs or membarrier is refused, both sides run a full fence.
//
// The bell's 32 bits: a sleeper would miss a ring only if exactly 2^32 rings came between its reading the bell and the kernel's
// comparison. While a member is there it has not gone on, and nobody gets further ahead of it than its slots or a word's
// episode allow, so at most signals-per-episode x (slots + 1) rings can come, far less than 2^32. `armed` counts at most the
// team's members; one that dies armed leaves it above 0, which costs needless rings of a team that is broken anyway.
#ifndef FERMATA_SYNC_DOORBELL_HPP
#define FERMATA_SYNC_DOORBELL_HPP

#include <cstdint>

#include "sync/atomics.hpp"

namespace fermata {

template <class A>
struct Door {
  typename A::template Atomic<std::uint32_t> armed;  // members about to park or parked here
  typename A::template Atomic<std::uint32_t> bell;   // moves on at each ring; what the futex sleeps on
};

// Sender's side, after the signal is written: must it wake() who parks here? `full`: this team fences on both sides.
template <class A>
inline bool is_armed(const Door<A>& door, bool full) {
  if (full) {
    // order: store-load, between the signal and the look at `armed`. Pairs with kDoorFence.
    A::template full_fence<Site::kRingFence>();
  } else {
    // order: the compiler's only; the parker's membarrier at kDoorFence is the fence. Pairs with kDoorFence.
    A::template light_fence<Site::kRingFence>();
  }
  // order: relaxed; the fences on both sides order it after the signal. Pairs with park()'s arming.
  return A::load_relaxed(door.armed) != 0;
}

// Asked or unasked: what a team seldom tells everybody, such as that it is broken, is written before too, and seen by ready().
// Os::wake_all(bell) wakes sleepers.
template <class A, class Os>
inline void wake(Door<A>& door, Os& os) {
  // order: release, so that who reads the new number sees the signal. Pairs with kBellRead.
  A::template add_release<Site::kBellRing>(door.bell, std::uint32_t{1});
  os.wake_all(door.bell);
}

template <class A, class Os>
inline void ring(Door<A>& door, bool full, Os& os) {
  if (is_armed<A>(door, full)) [[unlikely]]
    wake<A>(door, os);
}

// Parker's side. ready() is the condition that the signal makes true. Returns after a wake-up, a time-out or at once if ready.
// Os::heavy_fence(full) is membarrier or a full fence; Os::sleep(bell, seen, ns) sleeps while *bell == seen.
template <class A, class Os, class Ready>
inline void park(Door<A>& door, bool full, Os& os, std::int64_t ns, Ready&& ready) {
  // order: relaxed; the heavy fence below orders it before ready(). Pairs with the look at `armed` in ring().
  A::add_relaxed(door.armed, std::uint32_t{1});
  // order: store-load between arming and ready(). Pairs with kRingFence.
  os.template heavy_fence<Site::kDoorFence>(full);
  // order: acquire, so that if a ring came before this read, ready() sees what was signalled. Pairs with kBellRing.
  const std::uint32_t seen = A::template load_acquire<Site::kBellRead>(door.bell);
  if (!ready()) os.sleep(door.bell, seen, ns);
  // order: relaxed; a sender that still sees us armed rings once too often, which is harmless.
  A::sub_relaxed(door.armed, std::uint32_t{1});
}

}  // namespace fermata
#endif
