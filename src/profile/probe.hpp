// Running a probe: members pinned to CPUs, as threads or as forked processes over one shared mapping, that
// follow the first member's commands. Each command is one sample; points are interleaved, and a point's
// result is the median.
#ifndef FERMATA_PROFILE_PROBE_HPP
#define FERMATA_PROFILE_PROBE_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/line.hpp"
#include "os/os.hpp"
#include "sync/atomics.hpp"

namespace fermata::probe {

// A flag alone on its line and on the pair of lines that prefetchers fetch together.
struct alignas(kMaxLine) Flag {
  std::atomic<std::uint64_t> value{0};
};

// Lets everybody out when one member fails or time is up: a probe may fail, it may not hang.
struct Control {
  Flag aborted, arrived, finished;
  std::int64_t deadline_ns = 0;  // written before the members start

  bool expired();  // also aborts when the deadline has passed
};

// What member 0 asks of the others.
struct Command {
  Flag number;  // counts commands; published after the fields below
  std::int32_t point = 0;
  std::uint32_t rounds = 0;
  std::uint64_t base = 0;        // rounds of all commands before: episodes go on from here
  std::uint64_t point_base = 0;  // rounds of this point's commands before
};

// Shared, zeroed memory that children inherit. Trivial types only: nothing is destroyed.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  explicit operator bool() const { return base_ != nullptr; }
  template <class T>
  T* at(std::size_t offset) const {
    return reinterpret_cast<T*>(base_ + offset);
  }

 private:
  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
};

// Polls like the production cursor: load, and a pause after each failed look. False: aborted.
inline bool await(const std::atomic<std::uint64_t>& flag, std::uint64_t value, Control& control) {
  // order: acquire, as kSlotAwait; pairs with the release store or add of the member that signals
  for (std::uint32_t n = 1; flag.load(std::memory_order_acquire) < value; ++n) {
    RealAtomics::pause();
    if ((n & 0xfff) == 0) os::yield();  // after a hundred times what a line takes: members may share a CPU
    if ((n & 0x3ffff) == 0 && control.expired()) return false;
  }
  return true;
}

// Without a pause: the line's own latency, the bound that other figures are set beside.
inline bool await_bare(const std::atomic<std::uint64_t>& flag, std::uint64_t value, Control& control) {
  // order: acquire, as kSlotAwait; pairs with signal
  for (std::uint32_t n = 1; flag.load(std::memory_order_acquire) < value; ++n)
    if ((n & 0xfffff) == 0 && control.expired()) return false;
  return true;
}

inline void signal(std::atomic<std::uint64_t>& flag, std::uint64_t value) {
  flag.store(value, std::memory_order_release);  // order: release, as kSlotPublish; pairs with await
}

struct Setting {
  std::vector<std::int32_t> cpus;  // of the members; may repeat
  bool processes = false;
  double seconds = 0.1;  // budget of the whole probe
};

// Runs body(member) once in each member, pinned. False: a member could not be made or pinned, or the deadline
// passed.
bool run_members(const Setting& setting, Control& control, const std::function<void(int)>& body);

// One member's part of a command's rounds.
using Role = std::function<void(int member, const Command& command, Control& control)>;

// Median ns per round for each of `points`, as member 0 sees it; empty if the probe failed.
std::vector<double> sample(const Setting& setting, std::int32_t points, const Role& role);

}  // namespace fermata::probe
#endif
