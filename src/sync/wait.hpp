// The default wait policy. It composes the simple ones (sync/wait_policies.hpp).
#ifndef FERMATA_SYNC_WAIT_HPP
#define FERMATA_SYNC_WAIT_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>

#include "sync/atomics.hpp"
#include "sync/company.hpp"
#include "sync/gathering.hpp"
#include "sync/pace.hpp"
#include "sync/spread.hpp"
#include "sync/wait_constants.hpp"
#include "sync/wait_policies.hpp"

namespace fermata {

// AutoWait composes the others by five rules:
// 1. A member that may have a CPU of its own spins for about what a park costs. Then it yields for as long as
//    a foreign time slice may take, if its waits are seldom so long and no quota rations its CPU time. Others
//    yield a few times, in a crowd as long as that spin. The last one that waits on its CPU may spin first.
//    Then they park. A crowd's members spread over their CPUs (sync/spread.hpp).
// 2. If stalls (waits of a foreign time slice) come so often that parks in every call would cost less, the
//    whole team parks without yields, in so many calls that their parks cost kHold times the stall.
// 3. Then, or once no call has taken long for kCalmNs, one member after the other yields once, as a scout. A
//    slow one renews the hold, and enough quick ones end it. If waits cost more in the hold than stalls did
//    before, it ends, and none begins before stalls have cost kRestNs; they count more often if calls take
//    longer than in that hold.
// 4. A member that shares its CPU with another one, where each may have its own, spins no more. Once its
//    waits have taken as long as a move to another CPU, it moves; later, if calls were not cheaper apart.
// 5. In a hold, members of a crowd gather on one CPU unless that makes calls slower, which the member that
//    began the hold measures from time to time.
//
// Why (docs/waiting.md has the bounds, and the rule in a simulated kernel):
// - A member that has parked must be woken. Its CPU belongs to others meanwhile, and the wake often brings it
//   to the waker's CPU, where both share what is left. Two members that yield until a foreign thread's slice
//   is over keep their CPUs, and use the rest of the time at the speed of spins.
// - Two members that were woken on one CPU go on sharing it: one of them sleeps at any time, and the kernel
//   moves only threads that wait for a CPU, and have not run just now.
// - Yields are the cheapest waits of a crowd that has its CPUs for itself: one switch, and nobody to wake.
//   But EEVDF, the scheduler since Linux 6.6, charges a whole time slice for a yield. Beside a thread that
//   always runs, that is milliseconds. A sleeper that is woken preempts that thread.
// - One slow yield says little: a hypervisor took the CPU, or a kernel thread ran. And beside threads of
//   another session (autogroup), yields are slow now and then, and still cheaper than parks. What counts is
//   how often: a stall once in E calls costs stall / E each, and parks of all members cost kParkNs each.
//
// In a team whose members wait for work (awake_us), a wait may be long on a quiet machine, too. There one
// slow yield or spin is a stall if it is a good part of the wait, and the rest of the wait is none. A member
// with a CPU of its own stays awake for awake_us, unless a yield is slow. It spins between its yields: these
// only tell whether somebody else wants its CPU. Where each call has more than kMostWorkNs of work, no hold
// begins: CPUs fall asleep, so parks cost more than kParkNs. A hold is judged by all the time of a call.
template <class A>
class BasicAutoWait : WaitConstants {
 public:
  constexpr BasicAutoWait() {}
  // who: a number that mostly differs between members. signs: null if they have none. awake_us: see below.
  BasicAutoWait(Room room, std::uint32_t members, BasicPace<A>* pace, std::uint32_t who = 0,
                BasicSigns<A>* signs = nullptr, std::uint32_t awake_us = 0)
      : pace_(pace),
        signs_(signs),
        members_(members < 2 ? 2 : members),
        awake_us_(awake_us),
        who_(static_cast<std::uint16_t>(who % members_)),
        number_(who % 64),
        room_(room) {
    if (is_crowded()) new (&gathering_) BasicGathering<A>;
  }

  // After a yield the slot is checked only once. Otherwise a signal that came during the yield would count as
  // one that came during the spin.
  std::uint32_t spins() const { return !spins_first() || (yields_ > 0 && !spins_again_) ? 0 : kSpins; }

  // In this call, the view has to say which thread waits, and on which CPU.
  bool asks_for_thread(std::uint64_t call) const {
    return signs_ != nullptr && (!is_crowded() || parks_until(call) != 0);
  }

  template <class Leave, class Join>  // as of leave_cpu() and of BasicGathering::join()
  void move(const WaitView& view, Leave&& leave, Join&& join) {
    could_move_ =
        is_crowded() ? gathering_.join(*signs_, view.call, join) : leave_cpu(*signs_, view.cpu, leave);
  }

