// Wait policies: small types that decide what a waiting member does next. src/exec and src/anonymous act on
// the decision, and check again. (With `auto`, and more threads than CPUs, src/anonymous parks after some
// yields.) src/exec also calls the idle hook between any two actions. So no policy can wait for ever without
// the hook.
//
//   policy  cache lines touched while waiting                used for
//   spin    the slot's line, in the local cache              members with a CPU each, no other load
//   yield   the slot's line, once per time slice             more members than CPUs, all of this team
//   park    doorbell and slot; none while asleep             shared machines, long waits
//   auto    depends on what it measures                      everything; the default
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

// What the members of a team tell each other about yields. A yield is expensive if another program's thread
// (a stranger) ran during it.
// Members write a Pace seldom: when a yield was expensive, when parks are over, when yields are cheap again,
// and before slow work (exclude_until()).
struct Pace {
  // Members do not yield in calls with a lower number. If members outnumber CPUs, they park in these calls.
  std::atomic<std::uint64_t> park_until;
  // For how many calls the present or the next parks last. 0: no parks now, and no known gain from parking.
  std::atomic<std::uint32_t> length;
  std::atomic<std::uint64_t> busy_until;  // number of the call up to which members work more than they wait
  // The last park_until for which the member that set it has found out whether parking gained.
  std::atomic<std::uint64_t> judged;
  std::atomic<std::int64_t> parking_ns;  // how long a call took while the members parked
  // No member makes the team park before this time, because parking gained nothing.
  std::atomic<std::int64_t> rest_until_ns;
};

// Resets it to the state before the first wait; call exclude_until() too.
inline void forget(Pace& pace) {
  // order: relaxed throughout: no other thread knows of it yet
  pace.park_until.store(0, std::memory_order_relaxed);
  pace.length.store(0, std::memory_order_relaxed);         // order: see above
  pace.judged.store(0, std::memory_order_relaxed);         // order: see above
  pace.rest_until_ns.store(0, std::memory_order_relaxed);  // order: see above
}

// Excludes the yields of the next few calls from the check for expensive yields. The maker of a team or
// barrier calls it with 0. Each member calls it with the number of its call, before slow work that all
// members do for the first time. The other members on its CPU then wait for that work, not for a stranger.
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

