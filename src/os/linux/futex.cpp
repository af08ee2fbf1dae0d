// Futexes and membarrier.
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define FERMATA_KNOWS_SINGLE 1
#endif

#include <cerrno>
#include <climits>

#include "os/os.hpp"

namespace fermata::os {

Slept futex_sleep(std::atomic<std::uint32_t>& word, std::uint32_t seen, std::int64_t ns, bool shared) {
  static_assert(sizeof word == 4);
  timespec limit{.tv_sec = static_cast<time_t>(ns / 1'000'000'000),
                 .tv_nsec = static_cast<long>(ns % 1'000'000'000)};
  const int op = shared ? FUTEX_WAIT : FUTEX_WAIT | FUTEX_PRIVATE_FLAG;
  const ErrnoGuard guard;
  if (syscall(SYS_futex, &word, op, seen, ns == kNoLimit ? nullptr : &limit, nullptr, 0) == 0)
    return Slept::kWoken;
  if (errno == ETIMEDOUT) return Slept::kTimeout;
  return errno == EINTR ? Slept::kInterrupted : Slept::kChanged;
}

void futex_wake_all(std::atomic<std::uint32_t>& word, bool shared) {
  const ErrnoGuard guard;
  syscall(SYS_futex, &word, shared ? FUTEX_WAKE : FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT_MAX, nullptr, nullptr,
          0);
}

bool register_fence(bool shared) {
  const ErrnoGuard guard;
  const int command =
      shared ? MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED : MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
  return syscall(SYS_membarrier, command, 0, 0) == 0;
}

// A process with one thread registers in 4 us. With more threads, the kernel waits until every CPU has passed
// a scheduling point, which takes 11 ms (bench/results/README.md). So each library that may need membarrier
// registers at load time. An OpenMP program, for example, has several threads when it makes its first team.
#ifdef FERMATA_KNOWS_SINGLE
__attribute__((constructor)) static void register_early() {
  if (__libc_single_threaded) register_fence(false);
}
#endif

void heavy_fence(bool shared) {
  const ErrnoGuard guard;
  const int command = shared ? MEMBARRIER_CMD_GLOBAL_EXPEDITED : MEMBARRIER_CMD_PRIVATE_EXPEDITED;
  syscall(SYS_membarrier, command, 0, 0);
  // order: seq_cst: the local store-load order, even if membarrier fails after it was registered. Belongs to
  // kDoorFence and kRaiseFence.
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace fermata::os