  // In this call, a wait of a crowd begins with over_unwatched(): there is no hold that this member must
  // judge. In each call about one member has its turn, times its first yields there, and sees the stalls.
  // Seldom, or if members wait for work, it asks its policy at once: its wait counts members and CPUs, too.
  bool yields_first(std::uint64_t call) const {
    return is_crowded() && judges_at_ == 0 && parks_until(call) == 0;
  }
  // For some calls in a row: of two members that share a CPU, each comes last, and does not wait, in every
  // second call.
  bool is_its_turn(std::uint64_t call) const {
    return static_cast<std::uint32_t>(call / kTurn) % members_ == who_;
  }
  bool looks_around(std::uint64_t call) const {
    const auto turns = static_cast<std::uint32_t>(call / kTurn);
    return awake_us_ != 0 || (call % kTurn == 0 && turns / members_ % kTurns == 0);
  }
  // A wait is over that began then, in its turn.
  template <class Os>
  void timed(std::uint64_t call, std::int64_t begun_ns, std::int64_t now_ns, const Os& os) {
    begun_ns_ = begun_ns;
    acted_ns_ = now_ns - begun_ns;
    if (acted_ns_ > stall_ns()) return stalled({.now_ns = now_ns, .call = call});
    if (signs_ != nullptr) spread(*signs_, gathering_, *pace_, members_, call, now_ns, os);
  }
  BasicSigns<A>* signs() const { return signs_; }
  std::uint32_t number() const { return number_; }  // below 64: another one than most others'

  // True: this wait may park without next() and done(), which decide nothing else now, if parked_unwatched()
  // is called. cpu(): where it runs.
  template <class CurrentCpu>
  bool parks_unwatched(std::uint64_t call, CurrentCpu&& cpu) const {
    if (judges_at_ != 0 || call >= parks_until(call)) return false;
    if (signs_ == nullptr) return is_crowded() || skips_ > 0;
    return is_crowded() && !gathering_.strays(*signs_, cpu, call);
  }
  void parked_unwatched() { skips_ = skips_ > 0 ? skips_ - 1 : 0; }

  // Whatever the others have written: a wait parks after kYields yields and a bounded time (parks_now()).
  WaitAction next(const WaitView& view) {
    if (view.first) {
      begun_ns_ = view.now_ns - view.yielded.ns;
      acted_ns_ = view.yielded.ns;
      yields_ = view.yielded.times;
      scouting_ = looked_ = spins_again_ = false;
      waits_long_ = has_long_waits(view.call);
    }
    acted(view);
    const bool may_spin = view.waited_ns < kSpinNs + view.expected_ns;
    if (!is_crowded() && signs_ != nullptr && !looked_ && !(may_spin && spins_first())) look(view);
    const bool alone = spins_first();
    if (alone && may_spin) return WaitAction::kSpin;
    if (looked_ && company_.leaves(*signs_, view.cpu, view.call, view.now_ns)) return WaitAction::kMove;
    const std::uint64_t until = parks_until(view.call);
    if (may_gather() && until != 0 && gathering_.joins(*signs_, view)) return WaitAction::kMove;
    if (parks_now(view, alone)) return WaitAction::kPark;
    if (until != 0 && (view.call < until || !scouts(view.call, until))) return WaitAction::kPark;
    spins_again_ = awake_us_ != 0 && alone && room_ == Room::kOwn && view.last_action == WaitAction::kYield;
    return spins_again_ ? WaitAction::kSpin : yield();
  }

  // The awaited signal has come.
  void done(const WaitView& view) {
    if (view.first) {  // it came before the first action
      acted_ns_ = view.yielded.ns, begun_ns_ = view.now_ns - acted_ns_;
      return acted_ns_ > stall_ns() ? stalled(view) : void();
    }
    acted(view);
    if (awake_us_ != 0 && acted_ns_ < view.waited_ns / kGoodPart) acted_ns_ = 0;
    if (!is_crowded()) learn(view), company_.waited(acted_ns_);
    yields_ = 0;
    spins_again_ = false;
    judge(view);
    if (acted_ns_ > stall_ns()) stalled(view);
  }

