// Poll interval: how many CPU pauses a member makes between two reads of an awaited cache line. It is
// measured while the member makes calls, for each plan without a root alone. Compiled plans that are built
// in were never tuned. Others have the pauses that were best when they were timed.
//
// Each read takes the line away from the member that is about to write it. Each pause delays a signal that
// has come. Which of the two costs more depends on the machine, and can change. (A barrier on two virtual
// CPUs, Zen 5: 47 ns with 1 pause and 94 ns with 4 if a line moves in 50 ns; 200 ns with 1 and 169 ns with 4
// if the hypervisor has moved the CPUs apart and a line takes 265 ns. Far cores of Sapphire Rapids: 4 pauses
// are best.)
//
// A trial measures windows of kWindow calls with each choice in turn, several times. The choice with the
// shortest window is used until the next trial, if that window is more than 5 % shorter than the present
// choice's, and calls are short (kFarBetween). All members count the same calls, so mostly they try the same
// choice at the same time. A window ends in a call of the trial's plan. If none comes in time, the trial ends
// without a result.
//
// A trial disturbs members whose calls have fallen into step (two near CPUs of Zen 4: a barrier takes 35 ns
// after it, not 28). So once a plan has had a trial, kLooks windows with the present choice come first. The
// next trial follows only if the shortest of these windows is a third longer or shorter than in the last one.
#ifndef FERMATA_EXEC_POLL_INTERVAL_HPP
#define FERMATA_EXEC_POLL_INTERVAL_HPP

#include <cstdint>

#include "base/line.hpp"
#include "exec/call.hpp"
#include "exec/segment_layout.hpp"

namespace fermata::exec {

class PollInterval {
 public:
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  static constexpr std::uint64_t kFirst = 256;  // calls from start() to the first trial
  static constexpr std::uint64_t kWindow = 32;  // calls
  // the most calls from one trial's end to the next trial: a trial's calls are 0.8 % of them
  static constexpr std::uint64_t kMostRest = 65536;

  // Starts with the member's present call. Until the first trial the compiled plan's own pauses apply.
  void start(std::uint64_t call) { next_ = call + kFirst; }

  // take_time() is due in the call of this number, or in the first one after it.
  std::uint64_t next() const { return next_; }
  std::uint32_t plan() const { return plan_; }      // of the last trial
  std::uint32_t pauses() const { return pauses_; }  // 0: the compiled plan's own

  // plan: of this call; its trial begins if none is under way. kPlanSlots: of one that keeps its pauses.
  // present: the pauses that its calls make. Afterwards, calls of plan() make pauses().
  void take_time(std::uint64_t call, std::int64_t now_ns, std::uint32_t plan, std::uint32_t present) {
    if (window_ == 0) {
      if (plan == kPlanSlots) return rest(call);
      plan_ = plan;
      stays_ = present;
      for (std::int64_t& ns : best_) ns = INT64_MAX;
      looks_ = known_ns_[plan] != 0 ? kLooks : 0;
    } else if (plan != plan_) {
      next_ = call + 1;
      if (call - began_call_ < 2 * kWindow) return;
      pauses_ = stays_;
      return rest(call);
    } else {
      const std::uint32_t i = window_ <= looks_ ? 0 : (window_ - looks_ - 1) % kChoices;
      const auto calls = static_cast<std::int64_t>(call - began_call_);
      const std::int64_t ns = (now_ns - began_ns_) * static_cast<std::int64_t>(kWindow) / calls;
      if (ns < best_[i]) best_[i] = ns;
    }
    const bool looked = looks_ != 0 && window_ == looks_;
    if (looked && (!has_changed(best_[0], known_ns_[plan]) || best_[0] >= kFarBetween))
      return rest_longer(call);
    if (window_ == looks_ + kRounds * kChoices) return settle(call);
    pauses_ = window_ < looks_ ? stays_ : choice((window_ - looks_) % kChoices);
    began_ns_ = now_ns;
    began_call_ = call;
    next_ = call + kWindow;
    ++window_;
  }

 private:
  // The longest first: the first calls of a window still feel the window before, and the present choice would
  // lose to its equal.
  static constexpr std::uint32_t kTried[] = {4, 2, 1};
  static constexpr std::uint32_t kChoices = 4;  // the present choice, and those of kTried
  static constexpr std::uint32_t kRounds = 3;
  static constexpr std::uint32_t kLooks = 3;
  static constexpr std::uint64_t kTogether = 1024;  // calls: far more than a trial's
  // length of a window in ns: in calls longer than 5 us the poll interval makes no difference
  static constexpr std::int64_t kFarBetween = kWindow * 5000;

  std::uint32_t choice(std::uint32_t i) const { return i == 0 ? stays_ : kTried[i - 1]; }

  static bool has_changed(std::int64_t ns, std::int64_t known_ns) {
    return 3 * ns > 4 * known_ns || 4 * ns < 3 * known_ns;
  }

  void settle(std::uint64_t call) {
    std::uint32_t least = 0;
    for (std::uint32_t i = 1; i < kChoices; ++i)
      if (best_[i] < best_[least]) least = i;
    const bool distinct = best_[0] - best_[least] > best_[0] / 20;  // usually more than noise
    const std::uint32_t chosen = distinct && best_[least] < kFarBetween ? least : 0;
    pauses_ = choice(chosen);
    known_ns_[plan_] = best_[chosen];
    rest_longer(call);
  }

  // Members whose trials ended apart begin the next one together, and at another place in a loop of calls, so
  // that each plan in it has one.
  void rest(std::uint64_t call) {
    next_ = round_up(call + rest_, kTogether) + ++rests_ % kTogether;
    window_ = 0;
  }
  void rest_longer(std::uint64_t call) {
    rest(call);
    rest_ = rest_ < kMostRest ? 2 * rest_ : kMostRest;
  }

  std::uint64_t next_ = kNever;
  std::uint64_t rest_ = 4096;
  std::int64_t began_ns_ = 0;
  std::uint64_t began_call_ = 0;
  std::int64_t best_[kChoices] = {};
  std::int64_t known_ns_[kPlanSlots] = {};  // the window of each plan's choice in its last trial; 0: none yet
  std::uint64_t rests_ = 0;                 // so far
  std::uint32_t looks_ = 0;                 // windows before the trial
  std::uint32_t window_ = 0;                // number of the trial's window, from 1; 0: no trial
  std::uint32_t plan_ = 0;
  std::uint32_t pauses_ = 0;
  std::uint32_t stays_ = 0;  // the choice before the trial
};

}  // namespace fermata::exec
#endif
