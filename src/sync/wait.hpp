// Wait policies: small types that say what a waiting member does next. They decide; exec/ acts, looks at the slot again,
// and calls the idle hook between any two actions, so a policy that waits for ever without the hook cannot be written.
//
//   policy  lines touched while waiting                     for
//   spin    the slot's, in the local cache                  members with a CPU each, nobody else there
//   yield   the slot's, once per turn on the CPU            more members than CPUs, all of this team
//   park    door and slot; two when armed, none asleep      shared machines, long waits
//   auto    as measured here and now                        everything; the default
//   hosts   the slot's; a transport's between any two       auto, in teams over several hosts
#ifndef FERMATA_SYNC_WAIT_HPP
#define FERMATA_SYNC_WAIT_HPP

#include <atomic>
#include <cstdint>

namespace fermata {

enum class WaitKind : std::uint8_t { kAuto = 0, kSpin = 1, kYield = 2, kPark = 3 };

enum class WaitAction : std::uint8_t { kSpin, kYield, kPark };

// What a policy may know: how long this wait has lasted, and what its last action cost.
struct WaitView {
  std::int64_t waited_ns = 0;
  std::int64_t last_action_ns = 0;
  std::int64_t expected_ns = 0;  // that the others need to move what is awaited, if they are at it
  std::int64_t now_ns = 0;       // monotonic
  std::uint64_t call = 0;        // number of the team's call that is waited in: the same at all members
  WaitAction last_action = WaitAction::kSpin;
  bool first = true;  // no action has been taken in this wait yet
};

struct SpinWait {
  std::uint32_t spins() const { return 2048; }
  WaitAction next(const WaitView&) { return WaitAction::kSpin; }
  void done(const WaitView&) {}
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

// What the members of a team tell each other about yielding; written only when a yield was found dear, or cheap again.
struct Pace {
  std::atomic<std::uint64_t> park_until;    // number of the call up to which the members park
  std::atomic<std::uint32_t> length;        // calls to park for at the next dear yield; 0: to park was not found to gain lately
  std::atomic<std::uint64_t> busy_until;    // number of the call up to which members have more to do than to wait
  std::atomic<std::uint64_t> judged;        // the last park_until of which is known whether parks gained: by who began them
  std::atomic<std::int64_t> parking_ns;     // that a call took while they did
  std::atomic<std::int64_t> rest_until_ns;  // nobody parks before, since they did not
};

// As if nobody had waited yet.
inline void forget(Pace& pace) {
  // order: relaxed at all: nobody else knows of it yet
  pace.park_until.store(0, std::memory_order_relaxed);
  pace.length.store(0, std::memory_order_relaxed);         // order: see above
  pace.judged.store(0, std::memory_order_relaxed);         // order: see above
  pace.rest_until_ns.store(0, std::memory_order_relaxed);  // order: see above
}

// By every member that comes, in `call`, to something that all do for the first time and that takes its time: its CPU's other members wait
// for it, and not for a stranger.
inline void excuse(Pace& pace, std::uint64_t call) {
  constexpr std::uint64_t kFirstCalls = 4;
  pace.busy_until.store(call + kFirstCalls, std::memory_order_relaxed);  // order: relaxed: a hint, and the same from all
}

// What is awaited comes through a port that every wait drives, so a wait gives its CPU to the process's own peers, on an
// oversubscribed host to those whose ports must move too, and sleeps only when it gets long.
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

// Enough CPUs: spin, then park. But schedulers put threads that wake each other on one CPU, and leave them there as long as
// one of them is ready at a time; then only giving the CPU up helps (two unpinned threads: 58 us an episode of spinning and parking,
// 0.7 of yielding). So a wait that gets long yields once, and a member whose waits are ended by that kBefore times in a row yields at
// once, until it parts from the other: it burns the CPU until the scheduler's balancer moves the other, which it does with no
// thread that has just run, to an idle one.
// Beside a co-tenant a member that has a CPU for itself does best to spin, since the other one comes back to its own; two that the
// co-tenant has driven to one CPU burn each other's time. So where yields are dear, spins in vain in one call after the other are
// given up for a number of calls that grows, and tried again after that (two unpinned threads, one burning process: to spin and
// park each time 58 us an episode, to park at once 6; pinned: 0.2 and 16).
// More members than CPUs: yield while a yield costs what the members' own turns cost. Where a co-tenant makes one kDear times
// dearer, the whole team parks (or, with enough CPUs, does not yield) for a number of calls, and yields again after that: each probe
// may cost a slice of the co-tenant's (3 ms, hundreds of parked episodes), so members must not probe one by one. Dear yields now and
// then say nothing (a hypervisor took the CPU, a kernel thread ran): only those that take a quarter of kEvidenceNs or longer. Nor do
// those of a team's first calls, and the first of each kind and size, in which members choose schedules and touch memory for the first
// time: milliseconds that say nothing of strangers (16 processes, alltoall: the team parked for thousands of calls, 370 us each
// instead of 55).
// Whether parks gain is measured, as what a call takes by the clock: parked, and yielding, with all that was dear, from the first dear
// yield on. To park costs 2 to 100 times a yield, so it loses beside a stranger that is there a third of the time. After parks that
// did not gain nobody parks for kRest times as long. Those that did go on at the next dear yield for four times as many calls, if
// calls then take longer than they took parked; once kFirstPark of them were faster that is forgotten. (One dear yield behind parks
// used to be enough for more of them: 16 processes beside compilers that came and went, an allreduce 150 us instead of 40 and an
// exscan 50 to 130 instead of 1.3, for up to 16384 calls.)
// A yield is dear from 400 us on, not from what a futex switch costs (3 to 50 us by `fermata profile`): one in between has run members of
// the team, whose turns a park would only put off.
// Tried and left: a state per member (16 members, one burning process: 2.5 times pthread_barrier instead of 1.3).
class AutoWait {
 public:
  AutoWait() = default;
  AutoWait(bool crowded, std::uint32_t turns, Pace* pace) : pace_(pace), turns_(turns < 1 ? 1 : turns), crowded_(crowded) {}

