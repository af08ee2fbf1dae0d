// Gathering: the members of a crowd run on one CPU while they park, if their calls take less time there.
//
// Beside foreign threads that always run, a member that is woken on a CPU mostly preempts them there. So
// members on one CPU follow each other at the cost of switches. Members on several CPUs wait for each other,
// and each of them for foreign threads. But on one CPU they also work one after the other. What is cheaper
// depends on the program and on the load, so one member, the judge of a hold (sync/wait.hpp), measures it: it
// lets the members gather and disperse in turn, and keeps them together unless that is slower. A gathered
// member that finds itself elsewhere moves back. Nothing else holds it there: its affinity stays what it was.
#ifndef FERMATA_SYNC_GATHERING_HPP
#define FERMATA_SYNC_GATHERING_HPP

#include <cstdint>

#include "sync/atomics.hpp"
#include "sync/company.hpp"
#include "sync/wait_policies.hpp"

namespace fermata {

// What a member knows about it. Whatever BasicSigns contains, a member moves for 1 / kMoveRests of its
// time at most, also to spread (sync/spread.hpp).
template <class A>
class BasicGathering {
 public:
  // Members gather, and this one is elsewhere. cpu(): where it runs.
  template <class CurrentCpu>
  bool strays(const BasicSigns<A>& signs, CurrentCpu&& cpu, std::uint64_t call) const {
    const std::int32_t target = target_of(signs, call);
    return target >= 0 && target != refused_ && target != cpu();
  }
  // True: it shall move now, in this wait.
  bool joins(const BasicSigns<A>& signs, const WaitView& view) const {
    return view.now_ns >= next_move_ns_ && strays(signs, [&] { return view.cpu; }, view.call);
  }
  // Moves this thread there, if it can. Os(cpu) moves it to that CPU.
  template <class Os>
  bool join(const BasicSigns<A>& signs, std::uint64_t call, Os&& os) {
    const std::int32_t target = target_of(signs, call);
    if (target < 0 || os(target)) return true;
    refused_ = static_cast<std::int16_t>(target);
    return false;
  }
  bool may_move(std::int64_t now) const { return now >= next_move_ns_; }
  // False: there is no such CPU, or it could not spread to one with this number modulo kSigned.
  bool may_spread_to(std::int32_t cpu) const {
    return cpu >= 0 && cpu < kMostCpus && (not_to_ >> static_cast<std::uint32_t>(cpu) % kSigned & 1) == 0;
  }
  void spreads_not_to(std::int32_t cpu) {
    not_to_ = static_cast<std::uint8_t>(not_to_ | 1U << static_cast<std::uint32_t>(cpu) % kSigned);
  }
  // It has tried to, which took so long, until now.
  void moved(std::int64_t ns, std::int64_t now) {
    next_move_ns_ = now + kMoveRests * (ns < kLeastNs ? kLeastNs : ns < kMostNs ? ns : kMostNs);
  }

  // This member is the judge from now on. Members do not gather at first.
  void begin(BasicSigns<A>& signs, std::uint32_t who, std::uint64_t call, std::int64_t now) {
    decide(signs, who, -1, call);
    trying_ = false;
    other_ns_ = 0;
    looked_ns_ = now;
    measure(call, now, false);
  }
  // After each wait of the judge.
  void judge(BasicSigns<A>& signs, std::uint32_t who, const WaitView& view) {
    const std::int64_t now = view.now_ns;
    const std::uint64_t call = view.call;
    const std::uint64_t word = A::load_relaxed(signs.gather);  // order: relaxed: a hint
    if (word >> 32 != who) return;                             // another one judges now
    const bool gathers = target_of(signs, call) >= 0;
    if (const std::int64_t gap = now - looked_ns_; gap > kPauseNs) leave_out(signs, gathers, gap);
    looked_ns_ = now;
    if (!gathers && cpu_of(word) >= 0) {  // the judge has not waited in many calls
      decide(signs, who, home_, call);
      return measure(call, now, true);
    }
    if (gathers && pauses_ > kMostPauses) {  // calls are mostly pauses
      if (trying_) trial_ns_ = kMostTrialNs;
      trying_ = false;
      other_ns_ = 0;
      return change(signs, who, -1, call, now);
    }
    renew(signs, call);
    const std::int64_t took = now - since_ns_;
    if (settles_) {
      if (took >= kSettleNs << (gathers ? 0 : slowly_)) measure(call, now, false);
      return;
    }
    // Several waits may be of one call.
    const auto calls = static_cast<std::int32_t>(static_cast<std::uint32_t>(call) - since_call_);
    if (calls <= 0 || took < (calls < kLeastCalls ? 4 * kPhaseNs : kPhaseNs)) return;
    const float each = static_cast<float>(took) / static_cast<float>(calls);
    const bool ends = trying_;
    const bool changes = ends ? end_trial(signs, gathers, each, now) : begin_trial(signs, gathers, each, now);
    if (!changes) return measure(call, now, false);
    if (!ends) home_ = static_cast<std::int16_t>(gathers || view.cpu >= kMostCpus ? home_ : view.cpu);
    change(signs, who, gathers ? -1 : home_, call, now);
  }
  // In this call the judge has not looked for long.
  bool lacks_judge(const BasicSigns<A>& signs, std::uint64_t call) const { return !is_valid(signs, call); }

