// Waiting for a phase once the bounded spin was in vain.
#include "anonymous/barrier.hpp"
#include "anonymous/machine.hpp"

namespace fermata::anonymous {
namespace {

constexpr std::int64_t kParkNs = 50'000'000;  // the longest park: what a lost wake-up would cost

// What a thread has learned about waiting in the barrier where it waited last (t_spins names it): anonymous members have no other place
// for it.
struct Learned {
  AutoWait policy;
  std::uint32_t generation = 0;
  std::uint32_t cpus = 0;
  std::uint32_t count = 0;
};
// Not looked up by a function of the loader, which may allocate.
[[gnu::tls_model("initial-exec")]] constinit thread_local Learned t_learned;
// Where the barrier has none: members find out about co-tenants one by one.
[[gnu::tls_model("initial-exec")]] constinit thread_local Pace t_pace;

// More members than CPUs: so many yields in one wait, then sleep. A yield that comes back in vain ran somebody who is here already; the
// scheduler may go on choosing among those while others have not arrived. To park costs no fence here, as it does in a team. Two cores, us
// an episode, median and worst of 9: 64 members with 1 yield 83, 114; 2 to 8 yields 36 to 43, 45 to 60; no end of yields 42, 199; 16
// members 15, 10 to 13, 18.
// Tried and left: to learn it. No yields, or one, after four waits in a row that ended asleep, with a try each 16th or 64th wait: who
// sleeps makes the next one sleep. 4 members without work 17 to 47 us instead of 1.5; 64 members with 10 us of work, the median of 36
// paired ratios to glibc's barrier: 0.97 instead of 0.98. Nor one yield only where a thread's waits are long (80 us and 4 us a member): 4
// to 16 members with 100 us of work 0.97 to 1.03 instead of 0.99 to 1.02.
constexpr std::uint32_t kCrowdedYields = 6;
constexpr std::int64_t kCrowdedNs = 20'000;  // but at least so long: a CPU that has nobody left to run takes as long to wake

// A turn on the CPU reads the clock twice: before its action and behind it.
template <class Policy>
void wait_with(Policy& policy, const LongWait& wait, std::uint32_t yields = UINT32_MAX) {
  OsCalls os(wait.pace == nullptr);
  Stall stall(wait.barrier, wait.token, wait.standing);
  const std::int64_t start = os::now_ns();
  std::int64_t now = start;
  WaitView view;
  view.call = wait.call;
  view.now_ns = start;
  for (bool over = false; !over;) {
    view.waited_ns = now - start;
    stall.look(view.waited_ns);
    view.last_action = policy.next(view);
    if (view.last_action == WaitAction::kYield) {
      if (yields > 0) {
        --yields;
      } else if (view.waited_ns >= kCrowdedNs) {
        view.last_action = WaitAction::kPark;
      }
    }
    switch (view.last_action) {
      case WaitAction::kSpin: break;
      case WaitAction::kYield: os::yield(); break;
      case WaitAction::kPark: park(wait.phase, wait.token, os, kParkNs); break;
    }
    for (std::uint32_t n = 0; !(over = is_over(wait.phase, wait.token)) && n < policy.spins(); ++n) RealAtomics::pause();
    const std::int64_t then = now;
    now = os::now_ns();
    view.now_ns = now;
    view.last_action_ns = now - then;
    view.first = false;
  }
  policy.done(view);
}

void wait_as_learned(const LongWait& wait) {
  Learned& mine = t_learned;
  look_again(os::now_ns());
  const std::uint32_t cpus = wait.pace != nullptr ? usable_cpus() : cpus_of_processes();
  if (t_spins.barrier != wait.barrier || mine.generation != wait.generation || mine.cpus != cpus || mine.count != wait.count) {
    Pace* pace = wait.pace;
    if (pace == nullptr) {
      pace = &t_pace;
      forget(*pace);
      excuse(*pace, 0);
    }
    const bool crowded = wait.count > cpus;
    mine = {AutoWait(crowded, (wait.count + cpus - 1) / cpus, pace), wait.generation, cpus, wait.count};
  }
  wait_with(mine.policy, wait, wait.count > cpus ? kCrowdedYields : UINT32_MAX);
  t_spins = {wait.barrier, mine.policy.spins()};
}

}  // namespace

constinit thread_local Spins t_spins;

std::uint32_t choose_spins(std::uint32_t count, std::uint32_t cpus) {
  switch (wait_kind()) {
    case WaitKind::kSpin: return SpinWait{}.spins();
    case WaitKind::kYield: return YieldWait{}.spins();
    case WaitKind::kPark: return ParkWait{}.spins();
    case WaitKind::kAuto: break;
  }
  return AutoWait(count > cpus, 1, nullptr).spins();
}

void wait_long(const LongWait& wait) {
  switch (wait_kind()) {
    case WaitKind::kSpin: {
      SpinWait policy;
      return wait_with(policy, wait);
    }
    case WaitKind::kYield: {
      YieldWait policy;
      return wait_with(policy, wait);
    }
    case WaitKind::kPark: {
      ParkWait policy;
      return wait_with(policy, wait);
    }
    case WaitKind::kAuto: return wait_as_learned(wait);
  }
}

Met Barrier::wait_longer(Phase<RealAtomics>& phase, std::uint64_t token) {
  // order: relaxed at both: hints; if this phase is over, they may be another barrier's
  const std::uint32_t count = count_.load(std::memory_order_relaxed);
  const std::uint32_t generation = generation_.load(std::memory_order_relaxed);  // order: see above
  const std::uint64_t call = leaves_ == 0 ? token / 2 / count : token / 2;
  const auto ask = [](const void* barrier, std::uint64_t of) { return static_cast<const Barrier*>(barrier)->standing(of); };
  wait_long({phase, token, this, generation, count, call, &pace_, ask});
  return Met::kOther;
}

}  // namespace fermata::anonymous
