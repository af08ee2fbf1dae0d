// Spacing: how many of the CPU's pauses a member makes between two looks at an awaited line, found while it makes calls. Each look takes
// the line away from who is about to write it, and each pause is time that an early signal waits; which weighs more is the machine's
// and the minute's. (Two virtual CPUs, Zen 5, a barrier: where a line moves in 50 ns, 47 ns with 1 pause and 94 with 4; where
// the hypervisor has put them apart and it takes 265, 200 and 169. Sapphire Rapids, far cores: 4.)
// For programs that nobody has timed here: a plan's layout has pauses that were measured.
//
// Trials: windows of a few calls with each choice in turn, and again; the choice whose best window was shortest stays until the next
// trial. All members count the same calls, so that they try the same choice at the same time.
#ifndef FERMATA_EXEC_SPACING_HPP
#define FERMATA_EXEC_SPACING_HPP

#include <cstdint>

namespace fermata::exec {

class Spacing {
 public:
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  static constexpr std::uint64_t kFirst = 256;       // calls before the first trial
  static constexpr std::uint64_t kWindow = 32;       // calls
  static constexpr std::uint64_t kMostRest = 65536;  // calls from one trial to the next: a trial is half a percent of them

  // From the member's present call on. Before, and if it is never called, pauses are the program's.
  void start(std::uint64_t call) { next_ = call + kFirst; }

  // turn() is due in the call of this number, or the first one behind it.
  std::uint64_t next() const { return next_; }
  std::uint32_t pauses() const { return pauses_; }  // 0: as the program says

  void turn(std::uint64_t call, std::int64_t now_ns) {
    if (window_ == 0) {
      stays_ = pauses_;
      for (std::int64_t& ns : best_) ns = INT64_MAX;
    } else {
      std::int64_t& best = best_[(window_ - 1) % kChoices];
      if (now_ns - began_ns_ < best) best = now_ns - began_ns_;
    }
    if (window_ == kRounds * kChoices) return settle(call);
    pauses_ = choice(window_ % kChoices);
    began_ns_ = now_ns;
    next_ = call + kWindow;
    ++window_;
  }

 private:
  static constexpr std::uint32_t kTried[] = {1, 2, 4};
  static constexpr std::uint32_t kChoices = 4;  // what it was, and those
  static constexpr std::uint32_t kRounds = 3;
  static constexpr std::int64_t kFarBetween = kWindow * 5000;  // ns of calls that spacing makes no difference to

  std::uint32_t choice(std::uint32_t i) const { return i == 0 ? stays_ : kTried[i - 1]; }

  void settle(std::uint64_t call) {
    std::uint32_t least = 0;
    for (std::uint32_t i = 1; i < kChoices; ++i)
      if (best_[i] < best_[least]) least = i;
    const bool distinct = best_[0] - best_[least] > best_[0] / 20;  // what noise seldom does
    pauses_ = choice(distinct && best_[least] < kFarBetween ? least : 0);
    next_ = call + rest_;
    rest_ = rest_ < kMostRest ? 2 * rest_ : kMostRest;
    window_ = 0;
  }

  std::uint64_t next_ = kNever;
  std::uint64_t rest_ = 4096;
  std::int64_t began_ns_ = 0;
  std::int64_t best_[kChoices] = {};
  std::uint32_t window_ = 0;  // of a trial, from 1; 0: none
  std::uint32_t pauses_ = 0;
  std::uint32_t stays_ = 0;  // what it was before the trial
};

}  // namespace fermata::exec
#endif