 private:
  // The CPU where members gather in this call; -1: they don't.
  static std::int32_t target_of(const BasicSigns<A>& signs, std::uint64_t call) {
    const std::int32_t cpu = cpu_of(A::load_relaxed(signs.gather));  // order: relaxed: a hint
    if (cpu < 0 || cpu >= kMostCpus) return -1;
    return is_valid(signs, call) ? cpu : -1;
  }
  static bool is_valid(const BasicSigns<A>& signs, std::uint64_t call) {
    const std::uint64_t until = A::load_relaxed(signs.gather_until);  // order: relaxed: a hint
    return call < until && until - call <= 2 * kMostCalls;
  }
  void decide(BasicSigns<A>& signs, std::uint32_t who, std::int32_t cpu, std::uint64_t call) {
    // order: relaxed, both: hints
    A::store_relaxed(signs.gather_until, call + valid_calls());
    A::store_relaxed(signs.gather, signature(who, cpu));  // order: see above
  }
  void change(BasicSigns<A>& signs, std::uint32_t who, std::int32_t cpu, std::uint64_t call,
              std::int64_t now) {
    decide(signs, who, cpu, call);
    if (!trying_ && cpu < 0) {  // it does not pay
      const std::int64_t least = kPhaseNs + kSettleNs;
      // order: relaxed: a hint
      A::store_relaxed(signs.rests_ns, now + kRests * (trial_ns_ > least ? trial_ns_ : least));
    }
    measure(call, now, true);
  }
  // If the judge ends its waits no more, members soon gather no more.
  std::uint64_t valid_calls() const {
    const float calls = each_ns_ > 0 ? kValidNs / each_ns_ : 0;
    return calls < kLeastValid  ? kLeastValid
           : calls < kMostCalls ? static_cast<std::uint64_t>(calls)
                                : kMostCalls;
  }
  void renew(BasicSigns<A>& signs, std::uint64_t call) const {
    // order: relaxed, both: hints
    const std::uint64_t left = A::load_relaxed(signs.gather_until) - call, whole = valid_calls();
    if (left < whole / 2) A::store_relaxed(signs.gather_until, call + whole);  // order: see above
  }
  // The last call was a pause of the program.
  void leave_out(BasicSigns<A>& signs, bool gathers, std::int64_t gap) {
    since_ns_ += gap, next_ns_ += gap, ++since_call_;
    if (pauses_ <= kMostPauses) ++pauses_;
    if (gathers) return;
    // order: relaxed, both: hints. A faulty member's time may overflow.
    const auto rests = static_cast<std::uint64_t>(A::load_relaxed(signs.rests_ns));
    const std::uint64_t later = rests + static_cast<std::uint64_t>(gap);
    A::store_relaxed(signs.rests_ns, static_cast<std::int64_t>(later));  // order: see above
  }
  void measure(std::uint64_t call, std::int64_t now, bool settles) {
    since_call_ = static_cast<std::uint32_t>(call), since_ns_ = now, settles_ = settles, pauses_ = 0;
  }
  // Both return true if members shall gather where they do not, or no more where they do.
  bool begin_trial(BasicSigns<A>& signs, bool gathers, float each, std::int64_t now) {
    each_ns_ = each;
    if (each > kMostCallNs) return gathers;
    const bool is_worse = other_ns_ > 0 && each > kWorse * other_ns_;
    const std::int64_t earlier = is_worse ? std::int64_t{kRests - kLeastRests} * trial_ns_ : 0;
    const std::int64_t next = gathers ? next_ns_ : A::load_relaxed(signs.rests_ns);  // order: relaxed: a hint
    // A later time is a faulty member's.
    if (now + earlier < next && next <= now + std::int64_t{kRests} * kMostTrialNs) return false;
    trying_ = true;
    next_ns_ = now;
    // order: relaxed: a hint; in case the hold ends before the trial
    if (!gathers) A::store_relaxed(signs.rests_ns, now + kRests * (kPhaseNs + kSettleNs));
    return true;
  }
  bool end_trial(BasicSigns<A>& signs, bool gathers, float each, std::int64_t now) {
    trying_ = false;
    const std::int64_t took = now - next_ns_;
    trial_ns_ = took < kMostTrialNs ? static_cast<std::int32_t>(took) : kMostTrialNs;
    // If it makes no difference, they stay together: apart, calls may become slow at any time.
    const bool pays = gathers ? each < each_ns_ * kGain : each * kGain < each_ns_;
    // They may still be where they were.
    const bool is_equal = !pays && each < each_ns_ * kGain;
    if (!gathers)
      slowly_ = static_cast<std::uint8_t>(!is_equal ? 0 : slowly_ < kSlowest ? slowly_ + 1 : kSlowest);
    other_ns_ = pays ? each_ns_ : each;
    next_ns_ = now + std::int64_t{kRests} * trial_ns_;
    // order: relaxed: a hint; where members gather now, those of the next hold may at once
    if (pays) A::store_relaxed(signs.rests_ns, gathers ? std::int64_t{0} : next_ns_);
    return !pays;
  }