  // Behind a yield one look: what it did must not be mistaken for what came while spinning.
  std::uint32_t spins() const { return crowded_ || yielding_ || brief_ || (shared_ && !parting_) ? 0 : kSpins; }

  WaitAction next(const WaitView& view) {
    yields_ = view.call == call_ ? yields_ + 1 : 0;
    call_ = view.call;
    // order: relaxed, both: a hint; members may differ for a turn
    const std::uint64_t until = pace_->park_until.load(std::memory_order_relaxed);
    if (view.call >= until && until != seen_until_) parks_over(view, until);
    judge(view);
    const bool may_yield = view.call >= pace_->park_until.load(std::memory_order_relaxed);  // order: see above
    if (!crowded_) {
      if (view.first) brief_ = !may_yield && view.call < brief_until_;
      const WaitAction action = brief_ ? WaitAction::kPark : with_enough_cpus(view, may_yield);
      if (action == WaitAction::kPark && !may_yield && !brief_) in_vain(view.call);
      yielding_ = action == WaitAction::kYield;
      return action;
    }
    return may_yield && yields_ < kMostYields && view.waited_ns <= kYieldNs ? WaitAction::kYield : WaitAction::kPark;
  }

  // The wait is over.
  void done(const WaitView& view) {
    judge(view);
    if (crowded_) {
      // Cheap yields, and yet it took a slice: the stranger ran where the awaited member was.
      const std::int64_t whole = view.waited_ns + view.last_action_ns;
      if (view.last_action == WaitAction::kYield && view.last_action_ns < kFloorNs && whole > kSliceNs) dear(view.now_ns, whole, view.call);
      return;
    }
    const bool helped = view.last_action == WaitAction::kYield;
    if (!helped) in_row_ = 0;
    else if (in_row_ < kBefore) ++in_row_;
    shared_ = !parting_ && (shared_ || in_row_ >= kBefore);
    parting_ = yielding_ = false;
  }