// AutoWait measures the cost of yields and parks, and chooses the cheaper one.
//
// Enough CPUs: spin, then park. But schedulers put threads that wake each other on one CPU. The threads stay
// there as long as only one of them is ready at a time. Then only giving up the CPU helps. Two unpinned
// threads take 58 us an episode if they spin and park, and 0.7 us if they yield. So:
// - A wait that gets long yields once.
// - If that yield ends the wait, kBefore times in a row, the member shares its CPU with the awaited one. From
//   then on the member yields at once.
// - From time to time the member tries to part from the awaited one: it spins without a yield in one wait.
//   Then the scheduler's balancer moves the other thread to an idle CPU. The balancer does not move a thread
//   that has just run.
//
// A co-tenant is a stranger that needs the same CPUs all the time. A member that has a CPU for itself spins
// beside a co-tenant: the awaited member comes back to its own CPU. If the co-tenant drives two members onto
// one CPU, they waste each other's time. So if yields are expensive and two calls close together spin without
// success, the member parks at once for a number of calls. Then it tries to spin again. The number grows.
// Example: two unpinned threads beside one busy process. They take 58 us an episode if they spin and park
// each time, and 6 us if they park at once. Pinned threads take 0.2 us if they spin and 16 us if they park.
//
// More members than CPUs: yield while a yield costs no more than the members' own time on the CPU. If a
// co-tenant makes a yield kDear times as expensive, the whole team parks for a number of calls, then yields
// again. With enough CPUs, the team only stops yielding for these calls. Each trial yield may cost a time
// slice of the co-tenant (3 ms, hundreds of parked episodes). So members must not try one by one.
//
// Some expensive yields say nothing about co-tenants and do not count:
// - A single expensive yield: a hypervisor took the CPU, or a kernel thread ran. At least two expensive
//   yields must take kLostNs together and a quarter of the observed time, and that time must be kEvidenceNs
//   or longer.
// - Yields in a team's first calls, and in the first call of each kind on blocks (exclude_until()).
//   Members then choose schedules and touch memory for the first time, which takes milliseconds. If these
//   yields counted, 16 processes in alltoall would park for thousands of calls, at 370 us each instead of 55.
//
// The team measures whether parking gains. It compares how long a call takes while members park with how long
// it takes while they yield. A park costs 2 to 100 times as much as a yield, so parking loses beside a
// stranger that runs a third of the time.
// - If parking gained nothing, the team yields for kRest times as long, but at most for kMostParkNs.
// - If parking gained, the next expensive yield starts four times as many parked calls, up to a limit. It
//   does so only if calls then take longer than parked ones. Without this condition, 16 processes beside
//   short compiler runs are slow for up to 16384 calls. For example, an allreduce takes 150 us instead of 40,
//   an exscan 50 to 130 instead of 1.3.
// - Once kSoon cheap yields in a row and kFirstPark calls have come, and these calls were faster than parked
//   ones, the team forgets the gain.
//
// A yield is expensive only from 400 us on (kFloorNs), not from the cost of a futex switch (3 to 50 us by
// `fermata profile`). A yield between the two has run members of the team, and a park would only delay these
// members.
//
// Tried: a state per member (16 members, one busy process: 2.5 times as long as pthread_barrier instead of
// 1.3).
class AutoWait {
 public:
  AutoWait() = default;
  AutoWait(bool crowded, std::uint32_t turns, Pace* pace)
      : pace_(pace), turns_(turns < 1 ? 1 : turns), crowded_(crowded) {}

  // After a yield the slot is checked only once. Otherwise a signal that came during the yield would count as
  // one that came during the spin.
  std::uint32_t spins() const {
    return crowded_ || yielding_ || brief_ || (shared_ && !parting_) ? 0 : kSpins;
  }

  WaitAction next(const WaitView& view) {
    yields_ = view.call == call_ ? yields_ + 1 : 0;
    call_ = view.call;
    // order: relaxed, both: a hint; members may differ for a short time
    const std::uint64_t until = pace_->park_until.load(std::memory_order_relaxed);
    if (view.call >= until && until != seen_until_) parks_over(view, until);
    judge(view);
    // order: see above
    const bool may_yield = view.call >= pace_->park_until.load(std::memory_order_relaxed);
    if (!crowded_) {
      if (view.first) brief_ = !may_yield && view.call < brief_until_;
      const WaitAction action = brief_ ? WaitAction::kPark : with_enough_cpus(view, may_yield);
      if (action == WaitAction::kPark && !may_yield && !brief_) in_vain(view.call);
      yielding_ = action == WaitAction::kYield;
      return action;
    }
    return may_yield && yields_ < kMostYields && view.waited_ns <= kYieldNs ? WaitAction::kYield
                                                                            : WaitAction::kPark;
  }

  // The awaited signal has come.
  void done(const WaitView& view) {
    judge(view);
    if (crowded_) {
      // The yields were cheap, but the wait took a time slice: perhaps a stranger ran on the awaited member's
      // CPU. So the wait counts as an expensive yield.
      const std::int64_t whole = view.waited_ns + view.last_action_ns;
      if (view.last_action == WaitAction::kYield && view.last_action_ns < kFloorNs && whole > kSliceNs)
        dear(view.now_ns, whole, view.call);
      return;
    }
    const bool helped = view.last_action == WaitAction::kYield;
    if (!helped) in_row_ = 0;
    else if (in_row_ < kBefore) ++in_row_;
    shared_ = !parting_ && (shared_ || in_row_ >= kBefore);
    parting_ = yielding_ = false;
  }

