// The counter barrier (counter.hpp) in memory of the caller's that several processes have mapped, each where it likes: 24 bytes, nothing
// beside them, and no memory that outlives it. So whoever destroys it waits until all have left.
//
// Steps: 1. take a ticket; ring if it fills the phase and somebody parks. 2. Others wait. 3. Whoever is done, the last one too, counts
//        itself as gone and touches the bytes no more. 4. To destroy it, wait until as many have gone as have taken tickets.
// Cost: one atomic add more than the counter, on the same line: a waiter owns it then as its next arrival needs it.
// Why right: 4. the last add to `gone` reads, through those before it, what all did before they left. Sleep: whoever destroys sets the
//       odd bit of `gone` and sleeps while it is what it was with that bit; each add changes it, and those that follow the bit wake.
//       That wake is by address: the kernel looks for sleepers there and reads nothing, whatever the memory is by then.
//       31 bits of the tickets are compared with as many that have gone: fewer threads are inside at a time.
// Limits: no drops; no line of its own. Phases of a count that is no power of two cost a division.
// Tried and left: to count only the waiters as gone (the last arrival is an add and nothing more): who rings touches the bell after its
//       add, and a waiter that sees the add may destroy.
#ifndef FERMATA_ANONYMOUS_SHARED_HPP
#define FERMATA_ANONYMOUS_SHARED_HPP

#include <bit>

#include "anonymous/counter.hpp"

namespace fermata::anonymous {

// A count without room for a Divisor.
class PlainCount {
 public:
  explicit PlainCount(std::uint32_t count) : count_(count) {}
  std::uint64_t value() const { return count_; }
  std::uint64_t quotient(std::uint64_t n) const { return std::has_single_bit(count_) ? n >> std::countr_zero(count_) : n / count_; }

 private:
  std::uint32_t count_;
};

template <class A>
class Shared {
 public:
  // Over whatever the memory holds. Who makes it known to others orders that by its own means.
  void open(std::uint32_t count) {
    count_ = count;
    A::store_relaxed(phase_.word, std::uint64_t{0});  // order: relaxed at all: see above
    A::store_relaxed(phase_.bell, std::uint32_t{0});  // order: see above
    A::store_relaxed(gone_, std::uint32_t{0});        // order: see above
  }

  // 1.
  template <class Os>
  Arrival arrive(Os&& os) {
    const Tickets taken = take_tickets(phase_, PlainCount(count()), 1);
    if (taken.arrival.last && taken.parked) [[unlikely]]
      ring(phase_, true, os);
    return taken.arrival;
  }

  // 3.
  template <class Os>
  void leave(Os&& os) {
    auto& gone = gone_;
    // order: release: what this thread did here is over. Pairs with kGoneRead.
    if ((A::template add_release<Site::kGone>(gone, std::uint32_t{2}) & kParked) != 0) [[unlikely]]
      os.wake_all(gone);
  }

  // 4. At least `looks` looks before it sleeps, ns at a time.
  template <class Os>
  void await_gone(Os&& os, std::uint32_t looks, std::int64_t ns) {
    for (;;) {
      // order: acquire: all that was done here before. Pairs with kGone.
      const std::uint32_t gone = A::template load_acquire<Site::kGoneRead>(gone_);
      // order: relaxed: the caller knows that all have arrived who will
      const auto taken = static_cast<std::uint32_t>(A::load_relaxed(phase_.word));
      if ((gone | 1) == (taken | 1)) return;
      if (looks > 0) {
        --looks;
        os.relax();
      } else if ((gone & kParked) == 0) {
        A::or_relaxed(gone_, std::uint32_t{kParked});  // order: relaxed: one word's changes are in one order
      } else {
        os.sleep(gone_, gone, ns);
      }
    }
  }

  // Whoever else has the memory may write there, and the count divides.
  std::uint32_t count() const {
    const std::uint32_t n = *const_cast<const volatile std::uint32_t*>(&count_);
    return n != 0 ? n : 1;
  }
  Phase<A>& phase() { return phase_; }
  auto& gone() { return gone_; }  // what whoever destroys sleeps on

 private:
  Phase<A> phase_;
  typename A::template Atomic<std::uint32_t> gone_;  // 2 x those that have left, of all that ever came; + 1: whoever destroys may sleep
  std::uint32_t count_;                              // written by open() alone
};

}  // namespace fermata::anonymous
#endif
