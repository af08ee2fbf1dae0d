// Wait policies: small types that decide what a waiting member does next. src/exec and src/anonymous act on
// the decision, and check again. src/exec also calls the idle hook between any two actions. So no policy can
// wait for ever without the hook.
//
//   policy  cache lines touched while waiting                used for
//   spin    the slot's line, in the local cache              members with a CPU each, no other load
//   yield   the slot's line, once per time slice             more members than CPUs, all of this team
//   park    doorbell and slot; none while asleep             shared machines, long waits
//   auto    as the one it chooses                            everything; the default
//   hosts   the slot's line, and the transport's lines       `auto` in teams over several hosts
#ifndef FERMATA_SYNC_WAIT_HPP
#define FERMATA_SYNC_WAIT_HPP

#include <atomic>
#include <cstdint>

namespace fermata {

enum class WaitKind : std::uint8_t { kAuto = 0, kSpin = 1, kYield = 2, kPark = 3 };

enum class WaitAction : std::uint8_t { kSpin, kYield, kPark };

// What a policy knows about a wait, its last action and its call.
struct WaitView {
  std::int64_t waited_ns = 0;
  std::int64_t last_action_ns = 0;
  std::int64_t expected_ns = 0;  // how long the others need to move the awaited data, once they have begun
  std::int64_t now_ns = 0;       // monotonic clock
  std::uint64_t call = 0;        // number of the waiting call: mostly the same at all members
  WaitAction last_action = WaitAction::kSpin;
  bool first = true;  // no action has been taken in this wait yet
};

struct SpinWait {
  std::uint32_t spins() const { return 2048; }  // pauses, each before a check: at first and after each action
  WaitAction next(const WaitView&) { return WaitAction::kSpin; }
  void done(const WaitView&) {}  // called once the awaited signal has come; not after an error
};

struct YieldWait {
  std::uint32_t spins() const { return 0; }
  WaitAction next(const WaitView&) { return WaitAction::kYield; }
  void done(const WaitView&) {}
};

struct ParkWait {
  std::uint32_t spins() const { return 0; }
  WaitAction next(const WaitView&) { return WaitAction::kPark; }
  void done(const WaitView&) {}
};

// What the members of a team have learned together about their CPUs. A member writes it only after a stall,
// and to send a scout; and before slow work (exclude_until()).
struct Pace {
  // In calls before this one members park, later they send scouts; 0: they may yield.
  std::atomic<std::uint64_t> parks_until;
  std::atomic<std::uint64_t> rest_until;    // no hold begins before this call: the last one gained nothing
  std::atomic<std::int64_t> stalled_ns;     // when the last stall ended,
  std::atomic<std::uint64_t> stalled_call;  // and the call of that wait
  std::atomic<std::uint64_t> scouted_call;  // the last call in which a scout was sent
  std::atomic<std::uint64_t> busy_until;    // the call up to which members work more than they wait
  std::atomic<std::uint32_t> quick;         // scouts that came back quickly since parks_until
};

// Resets it to the state before the first wait; call exclude_until() too.
inline void forget(Pace& pace) {
  // order: relaxed throughout: no other thread knows of it yet
  pace.parks_until.store(0, std::memory_order_relaxed);
  pace.rest_until.store(0, std::memory_order_relaxed);    // order: see above
  pace.stalled_ns.store(0, std::memory_order_relaxed);    // order: see above
  pace.stalled_call.store(0, std::memory_order_relaxed);  // order: see above
  pace.scouted_call.store(0, std::memory_order_relaxed);  // order: see above
  pace.quick.store(0, std::memory_order_relaxed);         // order: see above
}

// Long waits in the next few calls are no stalls. The maker of a team or barrier calls it with 0. Each member
// calls it with the number of its call, before slow work that all members do for the first time: they choose
// schedules and touch memory, which takes milliseconds.
inline void exclude_until(Pace& pace, std::uint64_t call) {
  constexpr std::uint64_t kFirstCalls = 4;
  // order: relaxed: a hint, and members mostly write the same value
  pace.busy_until.store(call + kFirstCalls, std::memory_order_relaxed);
}

// For teams over several hosts. The awaited line comes through a port that mostly waiting members drive. So a
// wait soon yields its CPU to members of its own process. On an oversubscribed host it also yields to
// processes whose ports must move data. It parks only when it gets long.
struct HostsWait {
  static constexpr std::int64_t kSpinNs = 20'000;
  static constexpr std::int64_t kYieldNs = 5'000'000;
  std::uint32_t spins() const { return 16; }
  WaitAction next(const WaitView& view) {
    if (view.waited_ns < kSpinNs) return WaitAction::kSpin;
    return view.waited_ns < kYieldNs ? WaitAction::kYield : WaitAction::kPark;
  }
  void done(const WaitView&) {}
};

// AutoWait composes the others by three rules:
// 1. A member that may have a CPU of its own spins for about what a park costs, unless its last spins were
//    fruitless; then it yields a few times, then it parks.
// 2. If stalls (waits of a foreign time slice) come so often that parks in every call would cost less, the
//    whole team parks without yields, in so many calls that their parks cost kHold times the stall.
// 3. Then one member after the other yields once, as a scout. A slow one renews the hold, a few quick ones
//    end it. If waits cost more in the hold than stalls did before, it ends, and none begins for a time.
//
// Why:
// - Who spins for as long as a park costs, and then parks, waits at most twice as long as with the
//   better of the two.
// - Yields are the cheapest waits of a crowd that has its CPUs for itself: one switch, and nobody to wake.
// But
//   EEVDF, the scheduler since Linux 6.6, charges a whole time slice for a yield. Beside a thread that always
//   runs, one yield in a call costs the team milliseconds. A sleeper that is woken preempts that thread.
// - One slow yield says little: a hypervisor took the CPU, or a kernel thread ran. And beside threads of
//   another session (autogroup), yields are slow now and then, and still cheaper than parks. What counts is
//   how often: a stall once in E calls costs stall / E each, and parks of all members cost kParkNs each.
// - A scout's yield may cost a slice of the foreign thread: kHold bounds its part of the time. Several scouts
//   at once would hold each other up.
// - A team whose members compute for milliseconds, and not equally long, has stalls, too. There parks gain
//   nothing, which only the comparison shows.
class AutoWait {
 public:
  AutoWait() = default;
  // crowded: more members than CPUs. who: a number that mostly differs between members.
  AutoWait(bool crowded, std::uint32_t members, Pace* pace, std::uint32_t who)
      : pace_(pace), members_(members < 2 ? 2 : members), who_(who % members_), crowded_(crowded) {}