 private:
  static constexpr std::uint32_t kSpins = 256;  // pauses before the clock is read
  // About the cost of two futex switches and the wake-up after them.
  static constexpr std::int64_t kSpinNs = 50'000;
  static constexpr std::int64_t kYieldNs = 5'000'000;  // longer waits park: the awaited member is late
  // Yields in one call; spins and parks count, too. If no other thread can run, so many yields burn 50 us of
  // CPU time for nothing.
  static constexpr std::uint32_t kMostYields = 256;
  static constexpr std::uint16_t kBefore = 3;         // waits in a row that one yield ended
  static constexpr std::int64_t kPartNs = 8'000'000;  // longest spin to part: 2 slow kernel ticks
  // Waits for a member on the same CPU before the first attempt to part.
  static constexpr std::uint32_t kFirstPart = 16;
  // The same later. The balancer needs 5 to 100 ms of spinning: mostly several attempts, of about 3 ms each.
  static constexpr std::uint32_t kNextPart = 1024;
  static constexpr std::uint32_t kParts = 16;  // after this many attempts the interval grows
  static constexpr std::uint64_t kNear = 2;    // fruitless spins this many calls apart are no accident
  static constexpr std::uint16_t kFirstBrief = 16;
  // At most this many calls park at once before the next trial spin, which costs 50 us.
  static constexpr std::uint16_t kMostBrief = 1024;
  // A yield is expensive if it takes longer than turns_ x this many times the cheapest one, turns_ x kTurnNs,
  // and kFloorNs.
  static constexpr std::int64_t kDear = 8;
  // A stranger's time slice is longer; 12 members that run one after the other on one CPU take less.
  static constexpr std::int64_t kFloorNs = 400'000;
  static constexpr std::int64_t kTurnNs = 32'000;  // one member may run so long before it yields
  static constexpr std::int64_t kSliceNs = 1'000'000;
  // Expensive yields are added up over at most this time.
  static constexpr std::int64_t kWindowNs = 50'000'000;
  // Expensive yields must add up to this: two of 1 ms each, one after the other, are common.
  static constexpr std::int64_t kLostNs = 5'000'000;
  // Calls must be observed for this long before the time of a yielding call is known.
  static constexpr std::int64_t kEvidenceNs = 20'000'000;
  static constexpr std::uint32_t kSoon = 64;  // this many cheap yields in a row: no co-tenant is there
  static constexpr std::uint32_t kFirstPark = 32;
  static constexpr std::uint32_t kMostPark = 16'384;
  // The longest time to park, since the co-tenant may be gone; also the longest rest.
  static constexpr std::int64_t kMostParkNs = 500'000'000;
  static constexpr std::int64_t kRest = 8;
  static constexpr std::uint64_t kSpread = 1024;  // members are seldom more calls apart

  WaitAction with_enough_cpus(const WaitView& view, bool may_yield) {
    if (shared_ && view.first && ++shared_waits_ >= part_after_) {
      shared_waits_ = 0;
      part_after_ = ++parted_ < kParts ? kNextPart : parted_ < 2 * kParts ? 2 * part_after_ : part_after_;
      // order: a hint; beside a co-tenant no CPU is idle
      parting_ = pace_->length.load(std::memory_order_relaxed) == 0;
    }
    if (parting_ && view.waited_ns < kPartNs) return WaitAction::kSpin;
    if (may_yield && (view.first || (shared_ && yields_ < kMostYields))) return WaitAction::kYield;
    return view.waited_ns < kSpinNs + view.expected_ns ? WaitAction::kSpin : WaitAction::kPark;
  }

  // This wait spun without success and then parked.
  void in_vain(std::uint64_t call) {
    if (call == vain_call_) return;
    vain_call_ = call;
    const bool again = call <= brief_until_ + kNear;
    const int longer = brief_length_ == 0           ? kFirstBrief
                       : brief_length_ < kMostBrief ? brief_length_ * 4
                                                    : kMostBrief;
    brief_length_ = static_cast<std::uint16_t>(again ? longer : 0);
    brief_until_ = call + brief_length_;
  }