 private:
  static constexpr std::uint32_t kSpins = 256;         // pauses before the clock is looked at
  static constexpr std::int64_t kSpinNs = 50'000;      // about the price of two futex switches and the wake-up behind them
  static constexpr std::int64_t kYieldNs = 5'000'000;  // yields that never find the signal: somebody is far behind
  static constexpr std::uint32_t kMostYields = 256;    // in one wait: with nobody else to run, 50 us of CPU time for nothing
  static constexpr std::uint16_t kBefore = 3;          // waits in a row that one yield ended: no coincidence
  static constexpr std::int64_t kPartNs = 8'000'000;   // two ticks of a slow clock
  static constexpr std::uint32_t kFirstPart = 16;      // waits for a member on the same CPU before the first parting
  static constexpr std::uint32_t kNextPart = 1024;     // the balancer takes 5 to 100 ms of burning, and a burn lasts about 3
  static constexpr std::uint32_t kParts = 16;          // so often before it is done ever more seldom
  static constexpr std::uint64_t kNear = 2;            // calls from one wait in vain to the next: no accident
  static constexpr std::uint16_t kFirstBrief = 16;
  static constexpr std::uint16_t kMostBrief = 1024;  // 50 us in so many calls
  static constexpr std::int64_t kDear = 8;           // a yield this many turns dear has run a stranger
  static constexpr std::int64_t kFloorNs = 400'000;  // schedulers' slices are longer; the own turns of 12 members to a CPU are not,
  static constexpr std::int64_t kTurnNs = 32'000;    // each of which may take so long
  static constexpr std::int64_t kSliceNs = 1'000'000;
  static constexpr std::int64_t kWindowNs = 50'000'000;    // dear yields that take a quarter of so long: somebody shares the CPU,
  static constexpr std::int64_t kLostNs = 5'000'000;       // if they take so much: two of 1 ms each, one behind the other, are common
  static constexpr std::int64_t kEvidenceNs = 20'000'000;  // and that much time, before it is said what a call takes while yielding
  static constexpr std::uint32_t kSoon = 64;               // cheap yields; co-tenants leave hardly one
  static constexpr std::uint32_t kFirstPark = 32;
  static constexpr std::uint32_t kMostPark = 16'384;
  static constexpr std::int64_t kMostParkNs = 500'000'000;  // of calls that are parked: the co-tenant may have gone; and of rest
  static constexpr std::int64_t kRest = 8;
  static constexpr std::uint64_t kSpread = 1024;  // calls that members are apart at most, about

  WaitAction with_enough_cpus(const WaitView& view, bool may_yield) {
    if (shared_ && view.first && ++shared_waits_ >= part_after_) {
      shared_waits_ = 0;
      part_after_ = ++parted_ < kParts ? kNextPart : parted_ < 2 * kParts ? 2 * part_after_ : part_after_;
      parting_ = pace_->length.load(std::memory_order_relaxed) == 0;  // order: a hint; beside a co-tenant no CPU is idle
    }
    if (parting_ && view.waited_ns < kPartNs) return WaitAction::kSpin;
    if (may_yield && (view.first || (shared_ && yields_ < kMostYields))) return WaitAction::kYield;
    return view.waited_ns < kSpinNs + view.expected_ns ? WaitAction::kSpin : WaitAction::kPark;
  }

  // Spun to the end, and then parked.
  void in_vain(std::uint64_t call) {
    if (call == vain_call_) return;
    vain_call_ = call;
    const bool again = call <= brief_until_ + kNear;
    const int longer = brief_length_ == 0 ? kFirstBrief : brief_length_ < kMostBrief ? brief_length_ * 4 : kMostBrief;
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
    if (ns_of_call(view.now_ns, since_ns_, view.call, since_call_) < pace_->parking_ns.load(std::memory_order_relaxed))
      pace_->length.store(0, std::memory_order_relaxed);  // order: a hint
  }

  static std::int64_t ns_of_call(std::int64_t now_ns, std::int64_t then_ns, std::uint64_t call, std::uint64_t then) {
    return (now_ns - then_ns) / (call > then ? static_cast<std::int64_t>(call - then) : 1);
  }

  // Who began them says whether they gained: others may be many calls ahead.
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
    pace_->judged.store(until, std::memory_order_relaxed);  // order: relaxed at all: hints
    if (parking >= yielding_ns_) {
      pace_->length.store(0, std::memory_order_relaxed);  // order: see above
      const std::int64_t rest = took < kMostParkNs / kRest ? kRest * took : kMostParkNs;
      pace_->rest_until_ns.store(view.now_ns + rest, std::memory_order_relaxed);  // order: see above
      return;
    }
    pace_->parking_ns.store(parking, std::memory_order_relaxed);                                  // order: see above
    const std::int64_t longer = 4 * std::int64_t{pace_->length.load(std::memory_order_relaxed)};  // order: see above
    const std::int64_t by_time = kMostParkNs / (parking > 0 ? parking : 1), most = by_time < kMostPark ? by_time : kMostPark;
    const std::int64_t next = longer < most ? longer : most > kFirstPark ? most : kFirstPark;
    pace_->length.store(static_cast<std::uint32_t>(next), std::memory_order_relaxed);  // order: see above
  }

