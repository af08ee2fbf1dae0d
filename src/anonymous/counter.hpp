// The barrier on one word: a ticket counter that never goes back; a phase is over when the counter has reached its last ticket.
//
// Source: the centralized barrier of power8-barriers with an epoch in place of the sense: nothing is reset, so nothing is reused.
// Steps: 1. take a ticket; ticket / count is the phase. 2. The ticket that fills the phase has released it by being taken; ring
//        if somebody parks. 3. Others wait until the counter has reached the end of their phase.
// Cost: one atomic add each, on a line that goes from arriver to arriver; the release is the last add itself. One line, 27 ns an
//       episode between two cores where one flag each way takes 57.
// Why right: a waiter that reads the end of its phase reads from an add at or behind the last arrival of that phase, and so from the
//       release sequence of every one of them. Who arrives too early has a ticket of a later phase by construction, so more
//       threads than `count` may take part. 2^63 tickets last for centuries.
// Limits: no step between the last arrival and the release, no change of count: tree.hpp has both.
#ifndef FERMATA_ANONYMOUS_COUNTER_HPP
#define FERMATA_ANONYMOUS_COUNTER_HPP

#include "anonymous/divide.hpp"
#include "anonymous/phase.hpp"

namespace fermata::anonymous {

struct Arrival {
  std::uint64_t token = 0;  // of the phase that the last of the arrivals belongs to
  bool last = false;        // one of them filled a phase
};

// Makes the word of a new barrier where an old one may still be looked at: on to the next multiple of count.
template <class A>
inline void open_counter(Phase<A>& phase, const Divisor& count) {
  // order: relaxed: nobody arrives at the old barrier any more, and who gave it back was acquired with the entry.
  const std::uint64_t tickets = A::load_relaxed(phase.word) >> 1;
  const std::uint64_t start = count.quotient(tickets + count.value() - 1) * count.value();
  // order: release: a slow waiter of the old barrier, who reads this, sees what all wrote before its phase was over. Pairs with kWordPoll.
  A::template store_release<Site::kRecycle>(phase.word, 2 * start);
}

template <class A, class Os>
inline Arrival arrive_counter(Phase<A>& phase, const Divisor& count, std::uint32_t arrivals, Os&& os) {
  // 1. order: acq_rel: gives what this thread wrote, and who fills the phase has what all wrote. Pairs with itself and kWordPoll.
  const std::uint64_t old = A::template add_acq_rel<Site::kWordAdd>(phase.word, std::uint64_t{arrivals} * 2);
  const std::uint64_t first = old >> 1;
  const std::uint64_t end = first + arrivals;
  const std::uint64_t begin = count.quotient(end - 1) * count.value();  // of the last ticket's phase
  const std::uint64_t full = begin + count.value();
  const bool last = end == full || first < begin;
  if (last && (old & kParked) != 0) [[unlikely]]
    ring(phase, true, os);  // 2.
  return {full * 2, last};
}

}  // namespace fermata::anonymous
#endif
