// Waiter: what a member does after its first bounded spin was not enough. It has the wait policy, the user's
// settings for waits, and the poll interval. It knows no team: `What` is what it waits for.
//
//   bool advance(spins)         looks for `spins` pauses, 0: once. True: the wait is over.
//   Status finish()             ends the call after advance() has returned true
//   bool watch()                lets the CPU wait, for a few us, for what advance() awaits; false: it cannot
//   void park(ns, guarded)      sleeps until advance() may succeed, or for that time; `guarded`: or, while
//                               another member looks at the others every `ns`, without a limit
//   bool park_unwatched(ns)     the same `guarded`, then advance(0); false at once if nobody else looks
//   Status look(waited_ns)      looks at the other members, about every kLookNs; kOk: the wait goes on;
//                               kRetracted: the caller repeats the call
//   Status broken()             why the wait is futile; kOk: it is not
//   Status give_up(status)      ends the wait in a broken team
//   Status time_out(waited_ns)  writes the error text; returns kTimeout
//   bool report_stall(ns)       reports this wait; false: standard error has not taken all of the report
//   bool advance_others()       advances the requests of this thread's other members; true: it did for some
//   bool has_port()             the team has a port to other hosts
//   void attend_port()          sends and receives lines through the port
//   bool from_away()            the awaited data may come through the port
//   std::int64_t expected_ns()  how long the others need for data that they move
//
// Between any two actions of the policy the waiter calls the idle hook, looks at the team and the clock, and
// advances. So a wait outlasts its time limit by about one action and one call of the hook at most.
#ifndef FERMATA_EXEC_WAITER_HPP
#define FERMATA_EXEC_WAITER_HPP

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "base/status.hpp"
#include "exec/poll_interval.hpp"
#include "os/os.hpp"
#include "sync/monitor.hpp"
#include "sync/unwatched.hpp"
#include "sync/wait_wanted.hpp"

namespace fermata::exec {

using IdleHook = int (*)(void* context);

class Waiter {
 public:
  static constexpr std::int64_t kLookNs = 20'000'000;  // between two checks of the other members
  // The most calls from one do_seldom_work() to the next. Only calls on lines do it, so after other calls it
  // may come later.
  static constexpr std::uint64_t kSeldom = 16384;
  // The longest park beside requests that do not ring this wait's doorbell.
  static constexpr std::int64_t kWithRequestsNs = 50'000;

  // stall_ns: a wait that long is reported; 0: none is. awake_us: see AutoWait. beside: see TeamOptions.
  Waiter(WaitKind collective, bool over_hosts, std::int64_t stall_ns, std::uint32_t awake_us = 0,
         std::uint32_t beside = 0)
      : collective_(collective),
        over_hosts_(over_hosts),
        awake_us_(awake_us),
        beside_(beside),
        stall_ns_(stall_ns) {
    MonitorChoice::settle();
    os::settle_moves();
    choose_spins();
  }

  struct Settings {
    std::int64_t timeout_ns = 0;  // 0: no limit
    IdleHook hook = nullptr;      // if it returns a number other than 0, the wait is interrupted
    void* hook_context = nullptr;
    std::int64_t idle_sleep_ns = 0;  // with a hook: the longest sleep between two of its calls; 0: sets none
  };
  Settings settings;
  // Of the call that waits now: its time limit counts from this time of os::now_ns(). 0: from each wait's
  // start.
  std::int64_t since_ns = 0;

  // The pauses of the bounded spin with which a call begins to wait.
  std::uint32_t spins() const { return spins_; }
  // `auto` depends on how many members have joined, and on how many of them can run at once.
  std::uint32_t joined() const { return joined_; }
  void set_joined(std::uint32_t joined, Cpus cpus, Pace* pace, std::uint32_t rank, Signs* signs = nullptr) {
    joined_ = joined;
    auto_ = AutoWait(room_of(joined + beside_, cpus), joined, pace, rank, signs, awake_us_);
    choose_spins();
  }

  // Begins a wait without a look at the clock or the team, if it may, in the call of that number. over():
  // looks once whether the wait is over. Returns true if it is. Else wait() comes next.
  template <class Over>
  [[gnu::always_inline]] bool over_soon(std::uint64_t call, Over&& over) {
    if (collective_ != WaitKind::kAuto || over_hosts_ || !may_act_unwatched()) return false;
    return over_unwatched(auto_, call, &yielded_, os::ThisThread(), over);
  }

