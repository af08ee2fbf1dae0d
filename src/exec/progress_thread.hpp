// The progress thread: one per process, if asked for. It moves the data of requests that are outstanding in any member of the process while
// those members' own threads compute.
//
// What is theirs stays theirs: completion is noticed, callbacks run, and what they start is started by the member's own thread. The two
// never work on one member's requests at the same time: whoever does has the member's turn (exec/crew.hpp), which members take anyway
// while requests are outstanding, so that without this thread nothing costs more.
#ifndef FERMATA_EXEC_PROGRESS_THREAD_HPP
#define FERMATA_EXEC_PROGRESS_THREAD_HPP

#include <atomic>
#include <cstdint>

#include "base/status.hpp"

namespace fermata::exec {

class ProgressThread {
 public:
  // Above 0: starts it, if it does not run. Else stops it, and waits for its end; below 0 the environment has the word.
  static Status set(int on);
  // A member of this process has requests outstanding.
  static void requests_began() {
    // order: relaxed: a thread that is being switched on looks by itself
    if (mode_.load(std::memory_order_relaxed) != kOff) [[unlikely]]
      wake();
  }

 private:
  static constexpr std::uint32_t kAsEnvironmentSays = 0;  // FERMATA_PROGRESS_THREAD=1; not looked at yet
  static constexpr std::uint32_t kOff = 1;
  static constexpr std::uint32_t kOn = 2;
  static void wake();

  static std::atomic<std::uint32_t> mode_;
};

}  // namespace fermata::exec
#endif
