// The wait policy that the environment selects, and the policy of a kind.
#ifndef FERMATA_SYNC_WAIT_WANTED_HPP
#define FERMATA_SYNC_WAIT_WANTED_HPP

#include "os/environment.hpp"
#include "sync/wait.hpp"

namespace fermata {

// Returns the policy that FERMATA_WAIT names; null: none. Its values are in the order of WaitKind.
inline const WaitKind* wanted_wait() {
  static constexpr WaitKind kKinds[] = {WaitKind::kAuto, WaitKind::kSpin, WaitKind::kYield, WaitKind::kPark};
  const int wanted = os::choice_of(os::Variable::kWait);
  return wanted >= 0 ? &kKinds[wanted] : nullptr;
}
inline WaitKind wait_kind_or(WaitKind otherwise) {
  const WaitKind* const wanted = wanted_wait();
  return wanted != nullptr ? *wanted : otherwise;
}

// Returns use(policy) for the fixed policy of that kind; for kAuto, automatic().
template <class Use, class Automatic>
auto with_policy(WaitKind kind, Use&& use, Automatic&& automatic) {
  switch (kind) {
    case WaitKind::kSpin: return use(SpinWait{});
    case WaitKind::kYield: return use(YieldWait{});
    case WaitKind::kPark: return use(ParkWait{});
    case WaitKind::kAuto: break;
  }
  return automatic();
}

}  // namespace fermata
#endif
