// The barrier on one word: a ticket counter that never goes back. A phase is over when its last ticket has
// been taken.
//
// Source: the centralized barrier of power8-barriers, with an epoch in place of the sense. The count is never
//   reset.
// Steps:
//   1. Take a ticket; ticket / count is the phase.
//   2. The add that takes a phase's last ticket also releases the phase. Then ring if a thread parks.
//   3. All others wait until the counter has reached the end of their phase.
// Cost: one atomic add for each call that arrives, on a line that moves from arriver to arriver. The last add
//   is the release. Between two cores of a Zen 4 machine an episode takes 27 ns; with one flag each way,
//   57 ns.
// Why right: A waiter that sees the end of its phase reads from the last arrival of that phase, or from a
//   later read-modify-write. So it reads from the release sequence of every arrival. A thread that arrives
//   too early gets a ticket of a later phase, so more threads than `count` may take part if none drops. 2^63
//   tickets last for centuries.
// Drops: `count` stays the same, since it divides the tickets into phases. A thread that drops leaves a
//   stand-in. The thread that fills the phase of the drop, or a later phase, is that phase's filler. It takes
//   tickets of the phase after it, one for each stand-in. A thread notes its drop under the number of the
//   present phase, and then arrives. Its arrival is in the same phase, because callers let no thread drop if
//   others can fill the phase without it. So the filler of that phase sees the drop with the arrivals.
//   drops_.stand_ins says how many stand-ins there are, and which phase's filler first took tickets for all
//   of them. A filler without a CPU may be late: other threads have filled later phases, or the memory is
//   another barrier's. It then finds later numbers and does nothing. Once there are stand-ins, no phase fills
//   before the previous phase's filler has taken their tickets.
// Reused memory: after an arrival, another thread may destroy the barrier, and a new barrier may get its
//   memory. So a thread copies the Measure before its add. What it reads afterwards, `any` and the drops, may
//   be the new barrier's. The new barrier continues the tickets and the numbers of phases, so a late filler
//   finds that the drops are not for its phase.
// Limits: the program can do nothing between the last arrival and the release. In tree.hpp it can
//   (FERMATA_ANONYMOUS_COMPLETION).
#ifndef FERMATA_ANONYMOUS_COUNTER_HPP
#define FERMATA_ANONYMOUS_COUNTER_HPP

#include <bit>

#include "anonymous/divide.hpp"
#include "anonymous/phase.hpp"

namespace fermata::anonymous {

struct Arrival {
  std::uint64_t token = 0;  // names the phase of the last arrival
  bool last = false;        // one of the arrivals filled a phase
};

// Tickets that were taken, and what they mean. Tickets of stand-ins count like those of threads.
struct Tickets {
  Arrival arrival;
  std::uint64_t end = 0;  // the ticket after the last one taken
  bool parked = false;
};

// Step 1. Count divides the tickets into phases: value(), quotient(). The code after the add must be short.
// In long code, a waiter's poll would take the line away before this thread's next add.
template <class A, class Count>
[[gnu::always_inline]] inline Tickets take_tickets(Phase<A>& phase, const Count& count,
                                                   std::uint32_t arrivals) {
  // order: acq_rel: publishes what this thread wrote; whoever fills the phase sees what all wrote. Pairs with
  // itself and kWordPoll.
  const std::uint64_t old = A::template add_acq_rel<Site::kWordAdd>(phase.word, std::uint64_t{arrivals} * 2);
  const std::uint64_t first = old >> 1;
  const std::uint64_t end = first + arrivals;
  const std::uint64_t full = (count.quotient(end - 1) + 1) * count.value();
  // The arrivals fill the last ticket's phase, or an earlier one.
  const bool last = end == full || first + count.value() < full;
  return {{full * 2, last}, end, (old & kParked) != 0};
}

// Divides a barrier's tickets into phases. Only create() writes it.
struct Measure {
  Divisor count;
  std::uint32_t numbers_from = 0;  // ticket / count + numbers_from is the phase's number
  // count - 1 if count is a power of two above 1. Else 0, and take_of_mask() must not be called.
  std::uint32_t mask = 0;

  Measure() = default;
  Measure(std::uint32_t n, std::uint32_t from)
      : count(n), numbers_from(from), mask(std::has_single_bit(n) ? n - 1 : 0) {}

  std::uint32_t number_of(std::uint64_t ticket) const {
    return static_cast<std::uint32_t>(count.quotient(ticket)) + numbers_from;
  }
};

// In each word, the high half is the number of a phase and the low half is a count of threads.
template <class A>
struct Drops {
  // By the phase's parity: the phase, and how many threads drop in it.
  typename A::template Atomic<std::uint64_t> noted[2];
  // How many stand-ins there are, and the first phase whose filler took tickets for that many.
  typename A::template Atomic<std::uint64_t> stand_ins;
};

// `any` is apart from the rest, on a line that all arriving threads read anyway.
template <class A>
class Counter {
 public:
  using Any = typename A::template Atomic<std::uint32_t>;
  Counter(Phase<A>& phase, const Measure& measure, Drops<A>& drops, Any& any)
      : phase_(phase), measure_(measure), drops_(drops), any_(any) {}