  // After a yield the slot is checked only once. Otherwise a signal that came during the yield would count as
  // one that came during the spin.
  std::uint32_t spins() const { return crowded_ || skips_ > 0 || yields_ > 0 ? 0 : kSpins; }

  // So many yields may come before the first next() of a wait in this call, each before a look at the slot.
  // Nobody looks at the clock for them, since two looks cost a tenth of a switch. In each call about one
  // member has 0: it sees the stalls, which hold up all.
  std::uint32_t unwatched_yields(std::uint64_t call) const {
    // order: relaxed: a hint, as in next()
    const bool quiet = crowded_ && pace_->parks_until.load(std::memory_order_relaxed) == 0;
    return quiet && static_cast<std::uint32_t>(call) % members_ != who_ ? kUnwatched : 0;
  }

  WaitAction next(const WaitView& view) {
    if (view.first) {
      begun_ns_ = view.now_ns;
      yields_ = 0;
      scouting_ = false;
    }
    end_scouting(view);
    if (!crowded_ && skips_ == 0 && view.waited_ns < kSpinNs + view.expected_ns) return WaitAction::kSpin;
    // order: relaxed: a hint; members may differ for a short time
    const std::uint64_t until = pace_->parks_until.load(std::memory_order_relaxed);
    // No hold is longer than that of the longest stall: then a faulty member has written it.
    if (until != 0 && (view.call >= until || until - view.call <= hold_of(kMostStallNs)))
      return view.call >= until && scouts(view.call, until) ? WaitAction::kYield : WaitAction::kPark;
    if (yields_ >= kYields) return WaitAction::kPark;
    ++yields_;
    return WaitAction::kYield;
  }

  // The awaited signal has come.
  void done(const WaitView& view) {
    end_scouting(view);
    const bool spun = view.last_action == WaitAction::kSpin;
    if (skips_ > 0) --skips_;
    else if (spun) in_vain_ = 0;
    else if (!crowded_ && ++in_vain_ == kInVain) skips_ = kSkips, in_vain_ = kInVain - 1;
    yields_ = 0;
    const std::int64_t ns = view.now_ns - begun_ns_;
    judge(view.call, ns);
    if (!spun && ns > kStallNs) stalled(view, ns < kMostStallNs ? ns : kMostStallNs);
  }

 private:
  // Measured on 2 CPUs of Zen 4, Linux 6.18, unless said.
  static constexpr std::uint32_t kSpins = 256;     // pauses between two looks at the clock
  static constexpr std::int64_t kSpinNs = 20'000;  // about a park: two futex calls, two switches, a wake-up
  static constexpr std::uint8_t kInVain = 3;
  static constexpr std::uint8_t kSkips = 64;
  static constexpr std::uint8_t kYields = 16;  // of 1,000 waits in a crowd for itself, 999 end within these
  static constexpr std::uint32_t kUnwatched = 4;  // most waits in a crowd for itself end within these
  // Quiet yields took 0.13 ms at most (64 members), foreign time slices 2 to 4 ms.
  static constexpr std::int64_t kStallNs = 500'000;
  static constexpr std::int64_t kMostStallNs = 16'000'000;  // longer ones count as so long
  static constexpr std::int64_t kParkNs = 4'000;            // what parks cost a call, for each member
  static constexpr std::int64_t kHold = 32;                 // scouts take at most 1 / kHold of the time
  static constexpr std::uint32_t kScouts = 4;