  // Its own ones count: of the dear yields of several members it cannot be told whether one stranger's turn made them.
  // Where a co-tenant is known, one that comes as soon as the team yields again is enough.
  void dear(std::int64_t now_ns, std::int64_t ns, std::uint64_t call) {
    if (call <= pace_->busy_until.load(std::memory_order_relaxed)) return;  // order: a hint
    const bool at_once = cheap_ < kSoon;
    cheap_ = 0;
    const std::uint64_t until = pace_->park_until.load(std::memory_order_relaxed);  // order: a hint
    // order: a hint. Who is to say whether the last parks gained may have left since.
    if (pace_->judged.load(std::memory_order_relaxed) != until && call < until + kSpread) return;
    if (at_once && pace_->length.load(std::memory_order_relaxed) > 0) {  // order: a hint
      const std::int64_t yielding = ns_of_call(now_ns, since_ns_, call, since_call_);
      if (yielding > pace_->parking_ns.load(std::memory_order_relaxed)) return park_all(now_ns, call, yielding);  // order: a hint
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
    if (now_ns >= pace_->rest_until_ns.load(std::memory_order_relaxed)) park_all(now_ns, call, yielding);  // order: a hint
  }

  void park_all(std::int64_t now_ns, std::uint64_t call, std::int64_t yielding) {
    // order: relaxed at all: hints; the exchange makes one member of several the one who begins
    std::uint64_t until = pace_->park_until.load(std::memory_order_relaxed);
    if (until > call) return;
    const std::uint32_t before = pace_->length.load(std::memory_order_relaxed);  // order: see above
    const std::uint32_t length = before < kFirstPark ? kFirstPark : before;
    if (!pace_->park_until.compare_exchange_strong(until, call + length, std::memory_order_relaxed)) return;  // order: see above
    pace_->length.store(length, std::memory_order_relaxed);                                                   // order: see above
    began_until_ = call + length;
    began_ns_ = now_ns;
    began_call_ = call;
    yielding_ns_ = yielding;
  }

  // Ordered by size: a thread has one of these in its static memory, which comes out of its stack.
  Pace* pace_ = nullptr;
  std::int64_t switch_ns_ = 0;     // the cheapest yield seen
  std::uint64_t call_ = 0;         // waited in last
  std::int64_t window_ns_ = 0;     // since when dear yields are counted
  std::int64_t lost_ns_ = 0;       // in them
  std::uint64_t window_call_ = 0;  // and in which call that was
  std::uint64_t began_until_ = 0;  // of the last parks that it began,
  std::int64_t began_ns_ = 0;      // when,
  std::uint64_t began_call_ = 0;   // with which call,
  std::int64_t yielding_ns_ = 0;   // and what a call took before
  std::uint64_t seen_until_ = 0;   // the last parks that this member knows to be over
  std::int64_t since_ns_ = 0;      // when it knew,
  std::uint64_t since_call_ = 0;   // and in which call
  std::uint64_t vain_call_ = 0;    // spun in vain last
  std::uint64_t brief_until_ = 0;  // up to this call waits don't spin
  std::uint32_t turns_ = 1;        // members per CPU: how many switches a fair yield may take
  std::uint32_t cheap_ = 0;        // yields since the last dear one
  std::uint32_t dears_ = 0;        // in the window
  std::uint32_t yields_ = 0;       // in call_
  std::uint32_t shared_waits_ = 0;
  std::uint32_t part_after_ = kFirstPart;
  std::uint32_t parted_ = 0;
  std::uint16_t brief_length_ = 0;
  std::uint16_t in_row_ = 0;  // waits that a yield ended
  bool crowded_ = false;
  bool shared_ = false;    // the awaited member is on this member's CPU
  bool parting_ = false;   // this wait burns
  bool brief_ = false;     // this wait, and the looks before the next one, don't spin
  bool yielding_ = false;  // the last action of this wait was to yield
};

}  // namespace fermata
#endif
