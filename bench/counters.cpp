#include "bench/counters.hpp"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <vector>

namespace fermata::bench {
namespace {

constexpr std::uint64_t cache(std::uint64_t level, std::uint64_t access, std::uint64_t result) {
  return level | access << 8 | result << 16;
}

struct Event {
  std::uint32_t type;
  std::uint64_t config;
  // Whether it happens in the kernel. Others are counted in user mode alone, which needs no privilege up to
  // perf_event_paranoid 2.
  bool in_kernel = false;
};
// In the order of kCounters. A line that another core has written is an L1 miss when it is read. Whether it
// is also a miss of the last level depends on the processor.
constexpr std::array<Event, kCounterCount> kEvents = {{
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {PERF_TYPE_HW_CACHE,
     cache(PERF_COUNT_HW_CACHE_L1D, PERF_COUNT_HW_CACHE_OP_READ, PERF_COUNT_HW_CACHE_RESULT_MISS)},
    {PERF_TYPE_HW_CACHE,
     cache(PERF_COUNT_HW_CACHE_LL, PERF_COUNT_HW_CACHE_OP_READ, PERF_COUNT_HW_CACHE_RESULT_MISS)},
    {PERF_TYPE_HW_CACHE,
     cache(PERF_COUNT_HW_CACHE_LL, PERF_COUNT_HW_CACHE_OP_WRITE, PERF_COUNT_HW_CACHE_RESULT_MISS)},
    {PERF_TYPE_HW_CACHE,
     cache(PERF_COUNT_HW_CACHE_LL, PERF_COUNT_HW_CACHE_OP_PREFETCH, PERF_COUNT_HW_CACHE_RESULT_ACCESS)},
    {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, true},
}};

constexpr auto kHardwareEvents = static_cast<std::size_t>(std::count_if(
    kEvents.begin(), kEvents.end(), [](const Event& e) { return e.type != PERF_TYPE_SOFTWARE; }));

// A descriptor, or -errno.
int open_event(const Event& event) {
  perf_event_attr attributes = {};
  attributes.type = event.type;
  attributes.size = sizeof attributes;
  attributes.config = event.config;
  attributes.exclude_kernel = !event.in_kernel;
  attributes.exclude_hv = 1;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  const long descriptor = syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  return descriptor >= 0 ? static_cast<int>(descriptor) : -errno;
}

// A team of 128 threads needs more descriptors than the usual soft limit of 1,024.
void raise_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

std::string reason(int error) {
  if (error == EACCES || error == EPERM) {
    std::ifstream file("/proc/sys/kernel/perf_event_paranoid");
    std::string level;
    if (file >> level) return "not allowed, perf_event_paranoid is " + level;
    return "not allowed";
  }
  if (error == ENOENT || error == EOPNOTSUPP || error == ENODEV || error == EINVAL)
    return "this machine has none";
  return strerror(error);
}

}  // namespace

ThreadCounters::ThreadCounters() {
  raise_file_limit();
  for (std::size_t i = 0; i < kCounterCount; ++i) descriptors_[i] = open_event(kEvents[i]);
}

ThreadCounters::~ThreadCounters() {
  for (const int descriptor : descriptors_)
    if (descriptor >= 0) close(descriptor);
}

ThreadCounters& ThreadCounters::mine() {
  thread_local ThreadCounters counters;
  return counters;
}

ThreadCounters::Readings ThreadCounters::read() const {
  Readings readings;
  for (std::size_t i = 0; i < kCounterCount; ++i) {
    std::uint64_t values[3];  // in the order of read_format: count, time enabled, time running
    if (descriptors_[i] >= 0 && ::read(descriptors_[i], values, sizeof values) == sizeof values)
      readings[i] = {values[0], values[1], values[2]};
  }
  return readings;
}

Counts ThreadCounters::between(const Readings& begin, const Readings& end) {
  Counts counts = kNotCounted;
  for (std::size_t i = 0; i < kCounterCount; ++i) {
    const std::uint64_t running_ns = end[i].running_ns - begin[i].running_ns;
    if (end[i].running_ns <= begin[i].running_ns) continue;  // no counter, or it never had a turn
    counts[i] = static_cast<double>(end[i].count - begin[i].count) *
                static_cast<double>(end[i].enabled_ns - begin[i].enabled_ns) /
                static_cast<double>(running_ns);
  }
  return counts;
}

std::string counter_source(int denied) {
  const auto add = [](std::string& list, const char* name) {
    list += list.empty() ? name : std::string(", ") + name;
  };
  struct Missing {
    std::string why, names;
    std::size_t count = 0, of_hardware = 0;
  };
  std::string counted;
  std::vector<Missing> missing;
  for (std::size_t i = 0; i < kCounterCount; ++i) {
    const int descriptor = denied != 0 ? -denied : open_event(kEvents[i]);
    if (descriptor >= 0) {
      close(descriptor);
      add(counted, kCounters[i].name);
      continue;
    }
    const std::string why = reason(-descriptor);
    if (missing.empty() || missing.back().why != why) missing.push_back({why, "", 0, 0});
    add(missing.back().names, kCounters[i].name);
    ++missing.back().count;
    if (kEvents[i].type != PERF_TYPE_SOFTWARE) ++missing.back().of_hardware;
  }
  for (const Missing& m : missing) {
    const bool hardware = m.of_hardware == kHardwareEvents && m.count == kHardwareEvents;
    if (m.count == kCounterCount) return "none: " + m.why;
    counted += (counted.empty() ? "" : "; ") + (hardware ? "no events of hardware" : "not " + m.names) +
               ": " + m.why;
  }
  return counted;
}

}  // namespace fermata::bench