 private:
  WaitAction yield() {
    if (yields_ < UINT8_MAX) ++yields_;
    return WaitAction::kYield;
  }
  // A wait has yielded enough. Beside foreign threads that always run, few yields take long.
  bool parks_now(const WaitView& view, bool alone) const {
    const bool yielded = yields_ >= kYields;
    if (is_crowded()) return waits_long_ || (yielded && view.waited_ns >= kSpinNs);
    if (!alone || room_ != Room::kOwn) return waits_long_ || yielded;
    const bool slow = view.last_action == WaitAction::kYield && view.last_action_ns > stall_ns();
    const std::int64_t awake_ns = awake_us_ != 0 ? std::int64_t{awake_us_} * 1'000 : kMostStallNs;
    return waits_long_ || slow || (yielded && view.waited_ns >= awake_ns);
  }
  void look(const WaitView& view) {
    company_.look(*signs_, view.thread_id, view.cpu, view.call, view.now_ns);
    looked_ = true;
  }
  bool is_crowded() const { return room_ == Room::kCrowded; }
  bool may_gather() const { return is_crowded() && signs_ != nullptr; }
  // This member may have a CPU of its own, which it has not shared with the awaited member lately.
  bool spins_first() const { return !is_crowded() && skips_ == 0 && !waits_long_ && !company_.is_close(); }

  std::uint64_t long_waits(std::uint64_t call) const {
    const std::uint64_t since = call - long_call_;
    return since < long_waits_ ? long_waits_ - since : 0;
  }
  bool has_long_waits(std::uint64_t call) const { return long_waits(call) >= kInVain * kLong; }
  void learn(const WaitView& view) {
    const bool slow = acted_ns_ > stall_ns();
    if (slow) {
      const std::uint64_t left = long_waits(view.call);
      long_waits_ = static_cast<std::uint8_t>(left < 255 - kLong ? left + kLong : 255);
      long_call_ = view.call;
    }
    waits_long_ = has_long_waits(view.call);
    const bool skipped = skips_ > 0;
    if (skipped) --skips_;
    if (skipped || slow) return;  // slow: foreign threads ran, wherever the awaited member was
    // company_ knows where it was, but not whether spins pay while the team parks.
    if (signs_ != nullptr && view.last_action == WaitAction::kYield) return;
    // If the awaited member came with the first yields, or a park, it has mostly waited for this CPU.
    if (view.last_action == WaitAction::kSpin || yields_ > kFew) in_vain_ = 0;
    else if (++in_vain_ == kInVain) skips_ = kSkips, in_vain_ = kInVain - 1;
  }

  // The least stall. No stall costs less than parks of all members in one call.
  std::int64_t stall_ns() const {
    const std::int64_t parks = kParkNs * members_, late = std::min(kLateCalls * parks, kMostLateNs);
    return std::max({kStallNs, is_crowded() ? late : 0, parks});
  }
  // Longer waits say nothing more: the program did something else.
  static std::int64_t counted(std::int64_t ns) { return ns < kMostStallNs ? ns : kMostStallNs; }
  // The calls that a team parks after such a stall.
  std::uint64_t hold_of(std::int64_t ns) const {
    return static_cast<std::uint64_t>(kHold * counted(ns) / (kParkNs * members_));
  }
  void hold(std::uint64_t call, std::int64_t ns) {
    // order: relaxed, both: hints
    A::store_relaxed(pace_->quick, std::uint32_t{0});
    A::store_relaxed(pace_->parks_until, call + hold_of(ns));  // order: see above
  }

  // Whether `until` is in the future: by `most` calls, and by kSpread if another member is ahead. If it is
  // later, a faulty member has written it.
  static bool is_ahead(std::uint64_t until, std::uint64_t call, std::uint64_t most) {
    return call < until && until - call <= most + kSpread;
  }
  // The call up to which members park; 0: there is no hold.
  std::uint64_t parks_until(std::uint64_t call) const {
    // order: relaxed: a hint; members may differ for a short time
    const std::uint64_t until = A::load_relaxed(pace_->parks_until);
    return call >= until || is_ahead(until, call, hold_of(kMostStallNs)) ? until : 0;
  }

  // True if this member yields as the scout of this call: all members in turn.
  bool scouts(std::uint64_t call, std::uint64_t until) {
    if (!is_its_turn(call)) return false;
    scouted_until_ = until;
    return scouting_ = true;
  }

