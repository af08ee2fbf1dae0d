// The barriers that one writes by hand for more members than CPUs: one counter. Whoever waits gives its CPU
// up, by a yield, or by a sleep until the last member wakes all.
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "bench/rivals/rivals.hpp"

namespace fermata::bench {
namespace {

struct Counter {
  alignas(128) std::atomic<std::uint32_t> missing;
  alignas(128) std::atomic<std::uint32_t> phase;
};

struct Yield {
  static void wait(std::atomic<std::uint32_t>&, std::uint32_t) { sched_yield(); }
  static void wake(std::atomic<std::uint32_t>&) {}
};

// A shared futex, since members can be processes.
struct Sleep {
  static void wait(std::atomic<std::uint32_t>& word, std::uint32_t while_equal) {
    syscall(SYS_futex, &word, FUTEX_WAIT, while_equal, nullptr, nullptr, 0);
  }
  static void wake(std::atomic<std::uint32_t>& word) {
    syscall(SYS_futex, &word, FUTEX_WAKE, 0x7fffffff, nullptr, nullptr, 0);
  }
};

template <class Way>
class CounterBarrier final : public Subject {
 public:
  std::string prepare(const Case& c, Arena& arena) override {
    counter_ = arena.make<Counter>();
    members_ = static_cast<std::uint32_t>(c.members);
    counter_->missing.store(members_, std::memory_order_relaxed);  // order: the members start later
    return {};
  }
  void work(int rank, Turn& turn) override {
    Counter& counter = *counter_;
    const std::uint32_t members = members_;
    turn.run(rank, [&] {
      // order: relaxed: no phase ends before this member arrives
      const std::uint32_t phase = counter.phase.load(std::memory_order_relaxed);
      // order: acq_rel: orders what the members did before, for the last one
      if (counter.missing.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        counter.missing.store(members, std::memory_order_relaxed);  // order: the phase orders it
        counter.phase.store(phase + 1, std::memory_order_release);  // order: release: ends the phase
        Way::wake(counter.phase);
        return;
      }
      // order: acquire: pairs with the end of the phase
      while (counter.phase.load(std::memory_order_acquire) == phase) Way::wait(counter.phase, phase);
    });
  }

 private:
  Counter* counter_ = nullptr;
  std::uint32_t members_ = 0;
};

}  // namespace

std::unique_ptr<Subject> make_counter_yield() { return std::make_unique<CounterBarrier<Yield>>(); }
std::unique_ptr<Subject> make_counter_futex() { return std::make_unique<CounterBarrier<Sleep>>(); }

}  // namespace fermata::bench
