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
// Drops: count stays what it is, since tickets are told apart by it. Whoever drops leaves a stand-in: from the next phase on the thread
//       that fills a phase takes the stand-ins' tickets of the one behind it. A drop is noted under the number of its phase before it
//       arrives there, so that phase's filler has it with the arrivals; the stand-ins in force say from which phase on. A
//       filler that comes late to look (it has lost its CPU; strangers have filled the phases behind, or the memory is another
//       barrier's) finds later numbers and does nothing; as soon as there are stand-ins no phase can be filled before the filler
//       of the one before it has taken their tickets.
// Memory used again: behind an arrival, the barrier may be destroyed and its memory another one's. So what is needed then is read
//       before, and tickets and the numbers of phases go on from one barrier to the next.
// Limits: no step between the last arrival and the release: tree.hpp has one.
#ifndef FERMATA_ANONYMOUS_COUNTER_HPP
#define FERMATA_ANONYMOUS_COUNTER_HPP

#include <bit>

#include "anonymous/divide.hpp"
#include "anonymous/phase.hpp"

namespace fermata::anonymous {

struct Arrival {
  std::uint64_t token = 0;  // of the phase that the last of the arrivals belongs to
  bool last = false;        // one of them filled a phase
};

// A ticket, and what it means where nobody drops.
struct Tickets {
  Arrival arrival;
  std::uint64_t end = 0;  // the ticket behind those taken
  bool parked = false;
};

// 1. Count: what phases divide the tickets by (value, quotient). What is long behind the add delays the next one: the line goes to
// whoever polls it meanwhile. So this is short.
template <class A, class Count>
[[gnu::always_inline]] inline Tickets take_tickets(Phase<A>& phase, const Count& count, std::uint32_t arrivals) {
  // order: acq_rel: gives what this thread wrote, and who fills the phase has what all wrote. Pairs with itself and kWordPoll.
  const std::uint64_t old = A::template add_acq_rel<Site::kWordAdd>(phase.word, std::uint64_t{arrivals} * 2);
  const std::uint64_t first = old >> 1;
  const std::uint64_t end = first + arrivals;
  const std::uint64_t full = (count.quotient(end - 1) + 1) * count.value();
  const bool last = end == full || first + count.value() < full;  // the last ticket's phase, or one before
  return {{full * 2, last}, end, (old & kParked) != 0};
}

// What a barrier's tickets mean: written when it is made.
struct Measure {
  Divisor count;
  std::uint32_t numbers_from = 0;  // of phases: added to ticket / count
  std::uint32_t mask = 0;          // count - 1 if that is a power of two

  Measure() = default;
  Measure(std::uint32_t n, std::uint32_t from) : count(n), numbers_from(from), mask(std::has_single_bit(n) ? n - 1 : 0) {}

  std::uint32_t number_of(std::uint64_t ticket) const { return static_cast<std::uint32_t>(count.quotient(ticket)) + numbers_from; }
};

// Numbers of phases stand above a count of threads in the low half.
template <class A>
struct Drops {
  typename A::template Atomic<std::uint64_t> noted[2];   // by parity: phase, drops in it
  typename A::template Atomic<std::uint64_t> stand_ins;  // phase that they were last added to, how many
};

// `any` is apart from the rest, on a line that all who arrive read anyway.
template <class A>
class Counter {
 public:
  using Any = typename A::template Atomic<std::uint32_t>;
  Counter(Phase<A>& phase, const Measure& measure, Drops<A>& drops, Any& any)
      : phase_(phase), measure_(measure), drops_(drops), any_(any) {}

  // Makes the word of a new barrier where an old one may still be looked at: on to the next multiple of count. The new measure is
  // made of the old one, which `measure` still is.
  static void open(Phase<A>& phase, Measure& measure, std::uint32_t count, Drops<A>& drops, Any& any) {
    // order: relaxed at all: nobody arrives at the old barrier any more, and who gave it back was acquired with the entry.
    A::store_relaxed(drops.noted[0], std::uint64_t{0});
    A::store_relaxed(drops.noted[1], std::uint64_t{0});              // order: see above
    A::store_relaxed(drops.stand_ins, std::uint64_t{0});             // order: see above
    A::store_relaxed(any, std::uint32_t{0});                         // order: see above
    const std::uint64_t tickets = A::load_relaxed(phase.word) >> 1;  // order: see above
    const std::uint32_t unused = measure.number_of(tickets) + 2;
    const std::uint64_t phases = Divisor(count).quotient(tickets + count - 1);
    measure = Measure(count, unused - static_cast<std::uint32_t>(phases));
    // order: release: a slow waiter of the old barrier, who reads this, has what all wrote in its phase. Pairs with kWordPoll.
    A::template store_release<Site::kRecycle>(phase.word, 2 * phases * count);
  }

  // What filled a phase must be followed by after(), if `rest` says so.
  struct Ticket {
    Arrival arrival;
    std::uint32_t number;  // of the phase that it filled
    bool rest;
    bool parked;
  };
  [[gnu::always_inline]] Ticket take(std::uint32_t arrivals) {
    const Measure measure = measure_;
    const Tickets taken = take_tickets(phase_, measure.count, arrivals);
    // order: relaxed: a drop that concerns this phase came with an arrival in it
    const bool rest = taken.arrival.last && (taken.parked || A::load_relaxed(any_) != 0);
    return {taken.arrival, measure.number_of(taken.end) - 1, rest, taken.parked};
  }

