// The progress thread: at most one per process, if the user asks for it. It moves the data of outstanding
// requests of the members in the process while the members' own threads compute.
//
// It only moves and folds data. The member's own thread notices completion, runs callbacks and starts what
// they start. The two never work on one member at the same time: each takes the member's biased lock
// (exec/busy_members.hpp). Members take it in any case while requests are outstanding, so a process without
// this thread pays nothing for it.
#ifndef FERMATA_EXEC_PROGRESS_THREAD_HPP
#define FERMATA_EXEC_PROGRESS_THREAD_HPP

#include <atomic>
#include <cstdint>

#include "base/status.hpp"

namespace fermata::exec {

class ProgressThread {
 public:
  // Above 0: starts the thread if it does not run. Otherwise stops the thread and waits for its end. 0: the
  // thread stays off. Below 0: when a member next leaves requests outstanding, FERMATA_PROGRESS_THREAD is
  // read again, and the thread starts if it is on. Error: kSystem (the thread cannot be made).
  static Status set(int on);
  // Called when a member of this process leaves requests outstanding. Starts the thread if the environment
  // asks for it, or if it ran in the parent of this forked child. Wakes a thread that runs.
  static void requests_began() {
    // order: relaxed: a thread that starts meanwhile looks by itself
    if (mode_.load(std::memory_order_relaxed) != kOff) [[unlikely]]
      wake();
  }

 private:
  // the next requests_began() reads FERMATA_PROGRESS_THREAD: if it is on, the thread starts, else the mode
  // becomes kOff
  static constexpr std::uint32_t kAsEnvironmentSays = 0;
  static constexpr std::uint32_t kOff = 1;
  static constexpr std::uint32_t kOn = 2;
  static void wake();

  static std::atomic<std::uint32_t> mode_;
};

}  // namespace fermata::exec
#endif