  void judge(const WaitView& view) {
    if (view.first || view.last_action != WaitAction::kYield) return;
    const std::int64_t ns = view.last_action_ns;
    const std::int64_t fair = (switch_ns_ * kDear > kTurnNs ? switch_ns_ * kDear : kTurnNs) * turns_;
    if (ns > (fair > kFloorNs ? fair : kFloorNs)) return dear(view.now_ns, ns, view.call);
    if (ns < switch_ns_ || switch_ns_ == 0) switch_ns_ = ns;
    if (++cheap_ < kSoon || view.call < since_call_ + kFirstPark) return;
    // order: relaxed, both: hints
    if (pace_->length.load(std::memory_order_relaxed) == 0) return;
    // order: see above
    if (ns_of_call(view.now_ns, since_ns_, view.call, since_call_) <
        pace_->parking_ns.load(std::memory_order_relaxed))
      pace_->length.store(0, std::memory_order_relaxed);  // order: a hint
  }

  static std::int64_t ns_of_call(std::int64_t now_ns, std::int64_t then_ns, std::uint64_t call,
                                 std::uint64_t then) {
    return (now_ns - then_ns) / (call > then ? static_cast<std::int64_t>(call - then) : 1);
  }

  // The member that began the parks judges whether they gained; others may be many calls ahead.
  void parks_over(const WaitView& view, std::uint64_t until) {
    const bool mine = until == began_until_;
    const std::int64_t took = view.now_ns - began_ns_;
    const std::int64_t parking = ns_of_call(view.now_ns, began_ns_, view.call, began_call_);
    seen_until_ = until;
    since_ns_ = view.now_ns;
    since_call_ = view.call;
    cheap_ = dears_ = 0;
    window_ns_ = 0;
    if (!mine) return;
    pace_->judged.store(until, std::memory_order_relaxed);  // order: relaxed throughout: hints
    if (parking >= yielding_ns_) {
      pace_->length.store(0, std::memory_order_relaxed);  // order: see above
      const std::int64_t rest = took < kMostParkNs / kRest ? kRest * took : kMostParkNs;
      pace_->rest_until_ns.store(view.now_ns + rest, std::memory_order_relaxed);  // order: see above
      return;
    }
    // order: see above
    pace_->parking_ns.store(parking, std::memory_order_relaxed);
    // order: see above
    const std::int64_t longer = 4 * std::int64_t{pace_->length.load(std::memory_order_relaxed)};
    const std::int64_t by_time = kMostParkNs / (parking > 0 ? parking : 1),
                       most = by_time < kMostPark ? by_time : kMostPark;
    const std::int64_t next = longer < most ? longer : most > kFirstPark ? most : kFirstPark;
    pace_->length.store(static_cast<std::uint32_t>(next), std::memory_order_relaxed);  // order: see above
  }

  // Each member counts only its own expensive yields. If several members have one each, a single time slice
  // of a stranger may have caused them all. If a co-tenant is known, one expensive yield is enough, if it
  // comes as soon as the team yields again.
  void dear(std::int64_t now_ns, std::int64_t ns, std::uint64_t call) {
    if (call <= pace_->busy_until.load(std::memory_order_relaxed)) return;  // order: a hint
    const bool at_once = cheap_ < kSoon;
    cheap_ = 0;
    const std::uint64_t until = pace_->park_until.load(std::memory_order_relaxed);  // order: a hint
    // order: a hint. The member that judges the last parks may have left, so after kSpread calls nobody waits
    // for its judgement.
    if (pace_->judged.load(std::memory_order_relaxed) != until && call < until + kSpread) return;
    if (at_once && pace_->length.load(std::memory_order_relaxed) > 0) {  // order: a hint
      const std::int64_t yielding = ns_of_call(now_ns, since_ns_, call, since_call_);
      // order: a hint
      if (yielding > pace_->parking_ns.load(std::memory_order_relaxed))
        return park_all(now_ns, call, yielding);
    }
    const std::int64_t begin = now_ns - ns;
    if (begin - window_ns_ > kWindowNs) {
      window_ns_ = begin;
      window_call_ = call;
      lost_ns_ = 0;
      dears_ = 0;
    }
    lost_ns_ += ns;
    const std::int64_t window = now_ns - window_ns_;
    if (++dears_ < 2 || lost_ns_ < kLostNs || window < kEvidenceNs || 4 * lost_ns_ < window) return;
    const std::int64_t yielding = ns_of_call(now_ns, window_ns_, call, window_call_);
    window_ns_ = 0;
    dears_ = 0;
    // order: a hint
    if (now_ns >= pace_->rest_until_ns.load(std::memory_order_relaxed)) park_all(now_ns, call, yielding);
  }