  // The same of one arrival where count is a power of two: fewer cycles behind the add, and few enough values to keep in registers
  // that the compiler saves none on the stack before it, which would delay it too.
  [[gnu::always_inline]] Ticket take_of_mask() {
    const std::uint32_t mask = measure_.mask;
    const std::uint32_t numbers_from = measure_.numbers_from;
    // order: as in take_tickets()
    const std::uint64_t old = A::template add_acq_rel<Site::kWordAdd>(phase_.word, std::uint64_t{2});
    const std::uint64_t full = ((old >> 1) | mask) + 1;
    const bool last = (old >> 1) + 1 == full;
    const bool rest = last && ((old & kParked) | A::load_relaxed(any_)) != 0;  // order: as in take()
    const auto number = static_cast<std::uint32_t>(full / (std::uint64_t{mask} + 1)) + numbers_from - 1;
    return {{full * 2, last}, number, rest, (old & kParked) != 0};
  }

  template <class Os>
  void after(std::uint32_t number, bool parked, Os&& os) {
    if (parked) ring(phase_, true, os);  // 2.
    add_stand_ins(number, os);
  }

  template <class Os>
  Arrival arrive(std::uint32_t arrivals, Os&& os) {
    const Ticket ticket = take(arrivals);
    if (ticket.rest) [[unlikely]]
      after(ticket.number, ticket.parked, os);
    return ticket.arrival;
  }

  template <class Os>
  Arrival drop(Os&& os) {
    // order: relaxed: the phase that this thread's arrival will belong to cannot end before it; an exchange sees its latest number.
    const std::uint64_t word = A::or_relaxed(phase_.word, std::uint64_t{0});
    const std::uint32_t number = measure_.number_of(word >> 1);
    auto& noted = drops_.noted[number % 2];
    A::store_relaxed(any_, std::uint32_t{1});  // order: relaxed at all: the arrival hands it over
    for (;;) {
      const std::uint64_t seen = A::load_relaxed(noted);  // order: see above
      const std::uint64_t before = seen >> 32 == number ? seen & kLow : 0;
      // order: see above
      if (A::compare_exchange_relaxed(noted, seen, std::uint64_t{number} << 32 | (before + 1))) break;
    }
    return arrive(1, os);
  }

  // Before the memory is given back: whoever filled the last phase may not have taken the stand-ins' tickets yet.
  template <class Os>
  void finished(Os&& os) {
    if (A::load_relaxed(any_) == 0) return;  // order: relaxed: came with the phase that the caller has waited for
    for (;;) {
      const std::uint64_t tickets = A::load_relaxed(phase_.word) >> 1;  // order: relaxed: the pool hands the memory over
      const std::uint64_t count = measure_.count.value();
      const std::uint64_t wanted = in_force(measure_.number_of(tickets) - 1) & kLow;
      if (wanted == count || tickets - measure_.count.quotient(tickets) * count >= wanted) return;
      os.relax();
    }
  }

 private:
  static constexpr std::uint64_t kLow = 0xffffffff;

  // Stand-ins behind phase `number`, as drops_.stand_ins has them; 0: none, or the asker is late.
  std::uint64_t in_force(std::uint32_t number) {
    const std::uint64_t noted = A::load_relaxed(drops_.noted[number % 2]);  // order: relaxed at both: see Drops above
    const std::uint64_t before = A::load_relaxed(drops_.stand_ins);         // order: see above
    const auto since = static_cast<std::uint32_t>(before >> 32);
    const bool any_before = (before & kLow) != 0;
    if (any_before && static_cast<std::int32_t>(number - since) < 0) return 0;
    const std::uint64_t added = noted >> 32 == number ? noted & kLow : 0;
    if (added == 0 || (any_before && since == number)) return before;
    return std::uint64_t{number} << 32 | ((before & kLow) + added);
  }

  // By whoever filled phase `number`.
  template <class Os>
  void add_stand_ins(std::uint32_t number, Os&& os) {
    for (;; ++number) {
      const std::uint64_t now = in_force(number);
      const std::uint64_t threads = now & kLow;
      if (threads == 0 || threads == measure_.count.value()) return;
      A::store_relaxed(drops_.stand_ins, now);  // order: relaxed: the next filler has it with the tickets below
      // order: acq_rel: as an arrival; it hands the drops on. Pairs with itself and kWordPoll.
      const std::uint64_t old = A::template add_acq_rel<Site::kWordAdd>(phase_.word, threads * 2);
      const std::uint64_t end = (old >> 1) + threads;
      if (measure_.count.quotient(end) * measure_.count.value() != end) return;
      if ((old & kParked) != 0) ring(phase_, true, os);
    }
  }

  Phase<A>& phase_;
  const Measure& measure_;
  Drops<A>& drops_;
  Any& any_;
};

}  // namespace fermata::anonymous
#endif