  // The last action is over. If it was a scout's yield, its time decides how the hold goes on.
  void acted(const WaitView& view) {
    if (view.last_action == WaitAction::kMove) {
      if (is_crowded()) return gathering_.moved(view.last_action_ns, view.now_ns);
      in_vain_ = skips_ = 0;
      return company_.moved(*signs_, could_move_, view.last_action_ns, view.now_ns);
    }
    if (awake_us_ == 0) acted_ns_ += view.last_action_ns;
    else if (view.last_action != WaitAction::kPark) acted_ns_ = std::max(acted_ns_, view.last_action_ns);
    if (!scouting_ || view.last_action != WaitAction::kYield) return;
    scouting_ = false;
    if (view.last_action_ns > stall_ns()) {
      // The judge may be gone. What stalls cost before is not known now.
      if (judges_at_ == 0 && may_gather() && gathering_.lacks_judge(*signs_, view.call))
        judge_from(view, hold_of(view.last_action_ns), kMostStallNs);
      return hold(view.call, view.last_action_ns);
    }
    const std::uint32_t enough = members_ > kScouts ? members_ : kScouts;
    // order: relaxed throughout: hints
    if (A::add_relaxed(pace_->quick, std::uint32_t{1}) + 1 < enough) return;
    // order: see above; not a hold that a slow scout has renewed meanwhile
    A::compare_exchange_relaxed(pace_->parks_until, scouted_until_, std::uint64_t{0});
  }

  // The member that began a hold compares its waits since then with what stalls cost before, again and again
  // while the team parks.
  void judge(const WaitView& view) {
    const std::uint64_t call = view.call;
    if (judges_at_ != 0 && parks_until(call) == 0) judges_at_ = false_calms_ = 0;
    if (judges_at_ == 0) return;
    const std::int64_t took_ns = std::int64_t{in_us(view.now_ns) - looked_us_} * 1'000;
    look_for_calm(view);
    // A trial would not end before the scouts have come back.
    if (may_gather() && call < parks_until(call)) gathering_.judge(*signs_, who_, view);
    parked_ns_ += counted(awake_us_ != 0 ? took_ns : acted_ns_);
    if (call < judges_at_) return;
    const std::uint64_t calls = call - held_from_;
    judges_at_ = call + (judges_at_ - held_from_);
    held_from_ = call;
    if (parked_ns_ > std::int64_t{stalls_ns_} * static_cast<std::int64_t>(calls)) {
      const std::int64_t us = parked_ns_ / static_cast<std::int64_t>(calls) / 1'000;
      // order: relaxed throughout: hints
      A::store_relaxed(pace_->parked_us, static_cast<std::uint32_t>(us));
      // order: see above
      A::store_relaxed(pace_->rest_ns, kRestNs);
      A::store_relaxed(pace_->parks_until, std::uint64_t{0});  // order: see above
    }
    parked_ns_ = 0;
  }