  // Waits in the call of that number.
  template <class What>
  Status wait(const What& what, std::uint64_t call) {
    const os::ErrnoGuard guard;
    const Yielded yielded = std::exchange(yielded_, Yielded{});
    return with_policy(
        collective_, [&](auto policy) { return wait_with(policy, what, call); },
        [&] {
          if (over_hosts_) return wait_with(HostsWait{}, what, call);
          if (!may_act_unwatched()) return wait_with(auto_, what, call);
          if (auto_.parks_unwatched(call, os::current_cpu) && what.park_unwatched(kLookNs)) {
            auto_.parked_unwatched();
            return what.finish();
          }
          return wait_with(auto_, what, call, yielded);
        });
  }

  // True if do_seldom_work() is due in the call of that number.
  bool is_due(std::uint64_t call) const { return call >= next_seldom_; }
  // Adapts the poll interval. plan: of this call; polling: how its calls poll. Afterwards, calls of
  // timed_plan() poll as found_polling() says.
  void do_seldom_work(std::uint64_t call, std::uint32_t plan, const Polling& polling) {
    if (call >= poll_interval_.next()) poll_interval_.take_time(call, os::now_ns(), plan, polling);
    next_seldom_ = poll_interval_.next() - call < kSeldom ? poll_interval_.next() : call + kSeldom;
  }
  // From now on measures the poll interval, instead of using the pauses of the programs.
  void find_poll_interval(std::uint64_t call) {
    poll_interval_.start(call);
    next_seldom_ = poll_interval_.next();
  }
  std::uint32_t timed_plan() const { return poll_interval_.plan(); }
  const Polling& found_polling() const { return poll_interval_.found(); }

 private:
  // The longest park between two looks at the port, unless there is a hook and settings.idle_sleep_ns sets
  // one.
  static constexpr std::int64_t kWithPortNs = 1'000'000;
  // Least time between two looks at the port while the awaited member is on this host.
  static constexpr std::int64_t kPortNs = 50'000;
  static constexpr std::int64_t kSayAgainNs = 1'000'000'000;
  static constexpr std::int64_t kLeastParkNs = 1000;

  // The time limits of one wait, in ns of os::now_ns(), and what is due next.
  struct Limits {
    std::int64_t start, deadline, stall, next_look, next_port;
    // The longest sleep between two calls of the idle hook or looks at the port; 0: none is set.
    std::int64_t sleep_ns;
    // Nothing but a look at the members is ever due.
    bool only_looks() const { return deadline == INT64_MAX && stall == INT64_MAX && sleep_ns == 0; }
    // beside_requests: other members of this thread have requests, which do not ring this wait's doorbell.
    std::int64_t longest_park(std::int64_t now, bool beside_requests) const {
      std::int64_t limit = std::min(next_look, deadline) - now;
      if (beside_requests) limit = std::min(limit, kWithRequestsNs);
      // The hook and the port are served often at first, later at intervals of 1/8 of the time waited.
      if (sleep_ns > 0) limit = std::min({limit, sleep_ns, std::max((now - start) / 8, kWithRequestsNs)});
      return std::max(limit, kLeastParkNs);
    }
  };
  Limits limits_from(std::int64_t now, bool has_port) const {
    const bool hook_sleeps = settings.hook != nullptr && settings.idle_sleep_ns > 0;
    return {.start = now,
            .deadline =
                settings.timeout_ns > 0 ? (since_ns != 0 ? since_ns : now) + settings.timeout_ns : INT64_MAX,
            .stall = stall_ns_ > 0 ? now + stall_ns_ : INT64_MAX,
            .next_look = now + kLookNs,
            .next_port = now,
            .sleep_ns = hook_sleeps ? settings.idle_sleep_ns
                        : has_port  ? kWithPortNs
                                    : 0};
  }
  void choose_spins() {
    spins_ = with_policy(
        collective_, [](auto policy) { return policy.spins(); },
        [&] { return over_hosts_ ? HostsWait{}.spins() : auto_.spins(); });
  }
  // Without a look at the clock, the hook or the team.
  bool may_act_unwatched() const {
    return settings.hook == nullptr && settings.timeout_ns <= 0 && stall_ns_ <= 0;
  }
  // Looks at the team and the clock, before each further step of a wait. kPending: the wait goes on. kOk: it
  // is over.
  template <class What>
  static Status check(Limits& limits, std::int64_t now, const What& what) {
    if (const Status broken = what.broken(); broken != Status::kOk) {
      // Others may have broken the team in a later call: if all signals for this call are here, it succeeds.
      if (what.has_port()) what.attend_port();
      return what.advance(0) ? Status::kOk : what.give_up(broken);
    }
    const std::int64_t waited_ns = now - limits.start;
    if (now >= limits.next_look) {
      const Status seen = what.look(waited_ns);
      if (seen != Status::kOk) return seen == Status::kRetracted ? seen : what.give_up(seen);
      limits.next_look = now + kLookNs;
    }
    // If standard error does not take the whole report, repeat it later.
    if (now >= limits.stall) limits.stall = what.report_stall(waited_ns) ? INT64_MAX : now + kSayAgainNs;
    return now >= limits.deadline ? what.time_out(waited_ns) : Status::kPending;
  }

