// A phase: the line that waiters poll and park on, whatever brings it on (counter.hpp, tree.hpp).
//
// Its word is 2 x a number that only grows, + 1 while somebody may be parked. Whoever waits for a number waits for word >= 2 x
// number, its `token`; the odd bit does not disturb that. The bit is in the word itself, so who brings the phase on learns in
// the same atomic operation whether anybody parks: no fence on either side, as sync/doorbell.hpp needs them where the signal and
// `armed` are two places, and no store of its own where nobody parks. Nobody takes the bit away but who rings, so parkers
// that find it set write nothing.
//
// Why no wake-up is lost. Parker: read the bell, set the bit (or see it set), sleep while the bell is what was read. Ringer: bring the
// phase on, which shows the bit; take the bit away; move the bell on; wake. The bit's changes are in one order. Either the
// parker's look at the word comes after the ringer's (then it sees the phase over, or sets the bit for the next ringer), or the
// ringer sees the bit and moves the bell on afterwards: the parker read the bell before, so it does not sleep, or is woken. A
// parker of the *next* phase, whose bit was taken away by this ringer, has read the bell before that too: it looks again.
// The bell has 32 bits: a parker would have to stay between reading it and sleeping for exactly 2^32 rings.
#ifndef FERMATA_ANONYMOUS_PHASE_HPP
#define FERMATA_ANONYMOUS_PHASE_HPP

#include <cstdint>

#include "sync/atomics.hpp"

namespace fermata::anonymous {

inline constexpr std::uint64_t kParked = 1;

template <class A>
struct Phase {
  typename A::template Atomic<std::uint64_t> word;
  typename A::template Atomic<std::uint32_t> bell;  // what the futex sleeps on
};

template <class A>
inline bool is_over(const Phase<A>& phase, std::uint64_t token) {
  // order: acquire: what all wrote before they arrived. Pairs with kWordAdd, kWordFlip.
  return A::template load_acquire<Site::kWordPoll>(phase.word) >= token;
}

// After the phase was brought on by an operation that showed the bit. `word_keeps_bit`: that operation did not clear it.
template <class A, class Os>
inline void ring(Phase<A>& phase, bool word_keeps_bit, Os&& os) {
  // order: relaxed: one word's changes are in one order; the bell's release below comes after it.
  if (word_keeps_bit) A::and_relaxed(phase.word, ~kParked);
  // order: release: who reads the new number sees the bit gone, and sets it again. Pairs with kBellRead.
  A::template add_release<Site::kBellRing>(phase.bell, std::uint32_t{1});
  os.wake_all(phase.bell);
}

// Sleeps at most ns, unless the phase is over. Os::sleep(bell, seen, ns) sleeps while *bell == seen.
template <class A, class Os>
inline void park(Phase<A>& phase, std::uint64_t token, Os&& os, std::int64_t ns) {
  // order: acquire: the look at the word below comes after that of whoever moved the bell on. Pairs with kBellRing.
  const std::uint32_t seen = A::template load_acquire<Site::kBellRead>(phase.bell);
  // order: relaxed: only whether to sleep; the caller looks again with is_over().
  std::uint64_t word = A::load_relaxed(phase.word);
  // order: relaxed: one word's changes are in one order.
  if ((word & kParked) == 0 && word < token) word = A::or_relaxed(phase.word, kParked);
  if (word < token) os.sleep(phase.bell, seen, ns);
}

}  // namespace fermata::anonymous
#endif
