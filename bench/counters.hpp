// What the kernel counts for a thread beside its time: work of its core, misses of its caches, page faults.
// By perf_event_open; power8-barriers (section VI.D) explains its times with such counters.
#ifndef FERMATA_BENCH_COUNTERS_HPP
#define FERMATA_BENCH_COUNTERS_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace fermata::bench {

// The names in result files, and the head of a table's column (6 characters at most).
struct CounterName {
  const char* name;
  const char* head;
};
inline constexpr std::array<CounterName, 9> kCounters = {{{"cycles", "cycles"},
                                                          {"instructions", "instr"},
                                                          {"cache_misses", "miss"},
                                                          {"l1d_load_misses", "L1 ld"},
                                                          {"llc_load_misses", "LLC ld"},
                                                          {"llc_store_misses", "LLC st"},
                                                          {"llc_prefetches", "pref"},
                                                          {"page_faults", "faults"},
                                                          {"migrations", "migr"}}};
inline constexpr std::size_t kCounterCount = kCounters.size();
// One number for each of kCounters; NaN: it was not counted.
using Counts = std::array<double, kCounterCount>;

inline constexpr Counts kNotCounted = [] {
  Counts none{};
  none.fill(__builtin_nan(""));
  return none;
}();

// The counters of the calling thread. More hardware events than the core has counters take turns in them, and
// the kernel says for how long each of them was counted: then a count is an estimate, scaled up to the whole
// time.
class ThreadCounters {
 public:
  ThreadCounters();
  ~ThreadCounters();
  ThreadCounters(const ThreadCounters&) = delete;
  ThreadCounters& operator=(const ThreadCounters&) = delete;

  // The instance of the calling thread, made by its first call and kept until the thread ends.
  static ThreadCounters& mine();

  struct Reading {
    std::uint64_t count = 0, enabled_ns = 0, running_ns = 0;
  };
  using Readings = std::array<Reading, kCounterCount>;
  Readings read() const;
  Counts since(const Readings& begin) const { return between(begin, read()); }
  static Counts between(const Readings& begin, const Readings& end);

 private:
  std::array<int, kCounterCount> descriptors_;
};

// Which of kCounters a thread of this process can use, and why not the others: one line. `denied`: an errno
// that stands in place of the kernel's answers (for tests); 0: ask the kernel.
std::string counter_source(int denied = 0);

}  // namespace fermata::bench
#endif
