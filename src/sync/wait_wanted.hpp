// The wait policy that the environment selects.
#ifndef FERMATA_SYNC_WAIT_WANTED_HPP
#define FERMATA_SYNC_WAIT_WANTED_HPP

#include "os/environment.hpp"
#include "sync/wait.hpp"

namespace fermata {

// Returns the policy that FERMATA_WAIT names, else `otherwise`. Its values are in the order of WaitKind.
inline WaitKind wait_kind_or(WaitKind otherwise) {
  const int wanted = os::choice_of(os::Variable::kWait);
  return wanted >= 0 ? static_cast<WaitKind>(wanted) : otherwise;
}

}  // namespace fermata
#endif
