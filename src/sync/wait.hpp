// Wait policies: small types that say what a waiting member does next. They decide; exec/ acts, looks at the slot again,
// and calls the idle hook between any two actions, so a policy that waits for ever without the hook cannot be written.
//
//   policy  lines touched while waiting                     for
//   spin    the slot's, in the local cache                  members with a CPU each, nobody else there
//   yield   the slot's, once per turn on the CPU            more members than CPUs, all of this team
//   park    door and slot; two when armed, none asleep      shared machines, long waits
//   auto    as measured here and now                        everything; the default
#ifndef FERMATA_SYNC_WAIT_HPP
#define FERMATA_SYNC_WAIT_HPP

#include <cstdint>

namespace fermata {

enum class WaitKind : std::uint8_t { kAuto = 0, kSpin = 1, kYield = 2, kPark = 3 };

enum class WaitAction : std::uint8_t { kSpin, kYield, kPark };

// What a policy may know: how long this wait has lasted, and what its last action cost.
struct WaitView {
  std::int64_t waited_ns = 0;
  std::int64_t last_action_ns = 0;
  WaitAction last_action = WaitAction::kSpin;
  bool first = true;  // no action has been taken in this wait yet
};

struct SpinWait {
  std::uint32_t spins() const { return 2048; }
  WaitAction next(const WaitView&) { return WaitAction::kSpin; }
  void done(const WaitView&) {}
};

struct YieldWait {
  std::uint32_t spins() const { return 1; }
  WaitAction next(const WaitView&) { return WaitAction::kYield; }
  void done(const WaitView&) {}
};

struct ParkWait {
  std::uint32_t spins() const { return 1; }
  WaitAction next(const WaitView&) { return WaitAction::kPark; }
  void done(const WaitView&) {}
};

// Enough CPUs: spin, then park; a yield would hand a whole time slice to a co-tenant. More members than CPUs: yield while
// a yield costs what a switch costs; when a co-tenant makes it dearer by kDear, park for a growing number of waits, then
// probe again. `switch_ns` starts at a guess and follows the cheapest yields seen.
class AutoWait {
 public:
  AutoWait() = default;
  AutoWait(bool oversubscribed, std::int64_t turns) : oversubscribed_(oversubscribed), turns_(turns < 1 ? 1 : turns) {}

  std::uint32_t spins() const { return oversubscribed_ ? 1 : kSpins; }

  WaitAction next(const WaitView& view) {
    if (!view.first && view.last_action == WaitAction::kYield) judge_yield(view.last_action_ns);
    if (!oversubscribed_) return view.waited_ns < kSpinNs ? WaitAction::kSpin : WaitAction::kPark;
    if (parked_waits_ > 0 || view.waited_ns > kYieldNs) return WaitAction::kPark;
    return WaitAction::kYield;
  }

  // The wait is over: parking episodes count down to the next probe.
  void done(const WaitView& view) {
    if (!view.first && view.last_action == WaitAction::kYield) judge_yield(view.last_action_ns);
    if (parked_waits_ > 0) --parked_waits_;
  }

 private:
  static constexpr std::uint32_t kSpins = 256;         // before the clock is looked at
  static constexpr std::int64_t kSpinNs = 50'000;      // about the price of two futex switches and the wake-up behind them
  static constexpr std::int64_t kYieldNs = 5'000'000;  // yields that never find the signal: somebody is far behind
  static constexpr std::int64_t kDear = 8;             // a yield this many switches dear has run a stranger
  static constexpr std::int64_t kFloorNs = 2'000;      // below this nothing is called dear
  static constexpr std::int64_t kFirstPark = 64;
  static constexpr std::int64_t kMostPark = 65'536;

  void judge_yield(std::int64_t ns) {
    const std::int64_t fair = (switch_ns_ > kFloorNs ? switch_ns_ : kFloorNs) * turns_ * kDear;
    if (ns > fair) {
      if (++dear_ >= 2) {
        parked_waits_ = park_length_;
        park_length_ = park_length_ * 2 < kMostPark ? park_length_ * 2 : kMostPark;
        dear_ = 0;
      }
      cheap_ = 0;
      return;
    }
    if (ns * 8 < switch_ns_ * 7 || switch_ns_ == 0) switch_ns_ = ns;
    if (++cheap_ >= kFirstPark) {
      cheap_ = 0;
      dear_ = 0;
      if (park_length_ > kFirstPark) park_length_ /= 2;
    }
  }

  bool oversubscribed_ = false;
  std::int64_t turns_ = 1;  // members per CPU: how many switches a fair yield may take
  std::int64_t switch_ns_ = 0;
  std::int64_t parked_waits_ = 0;
  std::int64_t park_length_ = kFirstPark;
  std::int64_t dear_ = 0;
  std::int64_t cheap_ = 0;
};

}  // namespace fermata
#endif
