// Waits for a phase after the bounded spin has failed.
#include <stdio.h>

#include <atomic>

#include "anonymous/barrier.hpp"
#include "anonymous/machine.hpp"
#include "os/os.hpp"
#include "sync/monitor.hpp"
#include "sync/unwatched.hpp"
#include "sync/wait_wanted.hpp"

namespace fermata::anonymous {
namespace {

constexpr std::int64_t kParkNs = 50'000'000;  // the longest park if a stall report is wanted

// What a thread has learned about waits in the barrier where it last waited long (t_spins.barrier). Anonymous
// members have no memory of their own in the barrier.
struct Learned {
  AutoWait policy;
  std::uint32_t generation = 0;
  Cpus cpus;
  std::uint32_t count = 0;
};
// Static TLS: a look-up by the loader may allocate.
[[gnu::tls_model("initial-exec")]] constinit thread_local Learned t_learned;
// For barriers without a Pace of their own: each member detects other load on its CPU by itself.
[[gnu::tls_model("initial-exec")]] constinit thread_local Pace t_pace;

// Records which threads wait in which barrier, for stall reports: only if FERMATA_STALL_SECONDS asks for
// reports, and only for long waits.
constexpr std::int64_t kAgainNs = 1'000'000'000;
constexpr int kPlaces = 1024;  // reports do not name further waiting threads

struct Place {
  std::atomic<const void*> barrier;  // null: free
  std::atomic<std::uint32_t> thread;
};
constinit Place g_places[kPlaces] = {};

int take_place(const void* barrier) {
  for (int i = 0; i < kPlaces; ++i) {
    const void* free = nullptr;
    // order: relaxed, here and below: only for reports
    if (!g_places[i].barrier.compare_exchange_strong(free, barrier, std::memory_order_relaxed)) continue;
    g_places[i].thread.store(os::thread_id(), std::memory_order_relaxed);  // order: see above
    return i;
  }
  return -1;
}

// A thread's long wait, from construction to destruction.
class Stall {
 public:
  explicit Stall(const LongWait& wait) : wait_(wait), limit_ns_(stall_ns()) {
    if (limit_ns_ != 0) place_ = take_place(wait.barrier);
  }
  ~Stall() {
    if (place_ >= 0) g_places[place_].barrier.store(nullptr, std::memory_order_relaxed);  // order: see above
  }
  Stall(const Stall&) = delete;
  Stall& operator=(const Stall&) = delete;

  // How long a park may last.
  std::int64_t longest_park() const { return limit_ns_ != 0 ? kParkNs : os::kNoLimit; }
  // Call this now and then. Once the wait is long enough, this writes one report to stderr: how many threads
  // have arrived, how many are missing, and which threads wait here.
  void look(std::int64_t waited_ns) {
    if (limit_ns_ != 0 && waited_ns >= limit_ns_) [[unlikely]]
      report(waited_ns);
  }

 private:
  // Not inlined: only a report needs the room for its text on the stack.
  [[gnu::noinline, gnu::cold]] void report(std::int64_t waited_ns) {
    const os::ErrnoGuard guard;
    const Standing standing = wait_.standing(wait_.barrier, wait_.token);
    if (standing.missing == 0) return;  // the phase has just ended, or its completion runs
    char text[1024];                    // a thread's stack may be small
    const auto tenths = static_cast<unsigned long long>(waited_ns / 100'000'000);
    int at =
        snprintf(text, sizeof text,
                 "fermata: thread %u has waited %llu.%llu s at barrier %p of %u: %u have arrived, %u are "
                 "missing; waiting threads:",
                 os::thread_id(), tenths / 10, tenths % 10, standing.name, standing.count,
                 standing.count - standing.missing, standing.missing);
    for (const Place& place : g_places) {
      // order: relaxed, both: only for reports
      if (place.barrier.load(std::memory_order_relaxed) != wait_.barrier ||
          at > static_cast<int>(sizeof text) - 20)
        continue;
      const std::uint32_t thread = place.thread.load(std::memory_order_relaxed);  // order: see above
      at += snprintf(text + at, sizeof text - static_cast<std::size_t>(at), " %u", thread);
    }
    text[at++] = '\n';
    // If standard error takes nothing now, try again later.
    limit_ns_ = os::write_stderr(text, static_cast<std::size_t>(at)) ? 0 : waited_ns + kAgainNs;
  }

