// Doorbell: a member, or all readers of a word or of a published line, park on it. A sender rings it only if
// it is armed.
//
// This is Dekker's pattern with an asymmetric fence:
// - Parker: arm, fence, check the condition again, sleep.
// - Sender: signal, fence, check whether the doorbell is armed, ring.
// The side that comes second sees the other's write, so no wake-up is lost. While parks are rare, the parker
// pays for both fences (sync/fences.hpp): the sender then only loads two lines that stay shared. Parks also
// have a time limit: for news that rings no doorbell, for the moment in which a process without membarrier
// joins (exec/join.cpp), and to bound the damage of a mistake. One such limit is enough for all members that
// park on one door (Guard).
//
// The bell has 32 bits. A sleeper misses a ring only if exactly 2^32 rings come between its read of the bell
// and the kernel's comparison. While a member is in park(), its slots, a word's episode or its ring buffers
// limit how far other members get ahead. So far fewer rings come in that time.
//
// `armed` is at most the number of members. A member that dies while armed leaves `armed` above 0. That costs
// needless rings, in a team that is broken anyway.
#ifndef FERMATA_SYNC_DOORBELL_HPP
#define FERMATA_SYNC_DOORBELL_HPP

#include <cstdint>

#include "sync/atomics.hpp"
#include "sync/fences.hpp"

namespace fermata {

template <class A>
struct Door {
  typename A::template Atomic<std::uint32_t> armed;  // members that are about to park or are parked
  typename A::template Atomic<std::uint32_t> bell;   // increases at each ring; the futex sleeps on it
  // 1 + the number of the bell at which a guard sleeps with a time limit; others may sleep without one.
  typename A::template Atomic<std::uint32_t> guarded;
};

// Sender's side, after the signal is written. Returns true if the sender must wake() the parkers.
template <class A>
inline bool is_armed(const Door<A>& door, const Fences<A>& fences) {
  fences.order_signal();
  // order: relaxed; the fences on both sides order it after the signal. Pairs with the arming in park().
  return A::load_relaxed(door.armed) != 0;
}

// Also called without is_armed(), for rare news to all members, for example that the team is broken. The news
// is written before the call, and ready() sees it. Os::wake_all(bell) wakes the sleepers.
template <class A, class Os>
inline void wake(Door<A>& door, Os& os) {
  // order: release: a parker that reads the new number sees the signal. Pairs with kBellRead.
  A::template add_release<Site::kBellRing>(door.bell, std::uint32_t{1});
  os.wake_all(door.bell);
}

template <class A, class Os>
inline void ring(Door<A>& door, const Fences<A>& fences, Os& os) {
  if (is_armed<A>(door, fences)) [[unlikely]]
    wake<A>(door, os);
}

// Parker's side. The signal makes the condition ready() true. park() returns at once if ready() is true, else
// after a wake-up, after an interruption of the sleep, or when the limit has passed: limit(seen), in ns.
// Os::sleep(bell, seen, ns) sleeps while *bell == seen.
template <class A, class Os, class Limit, class Ready>
inline void park_for(Door<A>& door, const Fences<A>& fences, Os& os, Limit&& limit, Ready&& ready) {
  // order: relaxed; the fence below orders it before ready() and limit(). Pairs with the reads of `armed` in
  // is_armed() and Guard::leave().
  A::add_relaxed(door.armed, std::uint32_t{1});
  fences.order_arming(os);
  // order: acquire: if a ring came before this read, ready() sees what was signalled. Pairs with kBellRing.
  const std::uint32_t seen = A::template load_acquire<Site::kBellRead>(door.bell);
  if (!ready()) os.sleep(door.bell, seen, limit(seen));
  // order: relaxed; a sender that still sees this member armed rings once too often, which is harmless.
  A::sub_relaxed(door.armed, std::uint32_t{1});
}

template <class A, class Os, class Ready>
inline void park(Door<A>& door, const Fences<A>& fences, Os& os, std::int64_t ns, Ready&& ready) {
  park_for<A>(door, fences, os, [&](std::uint32_t) { return ns; }, ready);
}

// A kernel timer makes a sleep some 15 % dearer. So of the members that sleep at a door, the first one after
// each ring sleeps with a time limit. It looks for news that rings no doorbell. The others, which it guards,
// sleep without a limit. If it stops waiting, and nobody has rung since it began, it rings. So a member
// sleeps without a limit only while its guard waits.
//
// A member's part of this. Only for doors in the memory of one process: a process can be killed.
template <class A>
class Guard {
 public:
  // Sleeps for `ns` as the guard, or without a limit.
  template <class Os, class Ready>
  void park(Door<A>& door, const Fences<A>& fences, Os& os, std::int64_t ns, Ready&& ready) {
    if (door_ != &door) leave(os);
    park_for<A>(
        door, fences, os, [&](std::uint32_t seen) { return guards(door, seen) ? ns : Os::kNoLimit; }, ready);
  }
  // Call it when the wait is over.
  template <class Os>
  void leave(Os& os) {
    Door<A>* const door = door_;
    door_ = nullptr;
    // order: relaxed: if it has changed, its ringer wakes those that this member has guarded
    if (door == nullptr || A::load_relaxed(door->bell) != seen_) return;
    // order: relaxed, both: kGuardFence comes between. Whoever arms after the fence sees that nobody guards.
    A::compare_exchange_relaxed(door->guarded, seen_ + 1, std::uint32_t{0});
    // order: store-load, between the end of the guard and the read of `armed`. Pairs with kDoorFence.
    A::template full_fence<Site::kGuardFence>();
    if (A::load_relaxed(door->armed) != 0) wake<A>(*door, os);  // order: see above
  }

 private:
  // True if this member is the guard at that number of the bell. Claims only replace older ones.
  bool guards(Door<A>& door, std::uint32_t seen) {
    if (door_ == &door && seen_ == seen) return true;
    // order: relaxed, both: kDoorFence comes before, and pairs with kGuardFence
    for (std::uint32_t known = A::load_relaxed(door.guarded); known != seen + 1;
         known = A::load_relaxed(door.guarded)) {  // order: see above
      if (known != 0 && static_cast<std::int32_t>(known - (seen + 1)) > 0) return false;
      if (!A::compare_exchange_relaxed(door.guarded, known, seen + 1)) continue;  // order: see above
      door_ = &door;
      seen_ = seen;
      return true;
    }
    return false;
  }

  Door<A>* door_ = nullptr;  // where this member is the guard; null: nowhere
  std::uint32_t seen_ = 0;   // the number of the bell then
};

}  // namespace fermata
#endif
