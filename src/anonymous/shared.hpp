// The counter barrier (counter.hpp) in the caller's memory, which several processes have mapped, each at its
// own address. It consists of 24 bytes of that memory alone. The caller may reuse them after the barrier is
// destroyed. So the thread that destroys the barrier waits until all threads have left.
//
// Steps:
//   1. Take a ticket; ring if it fills the phase and a thread parks.
//   2. All others wait.
//   3. Each thread that is done, the last one too, counts itself as gone. It does not touch the bytes again.
//   4. To destroy the barrier, wait until as many threads have gone as have taken tickets.
// Cost: one more atomic add than the counter, on the same line. A waiter's next arrival needs that line
//   anyway.
// Why right: Step 4 reads the last add to `gone`, so it sees what all threads did before they left. Sleep:
//   the destroyer sets the odd bit of `gone`, and sleeps while `gone` keeps that value. Each add changes the
//   value, and each add that finds the bit wakes the destroyer. The wake-up is by address: the kernel looks
//   for sleepers there and reads nothing, so the memory may have another use by then. Step 4 compares 31 bits
//   of the tickets with 31 bits of `gone`. That suffices, because fewer threads are inside at a time.
// Limits: no drops; no cache line of its own. If count is not a power of two, each arrival costs a division.
// Tried and left: counting only waiters as gone (the last arrival is then one add and nothing more). The
//   ringer touches the bell after its add, and a waiter that sees the add may destroy the barrier.
#ifndef FERMATA_ANONYMOUS_SHARED_HPP
#define FERMATA_ANONYMOUS_SHARED_HPP

#include <bit>

#include "anonymous/counter.hpp"

namespace fermata::anonymous {

// A count, where there is no room for a Divisor.
class PlainCount {
 public:
  explicit PlainCount(std::uint32_t count) : count_(count) {}
  std::uint64_t value() const { return count_; }
  std::uint64_t quotient(std::uint64_t n) const {
    return std::has_single_bit(count_) ? n >> std::countr_zero(count_) : n / count_;
  }

 private:
  std::uint32_t count_;
};

template <class A>
class Shared {
 public:
  // Overwrites the memory's contents. The code that publishes the barrier must order these writes first.
  void open(std::uint32_t count) {
    count_ = count;
    // order: relaxed throughout: the code that publishes the barrier orders these writes
    A::store_relaxed(phase_.word, std::uint64_t{0});
    A::store_relaxed(phase_.bell, std::uint32_t{0});  // order: see above
    A::store_relaxed(gone_, std::uint32_t{0});        // order: see above
  }

  // Step 1.
  template <class Os>
  Arrival arrive(Os&& os) {
    const Tickets taken = take_tickets(phase_, PlainCount(count()), 1);
    if (taken.arrival.last && taken.parked) [[unlikely]]
      ring(phase_, true, os);
    return taken.arrival;
  }

  // Step 3.
  template <class Os>
  void leave(Os&& os) {
    auto& gone = gone_;
    // order: release: this thread has left the barrier. Pairs with kGoneRead.
    if ((A::template add_release<Site::kGone>(gone, std::uint32_t{2}) & kParked) != 0) [[unlikely]]
      os.wake_all(gone);
  }

  // Step 4. Checks at least `looks` times before it sleeps, then sleeps for at most `ns` ns at a time.
  template <class Os>
  void await_gone(Os&& os, std::uint32_t looks, std::int64_t ns) {
    for (;;) {
      // order: acquire: sees what each thread did before it left. Pairs with kGone.
      const std::uint32_t gone = A::template load_acquire<Site::kGoneRead>(gone_);
      // order: relaxed: the caller knows that no further thread will arrive
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

  // Another process may overwrite the memory, and the count is a divisor. So this reads the count once, and
  // never returns 0.
  std::uint32_t count() const {
    const std::uint32_t n = *const_cast<const volatile std::uint32_t*>(&count_);
    return n != 0 ? n : 1;
  }
  Phase<A>& phase() { return phase_; }
  auto& gone() { return gone_; }  // the destroyer sleeps on it

 private:
  Phase<A> phase_;
  // 2 x the number of threads that have ever left; + 1: the destroyer may sleep.
  typename A::template Atomic<std::uint32_t> gone_;
  std::uint32_t count_;  // only open() writes it
};

}  // namespace fermata::anonymous
#endif