  // The calls that a team parks after such a stall.
  std::uint64_t hold_of(std::int64_t ns) const {
    return static_cast<std::uint64_t>(kHold * ns / (kParkNs * members_));
  }
  void hold(std::uint64_t call, std::int64_t ns) {
    // order: relaxed, both: hints
    pace_->quick.store(0, std::memory_order_relaxed);
    pace_->parks_until.store(call + hold_of(ns), std::memory_order_relaxed);  // order: see above
  }

  // True if this member yields as the scout of this call. All members in turn, but some may never wait: the
  // same member again after some calls.
  bool scouts(std::uint64_t call, std::uint64_t until) {
    // order: relaxed, both: hints; the exchange lets only one member go in each call
    std::uint64_t last = pace_->scouted_call.load(std::memory_order_relaxed);
    if (last >= call && last - call < kSpread) return false;
    if (scouted_until_ == until && call < last + 4 * members_) return false;
    // order: see above
    if (!pace_->scouted_call.compare_exchange_strong(last, call, std::memory_order_relaxed)) return false;
    scouted_until_ = until;
    return scouting_ = true;
  }

  // The member that began a hold compares its waits since then with what stalls cost before, again and again
  // while the team parks.
  void judge(std::uint64_t call, std::int64_t ns) {
    if (judges_at_ == 0) return;
    parked_ns_ += ns;
    if (call < judges_at_) return;
    const std::uint64_t calls = call - held_from_;
    // order: relaxed throughout: hints
    const bool parks = pace_->parks_until.load(std::memory_order_relaxed) != 0;
    if (parks && parked_ns_ > stalls_ns_ * static_cast<std::int64_t>(calls)) {
      pace_->rest_until.store(call + hold_of(kMostStallNs), std::memory_order_relaxed);  // order: see above
      pace_->parks_until.store(0, std::memory_order_relaxed);                            // order: see above
    }
    judges_at_ = parks ? call + (judges_at_ - held_from_) : 0;
    held_from_ = call;
    parked_ns_ = 0;
  }

  void end_scouting(const WaitView& view) {
    if (!scouting_ || view.last_action != WaitAction::kYield) return;
    scouting_ = false;
    if (view.last_action_ns > kStallNs)
      return hold(view.call, view.last_action_ns < kMostStallNs ? view.last_action_ns : kMostStallNs);
    // Half of the members: some may always come last, and never wait.
    const std::uint32_t enough = members_ / 2 < kScouts ? members_ / 2 : kScouts;
    // order: relaxed throughout: hints
    if (pace_->quick.fetch_add(1, std::memory_order_relaxed) + 1 < enough) return;
    std::uint64_t until = scouted_until_;  // not a hold that a slow scout has renewed meanwhile
    pace_->parks_until.compare_exchange_strong(until, 0, std::memory_order_relaxed);  // order: see above
  }

  // Waits that overlap are one stall: all members wait for the same one, some in the next call.
  void stalled(const WaitView& view, std::int64_t ns) {
    // order: relaxed throughout: hints
    if (view.call <= pace_->busy_until.load(std::memory_order_relaxed)) return;
    if (pace_->parks_until.load(std::memory_order_relaxed) != 0) return;      // order: see above
    std::int64_t before = pace_->stalled_ns.load(std::memory_order_relaxed);  // order: see above
    if (begun_ns_ <= before) return;
    // order: see above
    if (!pace_->stalled_ns.compare_exchange_strong(before, view.now_ns, std::memory_order_relaxed)) return;
    // order: see above
    const std::uint64_t calls =
        view.call - pace_->stalled_call.exchange(view.call, std::memory_order_relaxed);
    if (before == 0 || calls >= kSpread * kSpread) return;
    const auto since = static_cast<std::int64_t>(calls < 1 ? 1 : calls);
    if (since * members_ * kParkNs >= ns) return;
    if (view.call < pace_->rest_until.load(std::memory_order_relaxed)) return;  // order: see above
    held_from_ = view.call;
    judges_at_ = view.call + hold_of(ns);
    stalls_ns_ = ns / since;
    parked_ns_ = 0;
    hold(view.call, ns);
  }

  static constexpr std::uint64_t kSpread = 1024;  // members are seldom more calls apart

  // Ordered by size, so that there are no gaps: each thread has an AutoWait in its static TLS, which takes
  // room from its stack.
  Pace* pace_ = nullptr;
  std::int64_t begun_ns_ = 0;        // when this wait began
  std::uint64_t scouted_until_ = 0;  // the hold after which this member was a scout
  // Of the hold that this member began: from which call on its waits are added up in parked_ns_, in which
  // call it judges them (0: no hold), and what stalls cost a call before.
  std::uint64_t held_from_ = 0;
  std::uint64_t judges_at_ = 0;
  std::int64_t stalls_ns_ = 0;
  std::int64_t parked_ns_ = 0;
  std::uint32_t members_ = 2;
  std::uint32_t who_ = 0;
  std::uint8_t in_vain_ = 0;  // waits in a row whose spin was fruitless
  std::uint8_t skips_ = 0;    // so many waits don't spin
  std::uint8_t yields_ = 0;   // in this wait
  bool scouting_ = false;     // the present yield is a scout's
  bool crowded_ = false;
};

}  // namespace fermata
#endif
