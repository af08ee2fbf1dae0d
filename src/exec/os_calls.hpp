// The system calls that doorbells need.
#ifndef FERMATA_EXEC_OS_CALLS_HPP
#define FERMATA_EXEC_OS_CALLS_HPP

#include <atomic>
#include <cstdint>

#include "os/os.hpp"
#include "sync/atomics.hpp"

namespace fermata::exec {

struct OsCalls {
  static constexpr std::int64_t kNoLimit = os::kNoLimit;
  bool shared = false;  // the doorbells are in memory that processes share
  void wake_all(std::atomic<std::uint32_t>& bell) const { os::futex_wake_all(bell, shared); }
  void sleep(std::atomic<std::uint32_t>& bell, std::uint32_t seen, std::int64_t ns) const {
    os::futex_sleep(bell, seen, ns, shared);
  }
  template <Site S>
  void heavy_fence() const {
    os::heavy_fence(shared);  // order: store-load, here and at each sender; as the calling site says
  }
};

}  // namespace fermata::exec
#endif
