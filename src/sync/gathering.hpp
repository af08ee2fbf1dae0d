// Gathering: the members of a crowd run on one CPU while they park, if their calls take less time there.
//
// Beside foreign threads that always run, a member that is woken on a CPU mostly preempts them there. So
// members on one CPU follow each other at the cost of switches. Members on several CPUs wait for each other,
// and each of them for foreign threads. But on one CPU they also work one after the other. What is cheaper
// depends on the program and on the load, so one member, the judge of a hold (sync/wait.hpp), measures it: it
// lets the members gather and disperse in turn, and keeps what is faster. A gathered member that finds
// itself elsewhere moves back. Nothing else holds it there: its affinity stays what it was.
#ifndef FERMATA_SYNC_GATHERING_HPP
#define FERMATA_SYNC_GATHERING_HPP

#include <cstdint>

#include "sync/atomics.hpp"
#include "sync/company.hpp"

namespace fermata {

// What a member knows about it. Whatever BasicSigns contains, a member moves for 1 / kMoveRests of its
// time at most.
template <class A>
class BasicGathering {
 public:
  // Members gather, and this one is elsewhere.
  bool strays(const BasicSigns<A>& signs, std::int32_t cpu) const {
    const std::int32_t target = target_of(signs);
    return target >= 0 && target != cpu && !stays_;
  }
  // True: it shall move now, in this wait.
  bool joins(const BasicSigns<A>& signs, std::int32_t cpu, std::int64_t now) const {
    return strays(signs, cpu) && now >= next_move_ns_;
  }
  // Moves this thread there, if it can. Os(cpu) moves it to that CPU.
  template <class Os>
  static bool join(const BasicSigns<A>& signs, Os&& os) {
    const std::int32_t target = target_of(signs);
    return target < 0 || os(target);
  }
  // It has moved, which took so long, until now; or it can't move.
  void moved(bool could, std::int64_t ns, std::int64_t now) {
    stays_ = !could;
    next_move_ns_ = now + kMoveRests * (ns < kLeastNs ? kLeastNs : ns < kMostNs ? ns : kMostNs);
  }

  // This member is the judge from now on. Members are dispersed at first.
  void begin(BasicSigns<A>& signs, std::uint32_t who, std::uint64_t call, std::int64_t now) {
    if (target_of(signs) >= 0) next_trial_ns_ = 0;       // it has paid off before
    A::store_relaxed(signs.gather, signature(who, -1));  // order: relaxed: a hint
    trying_ = false;
    other_ns_ = 0;
    looked_ns_ = now;
    measure(call, now, false);
  }
  // After each wait of the judge, which runs on this CPU.
  void judge(BasicSigns<A>& signs, std::uint32_t who, std::int32_t cpu, std::uint64_t call,
             std::int64_t now) {
    if (A::load_relaxed(signs.gather) >> 32 != who) return;  // order: relaxed: a hint; another one judges now
    const std::int64_t gap = now - looked_ns_;
    looked_ns_ = now;
    if (gap > kPauseNs) {  // the program did something else
      next_trial_ns_ += gap;
      return measure(call, now, false);
    }
    const std::int64_t took = now - since_ns_;
    if (settles_) {
      if (took >= kSettleNs) measure(call, now, false);
      return;
    }
    const std::uint64_t calls = call - since_call_;
    if (calls == 0 || took < (calls < kLeastCalls ? 4 * kPhaseNs : kPhaseNs)) return;
    const float each = static_cast<float>(took) / static_cast<float>(calls);
    if (trying_) {
      trying_ = false;
      trial_ns_ = now - next_trial_ns_ < kMostTrialNs ? static_cast<std::int32_t>(now - next_trial_ns_)
                                                      : kMostTrialNs;
      next_trial_ns_ = now + std::int64_t{kRests} * trial_ns_;
      const bool pays = each * kGain < each_ns_;
      other_ns_ = pays ? each_ns_ : each;
      if (pays) return measure(call, now, false);
    } else {
      each_ns_ = each;
      const bool is_worse = other_ns_ > 0 && each > kWorse * other_ns_;
      const std::int64_t rest_ns = std::int64_t{is_worse ? kRests - kLeastRests : 0} * trial_ns_;
      if (now < next_trial_ns_ - rest_ns || each > kMostCallNs) return measure(call, now, false);
      trying_ = true;
      next_trial_ns_ = now;
    }
    // order: relaxed: a hint
    A::store_relaxed(signs.gather, signature(who, target_of(signs) < 0 ? cpu : -1));
    measure(call, now, true);
  }

 private:
  // The CPU where members gather; -1: they don't.
  static std::int32_t target_of(const BasicSigns<A>& signs) {
    return cpu_of(A::load_relaxed(signs.gather));  // order: relaxed: a hint
  }
  void measure(std::uint64_t call, std::int64_t now, bool settles) {
    since_call_ = call, since_ns_ = now, settles_ = settles;
  }

  // docs/waiting.md says how these were measured.
  static constexpr std::int64_t kPhaseNs = 32'000'000;   // ns: calls are measured for so long,
  static constexpr std::uint64_t kLeastCalls = 8;        // calls: and at least so many
  static constexpr std::int64_t kSettleNs = 16'000'000;  // ns: members have moved by then
  static constexpr std::int64_t kPauseNs = 500'000'000;  // ns: calls are seldom further apart
  static constexpr float kMostCallNs = 16'000'000;       // ns: calls that take longer are mostly work
  static constexpr float kGain = 1.1f;                   // less is chance
  static constexpr std::int32_t kRests = 32;             // times its own, a trial comes after the last one;
  static constexpr std::int32_t kMostTrialNs = 1'000'000'000;  // ns: it is taken to have taken
  static constexpr float kWorse = 1.5f;           // if calls take so much longer than the other way,
  static constexpr std::int32_t kLeastRests = 4;  // only so many
  static constexpr std::int64_t kMoveRests = 4;   // likewise moves
  static constexpr std::int64_t kLeastNs = 500'000,
                                kMostNs = 100'000'000;  // ns: what a move is taken to cost

  // Of the judge: where the present phase began, the last look, and when the next trial may begin; during a
  // trial, when it has begun.
  std::int64_t since_ns_ = 0, looked_ns_ = 0, next_trial_ns_ = 0;
  std::uint64_t since_call_ = 0;
  std::int64_t next_move_ns_ = 0;
  std::int32_t trial_ns_ = 0;         // how long the last trial took
  float each_ns_ = 0, other_ns_ = 0;  // what a call takes, and what it took the other way; 0: not known
  bool trying_ = false;               // a trial runs
  bool settles_ = false;              // members have only just begun to move
  bool stays_ = false;                // this member can't move
};

}  // namespace fermata
#endif