  // Makes the word of a new barrier while threads may still read the old barrier's word. So the counter goes
  // on from the next multiple of count. On entry, `measure` is the old barrier's.
  static void open(Phase<A>& phase, Measure& measure, std::uint32_t count, Drops<A>& drops, Any& any) {
    // order: relaxed throughout: no thread arrives at the old barrier any more, and taking the entry from the
    // pool acquired what its last user wrote.
    A::store_relaxed(drops.noted[0], std::uint64_t{0});
    A::store_relaxed(drops.noted[1], std::uint64_t{0});              // order: see above
    A::store_relaxed(drops.stand_ins, std::uint64_t{0});             // order: see above
    A::store_relaxed(any, std::uint32_t{0});                         // order: see above
    const std::uint64_t tickets = A::load_relaxed(phase.word) >> 1;  // order: see above
    const std::uint32_t unused = measure.number_of(tickets) + 2;
    const std::uint64_t phases = Divisor(count).quotient(tickets + count - 1);
    measure = Measure(count, unused - static_cast<std::uint32_t>(phases));
    // order: release: a slow waiter of the old barrier that reads this sees what all wrote in its phase.
    // Pairs with kWordPoll.
    A::template store_release<Site::kRecycle>(phase.word, 2 * phases * count);
  }

  // If `rest` is true, the ticket filled a phase and after() must follow.
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

  // The same for one arrival, if measure.mask is not 0. Fewer cycles follow the add. The few values fit
  // into registers, so the compiler saves none on the stack before the add, which would delay the add.
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
    if (parked) ring(phase_, true, os);  // step 2
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
    // order: relaxed: the phase of this thread's arrival cannot end before that arrival; a read-modify-write
    // reads the latest number.
    const std::uint64_t word = A::or_relaxed(phase_.word, std::uint64_t{0});
    const std::uint32_t number = measure_.number_of(word >> 1);
    auto& noted = drops_.noted[number % 2];
    A::store_relaxed(any_, std::uint32_t{1});  // order: relaxed throughout: the arrival publishes it
    for (;;) {
      const std::uint64_t seen = A::load_relaxed(noted);  // order: see above
      const std::uint64_t before = seen >> 32 == number ? seen & kLow : 0;
      // order: see above
      if (A::compare_exchange_relaxed(noted, seen, std::uint64_t{number} << 32 | (before + 1))) break;
    }
    return arrive(1, os);
  }

  // Call this before you give the memory back: the thread that filled the last phase may not have taken the
  // stand-ins' tickets yet.
  template <class Os>
  void finished(Os&& os) {
    // order: relaxed: the caller has waited for a phase that published it
    if (A::load_relaxed(any_) == 0) return;
    for (;;) {
      // order: relaxed: the pool publishes the memory
      const std::uint64_t tickets = A::load_relaxed(phase_.word) >> 1;
      const std::uint64_t count = measure_.count.value();
      const std::uint64_t wanted = in_force(measure_.number_of(tickets) - 1) & kLow;
      if (wanted == count || tickets - measure_.count.quotient(tickets) * count >= wanted) return;
      os.relax();
    }
  }

 private:
  static constexpr std::uint64_t kLow = 0xffffffff;

  // Returns the stand-ins after phase `number`, in the form of drops_.stand_ins; 0 if there are none or the
  // caller is late.
  std::uint64_t in_force(std::uint32_t number) {
    // order: relaxed at both: the arrivals publish them
    const std::uint64_t noted = A::load_relaxed(drops_.noted[number % 2]);
    // order: see above
    const std::uint64_t before = A::load_relaxed(drops_.stand_ins);
    const auto since = static_cast<std::uint32_t>(before >> 32);
    const bool any_before = (before & kLow) != 0;
    if (any_before && static_cast<std::int32_t>(number - since) < 0) return 0;
    const std::uint64_t added = noted >> 32 == number ? noted & kLow : 0;
    if (added == 0 || (any_before && since == number)) return before;
    return std::uint64_t{number} << 32 | ((before & kLow) + added);
  }

  // Called by the thread that filled phase `number`.
  template <class Os>
  void add_stand_ins(std::uint32_t number, Os&& os) {
    for (;; ++number) {
      const std::uint64_t now = in_force(number);
      const std::uint64_t threads = now & kLow;
      if (threads == 0 || threads == measure_.count.value()) return;
      // order: relaxed: the next filler sees it with the tickets below
      A::store_relaxed(drops_.stand_ins, now);
      // order: acq_rel: as an arrival; it also publishes the drops. Pairs with itself and kWordPoll.
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