  // If members outnumber CPUs, a wait is often a single yield. Such a wait reads the clock twice, before the
  // yield and after it.
  template <class Policy, class What>
  Status wait_with(Policy&& policy, const What& what, std::uint64_t call, Yielded yielded = {}) {
    std::int64_t now = os::now_ns();
    const bool has_port = what.has_port();
    Limits limits = limits_from(now, has_port);
    WaitView view;
    view.call = call;
    view.yielded = yielded;
    view.now_ns = now;
    bool asked = false;
    if constexpr (kMayMove<std::remove_cvref_t<Policy>>) asked = policy.asks_for_thread(call);
    if (asked) view.thread_id = os::thread_id(), view.cpu = os::current_cpu();
    const auto end = [&] {
      policy.done(view);
      spins_ = policy.spins();
      return what.finish();
    };
    for (;;) {
      view.waited_ns = now - limits.start;
      if (settings.hook != nullptr) {
        if (settings.hook(settings.hook_context) != 0) return Status::kInterrupted;
        // The hook may have given up the CPU. The awaited signal may have come meanwhile, so look before the
        // next yield.
        if (what.advance(0)) return end();
      }
      if (const Status checked = check(limits, now, what); checked != Status::kPending)
        return checked == Status::kOk ? end() : checked;
      const bool others = what.advance_others();
      // The hook and other requests may take long: last_action_ns is the action's time alone.
      if (settings.hook != nullptr || others) now = os::now_ns();
      // only while it spins, when it has time for this
      if (view.last_action == WaitAction::kSpin) view.expected_ns = what.expected_ns();
      view.last_action = policy.next(view);
      bool watched = false;
      switch (view.last_action) {
        case WaitAction::kSpin: watched = !has_port && !others && what.watch(); break;
        case WaitAction::kYield: os::yield(); break;
        case WaitAction::kPark:
          what.park(limits.longest_park(now, others), !others && limits.only_looks());
          break;
        case WaitAction::kMove:
          if constexpr (kMayMove<std::remove_cvref_t<Policy>>) policy.move(view, os::leave_cpu, os::join_cpu);
          break;
      }
      // Just before advance(), so that a line that lands now does not wait for a yield.
      if (has_port && (now >= limits.next_port || what.from_away())) {
        what.attend_port();
        limits.next_port = now + kPortNs;
      }
      const bool over = what.advance(watched ? 0 : policy.spins());
      const std::int64_t then = now;
      now = os::now_ns();
      view.now_ns = now;
      if (asked) view.cpu = os::current_cpu();
      view.last_action_ns = now - then;
      view.first = false;
      if (over) return end();
    }
  }

  std::uint32_t spins_;
  WaitKind collective_;
  bool over_hosts_;
  std::uint32_t awake_us_, beside_;
  std::uint64_t next_seldom_ = kSeldom;
  std::int64_t stall_ns_;
  std::uint32_t joined_ = 0;  // the number of members that auto_ is for
  Yielded yielded_;           // by over_soon(), just before wait()
  AutoWait auto_;
  PollInterval poll_interval_;
};

}  // namespace fermata::exec
#endif