  // If no call has had a stall for long, members send scouts. If one of these is slow, this takes twice as
  // long the next time. Work between calls counts as a stall.
  void look_for_calm(const WaitView& view) {
    const std::uint32_t now = in_us(view.now_ns), took = now - looked_us_;
    // This member has not waited in calls in which it came last.
    const auto calls = static_cast<std::uint16_t>(static_cast<std::uint16_t>(view.call) - looked_call_);
    const std::int64_t quiet_ns = stall_ns() + 2 * kParkNs * members_ * calls;
    looked_us_ = now;
    looked_call_ = static_cast<std::uint16_t>(view.call);
    if (acted_ns_ > stall_ns() || took > in_us(quiet_ns < kUnseenNs ? quiet_ns : kUnseenNs))
      calm_from_us_ = now;
    if (now - calm_from_us_ < in_us(kCalmNs << false_calms_)) return;
    calm_from_us_ = now;
    const std::uint64_t until = A::load_relaxed(pace_->parks_until);  // order: relaxed: a hint
    if (view.call + 1 >= until) return;
    if (false_calms_ < kMostFalse) ++false_calms_;  // unless the hold ends now
    // order: relaxed, both: hints
    A::store_relaxed(pace_->quick, std::uint32_t{0});
    A::compare_exchange_relaxed(pace_->parks_until, until, view.call + 1);  // order: see above
  }
  // The low bits, for times that are less than an hour apart.
  static constexpr std::uint32_t in_us(std::int64_t ns) { return static_cast<std::uint32_t>(ns / 1'000); }

  // Waits that overlap are one stall: all members wait for the same one, some in the next call.
  void stalled(const WaitView& view) {
    // order: relaxed throughout: hints
    const std::uint64_t busy = A::load_relaxed(pace_->busy_until);
    if (view.call == busy || is_ahead(busy, view.call, kFirstCalls)) return;
    if (parks_until(view.call) != 0) return;
    const std::int64_t before = A::load_relaxed(pace_->stalled_ns);  // order: see above
    // A time in the future is another machine's, or a faulty member's.
    if (begun_ns_ <= before && before < view.now_ns + kMostStallNs) return;
    // order: see above
    if (!A::compare_exchange_relaxed(pace_->stalled_ns, before, view.now_ns)) return;
    const std::uint64_t calls = view.call - A::load_relaxed(pace_->stalled_call);  // order: see above
    A::store_relaxed(pace_->stalled_call, view.call);                              // order: see above
    const std::uint64_t since = calls < 1 ? 1 : calls, parks = hold_of(acted_ns_);
    if (before <= 0 || since >= parks / kHold) return;
    const std::int64_t all_ns = view.now_ns - before, times = static_cast<std::int64_t>(since);
    if (awake_us_ != 0 && all_ns - acted_ns_ > kMostWorkNs * times) return;
    const std::int64_t rest = A::load_relaxed(pace_->rest_ns);  // order: see above
    if (rest > 0) {
      const std::int64_t rests = rest < kRestNs ? rest : kRestNs;
      A::store_relaxed(pace_->rest_ns, rests - acted_ns_ * doubt(since));  // order: see above
      return;
    }
    judge_from(view, parks, (counted(acted_ns_) + (awake_us_ != 0 ? all_ns - acted_ns_ : 0)) / times);
    hold(view.call, acted_ns_);
  }
  // How often the cost of a stall counts in a rest, if one came so many calls after the other: the more calls
  // take compared with the last hold, the sooner it ends.
  std::int64_t doubt(std::uint64_t since) const {
    const std::int64_t parked_ns =
        std::int64_t{A::load_relaxed(pace_->parked_us)} * 1'000;  // order: relaxed: a hint
    const std::int64_t times = parked_ns > 0 ? acted_ns_ / static_cast<std::int64_t>(since) / parked_ns : 1;
    return times < 1 ? 1 : times < kDoubt ? times : kDoubt;
  }
  // This member judges the hold every so many calls. stalls_ns: what stalls cost a call before.
  void judge_from(const WaitView& view, std::uint64_t calls, std::int64_t stalls_ns) {
    held_from_ = view.call;
    judges_at_ = view.call + calls;
    stalls_ns_ = static_cast<std::int32_t>(stalls_ns);
    looked_us_ = calm_from_us_ = in_us(view.now_ns);
    looked_call_ = static_cast<std::uint16_t>(view.call);
    parked_ns_ = 0;
    if (may_gather()) gathering_.begin(*signs_, who_, view.call, view.now_ns);
  }

  // Ordered by size, so that there are no gaps: each thread has an AutoWait in its static TLS, which takes
  // room from its stack.
  BasicPace<A>* pace_ = nullptr;
  BasicSigns<A>* signs_ = nullptr;
  std::int64_t begun_ns_ = 0;    // when this wait began,
  std::int64_t acted_ns_ = 0;    // and how long its actions have taken, but for moves and others' requests;
                                 // in a wait for work, the slowest action that is no park
  std::uint64_t long_call_ = 0;  // when long_waits_ last grew
  std::uint64_t scouted_until_ = 0;  // the hold after which this member was a scout
  // Of the hold that this member judges: from which call on its waits are added up in parked_ns_, in which
  // call it judges them (0: no hold), and what stalls cost a call before (stalls_ns_).
  std::uint64_t held_from_ = 0;
  std::uint64_t judges_at_ = 0;
  std::int64_t parked_ns_ = 0;
  union {
    BasicCompany<A> company_{};    // unless there are more members than CPUs
    BasicGathering<A> gathering_;  // otherwise
  };
  std::int32_t stalls_ns_ = 0;
  std::uint32_t looked_us_ = 0, calm_from_us_ = 0;  // its last look for calm; the last stall
  std::uint32_t members_ = 2;
  std::uint32_t awake_us_ = 0;  // members wait for work, and stay awake for so long; 0: they do not
  std::uint16_t who_ = 0;
  std::uint16_t looked_call_ = 0;  // as looked_us_, the low bits
  std::uint8_t in_vain_ = 0;       // waits in a row whose spin was fruitless
  std::uint8_t skips_ = 0;         // so many waits don't spin
  std::uint8_t long_waits_ = 0;    // grows by kLong with each stall, and falls by 1 with each call
  std::uint8_t yields_ = 0;        // in this wait; 255: or more
  bool scouting_ : 1 = false;      // the present yield is a scout's
  bool looked_ : 1 = false;        // company_ has, in this wait
  bool spins_again_ : 1 = false;   // the present spin follows a yield
  bool waits_long_ : 1 = false;    // many of this member's calls have long waits
  bool could_move_ : 1 = true;     // the last time
  std::uint8_t number_ : 6 = 0;
  Room room_ : 2 = Room::kOwn;
  std::uint8_t false_calms_ = 0;  // calms in a row whose scouts have not ended the hold
};
using AutoWait = BasicAutoWait<RealAtomics>;

}  // namespace fermata
#endif
