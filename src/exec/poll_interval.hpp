// Poll interval: how many CPU pauses a member makes between two reads of an awaited cache line, and for how
// long it waits before the first read of a round. Both are measured while the member makes calls, for each
// plan without a root alone. Compiled plans that are built in were never tuned. Others have the pauses that
// were best when they were timed.
//
// Each read takes the line away from the member that is about to write it. Each pause delays a signal that
// has come. Which of the two costs more depends on the machine, and can change. (A barrier on two virtual
// CPUs, Zen 5: 47 ns with 1 pause and 94 ns with 4 if a line moves in 50 ns; 200 ns with 1 and 169 ns with 4
// if the hypervisor has moved the CPUs apart and a line takes 265 ns. Far cores of Sapphire Rapids: 4 pauses
// are best.)
//
// A first read that comes too early fails, takes the line away, and costs a pause. A delay before it can
// avoid that. (Sums of 7 doubles, Zen 4: 40 ns with a delay of 52 cycles and 54 ns without if a line moves in
// 45 ns; 147 ns and 198 ns, both with 4 pauses, if a line takes 190 ns. But a sum of one double between near
// CPUs: 44 ns and 33 ns.)
//
// A trial measures windows of kWindow calls with each choice in turn, several times. The choice with the
// shortest median window is used until the next trial, if that window is more than 5 % shorter than the
// present choice's, and calls are short (kFarBetween). The first calls with another choice take longer, so
// kSettle calls come before each window. All members count the same calls, so mostly they try the same choice
// at the same time. A window ends in a call of the trial's plan. If none comes in time, the trial ends
// without a result.
//
// A trial disturbs members whose calls have fallen into step (two near CPUs of Zen 4: a barrier takes 35 ns
// after it, not 28). So once a plan has had a trial, kLooks windows with the present choice come first. The
// next trial follows only if their median is a third longer or shorter than the chosen one of the last trial.
#ifndef FERMATA_EXEC_POLL_INTERVAL_HPP
#define FERMATA_EXEC_POLL_INTERVAL_HPP

#include <cstdint>
#include <iterator>

#include "base/line.hpp"
#include "exec/call.hpp"
#include "exec/segment_layout.hpp"

namespace fermata::exec {

// How the awaits of a plan poll.
struct Polling {
  std::uint32_t pauses = 0;  // between two reads; 0: the compiled plan's own
  std::uint32_t delay = 0;   // about so many CPU cycles before the first read of a round
  bool operator==(const Polling&) const = default;
};

class PollInterval {
 public:
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  static constexpr std::uint64_t kFirst = 256;  // calls from start() to the first trial
  static constexpr std::uint64_t kSettle = 32;  // calls before each window
  static constexpr std::uint64_t kWindow = 64;  // calls
  // the most calls from one look to the next: a look's calls are 0.4 % of them
  static constexpr std::uint64_t kMostRest = 65536;
  // looks left out after a trial, except a plan's first one: a trial's calls are 1.6 % of those to the next
  static constexpr std::uint32_t kLooksLeftOut = 3;

  // Starts with the member's present call. Until the first trial the compiled plan's own pauses apply.
  void start(std::uint64_t call) { next_ = call + kFirst; }

  // take_time() is due in the call of this number, or in the first one after it.
  std::uint64_t next() const { return next_; }
  std::uint32_t plan() const { return plan_; }  // of the last trial
  const Polling& found() const { return found_; }

  // plan: of this call; its trial begins if none is under way. kPlanSlots: of one that keeps its pauses.
  // present: how its calls poll. Afterwards, calls of plan() poll as found() says.
  void take_time(std::uint64_t call, std::int64_t now_ns, std::uint32_t plan, const Polling& present) {
    if (phase_ == Phase::kRest) {
      if (plan == kPlanSlots) return rest(call);
      if (left_out_ > 0) {
        --left_out_;
        return rest_longer(call);
      }
      plan_ = plan;
      stays_ = present;
      window_ = 0;
      phase_ = known_ns_[plan] != 0 ? Phase::kLook : Phase::kTrial;
      return settle(call);
    }
    if (plan != plan_) {
      next_ = call + 1;
      if (call - began_call_ < 2 * kWindow) return;
      found_ = stays_;
      return rest(call);
    }
    if (settles_) {
      settles_ = false;
      began_ns_ = now_ns;
      began_call_ = call;
      next_ = call + kWindow;
      return;
    }
    const auto calls = static_cast<std::int64_t>(call - began_call_);
    keep((now_ns - began_ns_) * static_cast<std::int64_t>(kWindow) / calls);
    ++window_;
    if (phase_ == Phase::kLook && window_ == kLooks) {
      const std::int64_t ns = windows_[0][kLooks / 2];
      if (!has_changed(ns, known_ns_[plan]) || ns >= kFarBetween) return rest_longer(call);
      window_ = 0;
      phase_ = Phase::kTrial;
    }
    if (window_ == kRounds * kChoices) return decide(call);
    settle(call);
  }