  // docs/waiting.md says how these were measured.
  static constexpr std::int64_t kPhaseNs = 32'000'000;   // ns: calls are measured for so long,
  static constexpr std::int32_t kLeastCalls = 8;         // calls: and at least so many
  static constexpr std::int64_t kSettleNs = 16'000'000;  // ns: members have moved by then,
  static constexpr std::uint8_t kSlowest = 4;            // or 2 ^ kSlowest times as late
  static constexpr std::int64_t kPauseNs = 500'000'000;  // ns: calls are seldom further apart
  static constexpr std::uint8_t kMostPauses = 4;         // in a phase
  static constexpr float kMostCallNs = 16'000'000;       // ns: calls that take longer are mostly work
  static constexpr float kGain = 1.1f;                   // less is chance
  static constexpr std::int32_t kRests = 32;             // times its own, a trial comes after the last one;
  static constexpr std::int32_t kMostTrialNs = 1'000'000'000;  // ns: it is taken to have taken
  static constexpr float kWorse = 1.5f;           // if calls take so much longer than the other way,
  static constexpr std::int32_t kLeastRests = 4;  // only so many
  static constexpr std::int64_t kMoveRests = 4;   // likewise moves
  static constexpr std::int64_t kLeastNs = 500'000, kMostNs = 100'000'000;  // ns: what a move may take
  static constexpr float kValidNs = 256'000'000;  // ns: so long the judge's decision holds, in calls,
  static constexpr std::uint64_t kLeastValid = 4'096, kMostCalls = 65'536;  // calls: at least and at most
  static constexpr std::int32_t kMostCpus = 2048;                           // as in os::join_cpu()

  // Of the judge: where the present phase began, the last look, and when it may try to disperse members;
  // during a trial, when that has begun.
  std::int64_t since_ns_ = 0, looked_ns_ = 0, next_ns_ = 0;
  std::int64_t next_move_ns_ = 0;
  std::int32_t trial_ns_ = 0;         // how long the last trial took
  float each_ns_ = 0, other_ns_ = 0;  // what a call takes, and what it took the other way; 0: not known
  std::uint32_t since_call_ = 0;      // as since_ns_, the low bits
  std::int16_t refused_ = -1;         // the CPU where this member can't go
  std::int16_t home_ = -1;            // of the judge: where members gathered last
  bool trying_ : 1 = false;           // a trial runs
  bool settles_ : 1 = false;          // members have only just begun to move
  std::uint8_t not_to_ = 0;           // by CPUs modulo kSigned: it can't spread there
  std::uint8_t pauses_ = 0;           // of the program, in this phase
  std::uint8_t slowly_ = 0;           // the kernel takes so long to disperse members, as a power of 2
};

}  // namespace fermata
#endif
