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
#ifndef FERMATA_SYNC_WAIT_POLICIES_HPP
#define FERMATA_SYNC_WAIT_POLICIES_HPP

#include <cstddef>
#include <cstdint>

namespace fermata {

enum class WaitKind : std::uint8_t { kAuto = 0, kSpin = 1, kYield = 2, kPark = 3 };

enum class WaitAction : std::uint8_t { kSpin, kYield, kPark, kMove };  // kMove: to another CPU

// The CPUs that members can use: by their affinity, and how many at a time by the control group's quota.
struct Cpus {
  std::uint32_t all = 0;
  std::uint32_t in_quota = 0;  // at most `all`
  bool operator==(const Cpus&) const = default;
};

// How members share their CPUs.
enum class Room : std::uint8_t {
  kOwn,       // a CPU for each
  kRationed,  // a CPU for each, but a quota for fewer: CPU time that a wait uses is missing later
  kCrowded,   // more members than CPUs
};
constexpr Room room_of(std::uint32_t members, Cpus cpus) {
  if (members > cpus.all) return Room::kCrowded;
  return members > cpus.in_quota ? Room::kRationed : Room::kOwn;
}

// What a wait has done before it asks its policy: yields, and how long they took if it has looked at the
// clock.
struct Yielded {
  std::uint8_t times = 0;
  std::int64_t ns = 0;
};

// What a policy knows about a wait, its last action and its call.
struct WaitView {
  std::int64_t waited_ns = 0;
  std::int64_t last_action_ns = 0;
  std::int64_t expected_ns = 0;  // how long the others need to move the awaited data, once they have begun
  std::int64_t now_ns = 0;       // monotonic clock
  std::uint64_t call = 0;        // number of the waiting call: mostly the same at all members
  std::uint32_t thread_id = 0;   // a number that no other member's thread has; only if the policy asks for it
  std::int32_t cpu = -1;         // where it runs now; likewise
  WaitAction last_action = WaitAction::kSpin;
  Yielded yielded = {};  // before the first next()
  bool first = true;     // no action has been taken in this wait yet
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

// For teams over several hosts. The awaited line comes through a port that mostly waiting members drive. So a
// wait soon yields its CPU to members of its own process. On an oversubscribed host it also yields to
// processes whose ports must move data. It parks only when it gets long.
struct HostsWait {
  static constexpr std::int64_t kSpinNs = 20'000;
  static constexpr std::int64_t kYieldNs = 5'000'000;
  std::uint32_t spins() const { return 0; }  // nothing comes before a look at the port
  WaitAction next(const WaitView& view) {
    if (view.waited_ns < kSpinNs) return WaitAction::kSpin;
    return view.waited_ns < kYieldNs ? WaitAction::kYield : WaitAction::kPark;
  }
  void done(const WaitView&) {}
};

}  // namespace fermata
#endif