  const LongWait& wait_;
  std::int64_t limit_ns_;  // 0: no report is wanted, or it is written; raised while stderr takes nothing
  int place_ = -1;         // this thread's entry in the table of waiting threads; -1: none
};

// A wait reads the clock once before its first action, and once after each action.
template <class Policy>
void wait_with(Policy& policy, const LongWait& wait, Yielded yielded = {}) {
  OsCalls os(nullptr, wait.pace == nullptr);
  Stall stall(wait);
  const std::int64_t start = os::now_ns();
  std::int64_t now = start;
  WaitView view;
  view.call = wait.call;
  view.yielded = yielded;
  view.now_ns = start;
  bool asked = false;
  if constexpr (kMayMove<Policy>) asked = policy.asks_for_thread(wait.call);
  if (asked) view.thread_id = os::thread_id(), view.cpu = os::current_cpu();
  for (bool over = false; !over;) {
    view.waited_ns = now - start;
    stall.look(view.waited_ns);
    view.last_action = policy.next(view);
    switch (view.last_action) {
      case WaitAction::kSpin: break;
      case WaitAction::kYield: os::yield(); break;
      case WaitAction::kPark: park(wait.phase, wait.bell, wait.token, os, stall.longest_park()); break;
      case WaitAction::kMove:
        if constexpr (kMayMove<Policy>) policy.move(view, os::leave_cpu, os::join_cpu);
        break;
    }
    const bool watched = view.last_action == WaitAction::kSpin && MonitorChoice::wait(&wait.phase.word, [&] {
                           return is_over(wait.phase, wait.token);
                         });
    const std::uint32_t spins = watched ? 0 : policy.spins();
    for (std::uint32_t n = 0; !(over = is_over(wait.phase, wait.token)) && n < spins; ++n)
      RealAtomics::pause();
    const std::int64_t then = now;
    now = os::now_ns();
    view.now_ns = now;
    if (asked) view.cpu = os::current_cpu();
    view.last_action_ns = now - then;
    view.first = false;
  }
  policy.done(view);
}

bool is_known(const LongWait& wait) {
  return t_spins.barrier == wait.barrier && t_learned.generation == wait.generation &&
         t_learned.count == wait.count;
}

// The first actions of a wait with the automatic policy. Returns true if it is over. Inlined: after a switch
// to this thread, the CPU predicts each return wrongly.
[[gnu::always_inline]] inline bool over_soon(const LongWait& wait, Yielded* yielded) {
  if (wait_kind() != WaitKind::kAuto || !is_known(wait)) return false;
  AutoWait& policy = t_learned.policy;
  if (stall_ns() == 0 && policy.parks_unwatched(wait.call, os::current_cpu)) {
    OsCalls os(nullptr, wait.pace == nullptr);
    do park(wait.phase, wait.bell, wait.token, os, os::kNoLimit);
    while (!is_over(wait.phase, wait.token));
    policy.parked_unwatched();
    return true;
  }
  return over_unwatched(policy, wait.call, yielded, os::ThisThread(),
                        [&] { return is_over(wait.phase, wait.token); });
}

void wait_as_learned(const LongWait& wait, Yielded yielded) {
  Learned& mine = t_learned;
  look_again(os::now_ns());
  const Cpus cpus = wait.pace != nullptr ? usable_cpus() : cpus_of_processes();
  if (!is_known(wait) || mine.cpus != cpus) {
    Pace* pace = wait.pace;
    if (pace == nullptr) {
      pace = &t_pace;
      forget(*pace);
      exclude_until(*pace, 0);
    }
    const AutoWait policy(room_of(wait.count, cpus), wait.count, pace, os::thread_id(), wait.signs);
    mine = {policy, wait.generation, cpus, wait.count};
  }
  wait_with(mine.policy, wait, yielded);
  t_spins = {wait.barrier, mine.policy.spins()};
}

[[gnu::noinline]] void wait_on(const LongWait& wait, Yielded yielded) {
  with_policy(
      wait_kind(), [&](auto policy) { wait_with(policy, wait); }, [&] { wait_as_learned(wait, yielded); });
}

}  // namespace

constinit thread_local Spins t_spins;

std::uint32_t choose_spins(std::uint32_t count, Cpus cpus) {
  return with_policy(
      wait_kind(), [](auto policy) { return policy.spins(); },
      [&] { return AutoWait(room_of(count, cpus), 1, nullptr, 0).spins(); });
}

void wait_long(const LongWait& wait) {
  Yielded yielded;
  if (!over_soon(wait, &yielded)) wait_on(wait, yielded);
}

Met Barrier::wait_longer(Phase<RealAtomics>& phase, std::uint64_t token) {
  // order: relaxed at both: hints; once this phase is over, they may be another barrier's
  const std::uint32_t count = count_.load(std::memory_order_relaxed);
  const std::uint32_t generation = generation_.load(std::memory_order_relaxed);  // order: see above
  const std::uint64_t call = leaves_ == 0 ? token / 2 / count : token / 2;
  const auto ask = [](const void* barrier, std::uint64_t of) {
    return static_cast<const Barrier*>(barrier)->standing(of);
  };
  const LongWait wait{phase, first_.phase.bell, token, this, generation, count, call, &pace_, &signs_, ask};
  Yielded yielded;
  if (!over_soon(wait, &yielded)) wait_on(wait, yielded);
  return Met::kOther;
}

}  // namespace fermata::anonymous
