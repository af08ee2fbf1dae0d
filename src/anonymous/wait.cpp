// Waits for a phase after the bounded spin has failed.
#include "anonymous/barrier.hpp"
#include "anonymous/machine.hpp"

namespace fermata::anonymous {
namespace {

constexpr std::int64_t kParkNs = 50'000'000;  // the longest park; a lost wake-up would cost as much

// What a thread has learned about waits in the barrier where it last waited long (t_spins.barrier). Anonymous
// members have no memory of their own in the barrier.
struct Learned {
  AutoWait policy;
  std::uint32_t generation = 0;
  std::uint32_t cpus = 0;
  std::uint32_t count = 0;
};
// Static TLS: a look-up by the loader may allocate.
[[gnu::tls_model("initial-exec")]] constinit thread_local Learned t_learned;
// For barriers without a Pace of their own: each member detects other load on its CPU by itself.
[[gnu::tls_model("initial-exec")]] constinit thread_local Pace t_pace;

// If there are more members than CPUs: at most this many yields in one wait, then sleep. After a fruitless
// yield, a thread has run that has arrived already. The scheduler may go on choosing such threads while
// others have not arrived. Unlike in a team, parking costs no fence here. Microseconds an episode on two
// cores, median and worst of 9:
//
//   yields in a wait   64 members                 16 members
//   1                  83, worst 114              15
//   2 to 8             36 to 43, worst 45 to 60   10 to 13
//   no limit           42, worst 199              18
//
// The number is fixed, because a number that threads learn is worse: a thread that sleeps makes the next
// thread sleep. On these cores, 4 members without work then take 17 to 47 us an episode instead of 1.5.
// A single yield where waits are long (80 us, and 4 us a member) gains nothing. With 4 to 16 members and 100
// us of work, the ratio to glibc's barrier is 0.97 to 1.03 instead of 0.99 to 1.02.
constexpr std::uint32_t kCrowdedYields = 6;
// But a thread yields for at least this long: an idle CPU takes as long to wake up.
constexpr std::int64_t kCrowdedNs = 20'000;

// A wait reads the clock once before its first action, and once after each action.
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
    for (std::uint32_t n = 0; !(over = is_over(wait.phase, wait.token)) && n < policy.spins(); ++n)
      RealAtomics::pause();
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
  if (t_spins.barrier != wait.barrier || mine.generation != wait.generation || mine.cpus != cpus ||
      mine.count != wait.count) {
    Pace* pace = wait.pace;
    if (pace == nullptr) {
      pace = &t_pace;
      forget(*pace);
      exclude_until(*pace, 0);
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
  // order: relaxed at both: hints; once this phase is over, they may be another barrier's
  const std::uint32_t count = count_.load(std::memory_order_relaxed);
  const std::uint32_t generation = generation_.load(std::memory_order_relaxed);  // order: see above
  const std::uint64_t call = leaves_ == 0 ? token / 2 / count : token / 2;
  const auto ask = [](const void* barrier, std::uint64_t of) {
    return static_cast<const Barrier*>(barrier)->standing(of);
  };
  wait_long({phase, token, this, generation, count, call, &pace_, ask});
  return Met::kOther;
}

}  // namespace fermata::anonymous
