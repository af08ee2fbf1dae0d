// A phase: the line that waiters poll and park on. counter.hpp and tree.hpp advance it, each in its own way.
// Where a barrier has several phases, all waiters park on the first one's bell: one call wakes them all,
// which is faster than one call after the other (docs/waiting.md).
//
// Its word is 2 x a number that only grows, + 1 while a thread may be parked. A waiter for a number waits
// until word >= 2 x number, its `token`; the odd bit does not disturb this test. The bit is in the word
// itself, so the atomic operation that advances the phase also tells whether a thread parks. So neither side
// needs a fence, and the ringer needs no store if no thread parks. (sync/doorbell.hpp needs fences, because
// there the signal and `armed` are two places.) Only ringers clear the bit (and whoever makes a new barrier
// in reused memory), so a parker that finds the bit set writes nothing.
//
// Why no wake-up is lost:
// - Parker: read the bell; set the bit, or find it set; sleep while the bell has the value that was read.
// - Ringer: advance the phase, which shows the bit; clear the bit; increase the bell; wake.
// All changes of the bit are in one order. There are two cases:
// - The parker reads the word after the ringer has advanced the phase. It sees the phase over, or it sets the
//   bit for the next ringer.
// - The parker sets the bit, or finds it set, before that. So the ringer sees the bit, and increases the bell
//   afterwards. The parker has read the bell before, so it does not sleep or is woken.
// The ringer may also clear the bit for a parker of the *next* phase. That parker has read the bell before,
// too, so it wakes and checks again.
// The bell has 32 bits: a wake-up is lost only if exactly 2^32 rings come between a parker's read and its
// sleep.
#ifndef FERMATA_ANONYMOUS_PHASE_HPP
#define FERMATA_ANONYMOUS_PHASE_HPP

#include <cstdint>

#include "sync/atomics.hpp"

namespace fermata::anonymous {

inline constexpr std::uint64_t kParked = 1;

template <class A>
struct Phase {
  typename A::template Atomic<std::uint64_t> word;
  typename A::template Atomic<std::uint32_t> bell;  // the futex sleeps on it
};

template <class A>
inline bool is_over(const Phase<A>& phase, std::uint64_t token) {
  // order: acquire: sees what all wrote before they arrived. Pairs with kWordAdd, kWordFlip.
  return A::template load_acquire<Site::kWordPoll>(phase.word) >= token;
}

// Call this after an operation that has advanced the phase and found the bit set. `word_keeps_bit`: that
// operation did not clear the bit.
template <class A, class Os>
inline void ring(Phase<A>& phase, bool word_keeps_bit, Os&& os) {
  // order: relaxed: one word's changes are in one order; the bell's release below comes after it.
  if (word_keeps_bit) A::and_relaxed(phase.word, ~kParked);
  // order: release: whoever reads the new number sees the bit cleared, and sets it again. Pairs with
  // kBellRead.
  A::template add_release<Site::kBellRing>(phase.bell, std::uint32_t{1});
  os.wake_all(phase.bell);
}

// Sleeps on that bell for at most ns, unless the phase is over. Os::sleep(bell, seen, ns) sleeps while
// *bell == seen.
template <class A, class Bell, class Os>
inline void park(Phase<A>& phase, Bell& bell, std::uint64_t token, Os&& os, std::int64_t ns) {
  // order: acquire: the word that is read below is no older than the one that the ringer saw. Pairs with
  // kBellRing.
  const std::uint32_t seen = A::template load_acquire<Site::kBellRead>(bell);
  // order: relaxed: only decides whether to sleep; the caller checks again with is_over().
  std::uint64_t word = A::load_relaxed(phase.word);
  // order: relaxed: one word's changes are in one order.
  if ((word & kParked) == 0 && word < token) word = A::or_relaxed(phase.word, kParked);
  if (word < token) os.sleep(bell, seen, ns);
}

}  // namespace fermata::anonymous
#endif