  void park_all(std::int64_t now_ns, std::uint64_t call, std::int64_t yielding) {
    // order: relaxed throughout: hints; the exchange lets only one member begin the parks
    std::uint64_t until = pace_->park_until.load(std::memory_order_relaxed);
    if (until > call) return;
    const std::uint32_t before = pace_->length.load(std::memory_order_relaxed);  // order: see above
    const std::uint32_t length = before < kFirstPark ? kFirstPark : before;
    // order: see above
    if (!pace_->park_until.compare_exchange_strong(until, call + length, std::memory_order_relaxed)) return;
    pace_->length.store(length, std::memory_order_relaxed);  // order: see above
    began_until_ = call + length;
    began_ns_ = now_ns;
    began_call_ = call;
    yielding_ns_ = yielding;
  }

  // Ordered by size, so that there are no gaps: each thread has an AutoWait in its static TLS, which takes
  // room from its stack.
  Pace* pace_ = nullptr;
  std::int64_t switch_ns_ = 0;     // the cheapest yield seen
  std::uint64_t call_ = 0;         // the call of the last wait
  std::int64_t window_ns_ = 0;     // expensive yields are added up from this time on
  std::int64_t lost_ns_ = 0;       // time of the expensive yields since then
  std::uint64_t window_call_ = 0;  // the call at that time
  // The last parks that this member began: their park_until, the time and the call at which they began, and
  // how long a call took before.
  std::uint64_t began_until_ = 0;
  std::int64_t began_ns_ = 0;
  std::uint64_t began_call_ = 0;
  std::int64_t yielding_ns_ = 0;
  // The last parks that this member has seen end: their park_until, and the time and the call at which this
  // member saw it.
  std::uint64_t seen_until_ = 0;
  std::int64_t since_ns_ = 0;
  std::uint64_t since_call_ = 0;
  std::uint64_t vain_call_ = 0;    // the last call with a fruitless spin
  std::uint64_t brief_until_ = 0;  // before this call, waits that may not yield don't spin either
  std::uint32_t turns_ = 1;        // members per CPU: how many switches a fair yield may take
  std::uint32_t cheap_ = 0;        // yields since the last expensive one
  std::uint32_t dears_ = 0;        // expensive yields that are added up in lost_ns_
  std::uint32_t yields_ = 0;       // actions in call_ after its first one
  std::uint32_t shared_waits_ = 0;
  std::uint32_t part_after_ = kFirstPart;
  std::uint32_t parted_ = 0;
  std::uint16_t brief_length_ = 0;
  std::uint16_t in_row_ = 0;  // waits in a row that a yield ended
  bool crowded_ = false;      // more members than CPUs
  bool shared_ = false;       // the awaited member is on this member's CPU
  bool parting_ = false;      // this wait spins to part from the awaited member
  bool brief_ = false;        // this wait, and the checks before the next one, don't spin
  bool yielding_ = false;     // the last action of this wait was to yield
};

}  // namespace fermata
#endif
