// The clocks of the benchmarks: CLOCK_MONOTONIC, and a finer counter for the episodes of latency batches.
#ifndef FERMATA_BENCH_CLOCK_HPP
#define FERMATA_BENCH_CLOCK_HPP

#include <sys/resource.h>
#include <time.h>

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace fermata::bench {

inline std::uint64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1000000000u + static_cast<std::uint64_t>(t.tv_nsec);
}

// What the calling thread has used so far.
struct ThreadUse {
  std::uint64_t cpu_ns, switches;
};
inline ThreadUse thread_use() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  rusage use;
  getrusage(RUSAGE_THREAD, &use);
  return {static_cast<std::uint64_t>(t.tv_sec) * 1000000000u + static_cast<std::uint64_t>(t.tv_nsec),
          static_cast<std::uint64_t>(use.ru_nvcsw + use.ru_nivcsw)};
}

// A counter that all CPUs share: on x86 the time stamp counter, which must be invariant (this is not
// checked). rdtscp waits for earlier loads, so a departure is not stamped early. Later stores become visible
// after the stamp.
inline std::uint64_t ticks() {
#if defined(__x86_64__)
  unsigned cpu;
  return __rdtscp(&cpu);
#else
  return now_ns();
#endif
}

inline void cpu_pause() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#else
  asm volatile("" ::: "memory");
#endif
}

// A delay for EPCC's method: a dependent chain that touches no memory, about one CPU cycle per round.
inline void delay(std::uint64_t rounds) {
  for (std::uint64_t i = 0; i < rounds; ++i) asm volatile("" : "+r"(i)::);
}

inline void spin_ns(std::uint64_t ns) {
  const std::uint64_t end = now_ns() + ns;
  while (now_ns() < end) cpu_pause();
}

}  // namespace fermata::bench
#endif
