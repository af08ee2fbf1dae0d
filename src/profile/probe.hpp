// Runs a probe. Its members are pinned threads, or pinned forked processes with shared mappings. In
// sample(), they follow the commands of member 0. Each command is one sample, except a point's first one or
// two, which warm up and find the number of rounds, and the last of all, which ends the members.
// A point is one of the quantities that the probe measures. The samples of all points are interleaved; a
// point's result is the median of its samples.
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

// A flag alone on its cache line, and alone on the pair of lines that a prefetcher fetches together.
struct alignas(kMaxLine) Flag {
  std::atomic<std::uint64_t> value{0};
};

// Ends all members when one member fails or the time is up. A probe may fail, but must not hang.
struct Control {
  Flag aborted, arrived, finished;
  std::int64_t deadline_ns = 0;  // run_members() sets it before the members start

  bool expired();  // aborts if the deadline has passed; returns true if the probe is aborted
};

// A command of member 0 to the other members.
struct Command {
  Flag number;  // counts commands; published after the fields below
  std::int32_t point = 0;
  std::uint32_t rounds = 0;
  std::uint64_t base = 0;        // rounds of all earlier commands: episode numbers continue from here
  std::uint64_t point_base = 0;  // rounds of this point's earlier commands
};

// Shared, zeroed memory that child processes inherit. For types whose initial value is all zeros
// and which need no destructor: neither constructors nor destructors run.
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

// Polls as a team's barrier does: a load, and a pause after each load that fails. Returns false if the probe
// is aborted and the value has not come.
inline bool await(const std::atomic<std::uint64_t>& flag, std::uint64_t value, Control& control) {
  // order: acquire, as kSlotAwait; pairs with the release store or add of the member that signals
  for (std::uint32_t n = 1; flag.load(std::memory_order_acquire) < value; ++n) {
    RealAtomics::pause();
    if ((n & 0xfff) == 0) os::yield();  // after many line latencies: members may share a CPU
    if ((n & 0x3ffff) == 0 && control.expired()) return false;
  }
  return true;
}

// Polls without a pause. This measures the latency of the line alone, mostly less than with await().
inline bool await_bare(const std::atomic<std::uint64_t>& flag, std::uint64_t value, Control& control) {
  // order: acquire, as kSlotAwait; pairs with signal
  for (std::uint32_t n = 1; flag.load(std::memory_order_acquire) < value; ++n)
    if ((n & 0xfffff) == 0 && control.expired()) return false;
  return true;
}

inline void signal(std::atomic<std::uint64_t>& flag, std::uint64_t value) {
  flag.store(value, std::memory_order_release);  // order: release, as kSlotPublish; pairs with await
}

// Runs work(member) for each member, in a thread or forked process of its own, and waits until all have
// ended. If one cannot be made, calls stop(), which must make the others end, and returns false.
bool run_apart(bool processes, std::size_t members, const std::function<void(int)>& work,
               const std::function<void()>& stop);

struct Setting {
  std::vector<std::int32_t> cpus;  // one per member; may repeat
  bool processes = false;
  // Budget of the whole probe. If others use the CPUs, it may take longer. It is aborted after 20 times the
  // budget plus 3 s.
  double seconds = 0.1;
};

// Runs body(member) once in each member, pinned. Returns false if a member could not be created or pinned or
// did not reach its end, or if the probe was aborted, for example because the deadline passed.
bool run_members(const Setting& setting, Control& control, const std::function<void(int)>& body);

// One member's part of a command: runs all its rounds.
using Role = std::function<void(int member, const Command& command, Control& control)>;

// Median ns per round for each of `points`, as member 0 measures it; empty if the probe failed. At most 40
// points.
std::vector<double> sample(const Setting& setting, std::int32_t points, const Role& role);

// A role that takes the time itself, so that it can leave out a part of each round. Member 0's result counts:
// ns of all rounds.
using TimedRole = std::function<double(int member, const Command& command, Control& control)>;
std::vector<double> sample_timed(const Setting& setting, std::int32_t points, const TimedRole& role);

}  // namespace fermata::probe
#endif