 private:
  // Delays of similar length, because one that is some cycles too long gains nothing.
  static constexpr Polling kTried[] = {{4, 0}, {4, 52}, {2, 0}, {1, 64}, {1, 52}, {1, 44}, {1, 0}};
  static constexpr std::uint32_t kChoices = 1 + std::size(kTried);  // the present choice, and those of kTried
  static constexpr std::uint32_t kRounds = 5;                       // windows of each choice
  static constexpr std::uint32_t kLooks = 3;
  static constexpr std::uint64_t kTogether = 8192;  // calls: more than a trial's
  // length of a window in ns: in calls longer than 5 us the poll interval makes no difference
  static constexpr std::int64_t kFarBetween = kWindow * 5000;

  enum class Phase : std::uint8_t { kRest, kLook, kTrial };

  const Polling& choice(std::uint32_t i) const { return i == 0 ? stays_ : kTried[i - 1]; }
  // The choice of the present window.
  std::uint32_t tried() const { return phase_ == Phase::kLook ? 0 : window_ % kChoices; }

  void settle(std::uint64_t call) {
    found_ = choice(tried());
    settles_ = true;
    began_call_ = call;
    next_ = call + kSettle;
  }
  // Adds a window to those of its choice, which are sorted.
  void keep(std::int64_t ns) {
    std::int64_t* const of = windows_[tried()];
    std::uint32_t n = phase_ == Phase::kLook ? window_ : window_ / kChoices;
    for (; n > 0 && of[n - 1] > ns; --n) of[n] = of[n - 1];
    of[n] = ns;
  }
  std::int64_t median(std::uint32_t choice) const { return windows_[choice][kRounds / 2]; }

  static bool has_changed(std::int64_t ns, std::int64_t known_ns) {
    return 3 * ns > 4 * known_ns || 4 * ns < 3 * known_ns;
  }

  void decide(std::uint64_t call) {
    std::uint32_t least = 0;
    for (std::uint32_t i = 1; i < kChoices; ++i)
      if (median(i) < median(least)) least = i;
    const bool distinct = median(0) - median(least) > median(0) / 20;  // usually more than noise
    const std::uint32_t chosen = distinct && median(least) < kFarBetween ? least : 0;
    found_ = choice(chosen);
    if (known_ns_[plan_] != 0) left_out_ = kLooksLeftOut;
    known_ns_[plan_] = median(chosen);
    rest_longer(call);
  }

  // Members whose trials ended apart begin the next one together, and at another place in a loop of calls, so
  // that each plan in it has one.
  void rest(std::uint64_t call) {
    next_ = round_up(call + rest_, kTogether) + ++rests_ % kTogether;
    phase_ = Phase::kRest;
  }
  void rest_longer(std::uint64_t call) {
    rest(call);
    rest_ = rest_ < kMostRest ? 2 * rest_ : kMostRest;
  }

  std::uint64_t next_ = kNever;
  std::uint64_t rest_ = kTogether;
  std::int64_t began_ns_ = 0;
  std::uint64_t began_call_ = 0;
  std::int64_t windows_[kChoices][kRounds] = {};  // in ns
  std::int64_t known_ns_[kPlanSlots] = {};  // the window of each plan's choice in its last trial; 0: none yet
  std::uint64_t rests_ = 0;                 // so far
  std::uint32_t window_ = 0;                // number of the look's or trial's window
  std::uint32_t left_out_ = 0;              // looks that are still left out
  std::uint32_t plan_ = 0;
  Phase phase_ = Phase::kRest;
  bool settles_ = false;  // the window has not begun
  Polling found_;
  Polling stays_;  // the choice before the trial
};

}  // namespace fermata::exec
#endif
