// Monitored waits: the CPU itself waits until another CPU writes to a line. Meanwhile it uses less energy,
// and leaves its core to the sibling hyperthread. It wakes up later than a loop of pauses. So it is only for
// waits that have outlasted the first spin, and only where a measurement says that it wakes up fast enough.
//
//   kUmwait   UMONITOR, UMWAIT      Intel; the kernel bounds the time by IA32_UMWAIT_CONTROL, too
//   kMwaitx   MONITORX, MWAITX      AMD
//   kWfet     LDAXR, WFET           Armv8.7
//   kWfe      LDAXR, WFE            older Arm; the kernel's event stream ends it after up to 100 us
//
// On POWER a pause lowers the thread's priority, which does the same (sync/atomics.hpp).
#ifndef FERMATA_SYNC_MONITOR_HPP
#define FERMATA_SYNC_MONITOR_HPP

#include <atomic>
#include <cstdint>

#include "os/environment.hpp"
#include "os/os.hpp"
#include "sync/atomics.hpp"

namespace fermata {

using os::Monitor;

// The clock of the monitored waits: TSC or CNTVCT.
inline std::uint64_t monitor_ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t ticks;
  __asm__ __volatile__("isb; mrs %0, cntvct_el0" : "=r"(ticks)::"memory");
  return ticks;
#else
  return 0;
#endif
}

// A few us: the idle hook, the time limit and the policy are served between two monitored waits.
inline std::uint64_t longest_monitored_wait() {
#if defined(__aarch64__)
  std::uint64_t in_second;
  __asm__("mrs %0, cntfrq_el0" : "=r"(in_second));
  return in_second / 250'000;
#else
  return 10'000;
#endif
}

// Waits until `word`, which holds 8 bytes, may have been written, for at most `ticks`. Returns at once if
// ready() is true once the CPU watches the line: then no write is missed. It may return early for other
// reasons. kNone pauses.
template <class Ready>
inline void monitored_wait(Monitor kind, const void* word, std::uint64_t ticks, Ready&& ready) {
#if defined(__x86_64__)
  if (kind == Monitor::kUmwait) {
    __asm__ __volatile__("umonitor %0" ::"r"(word) : "memory");
    if (ready()) return;
    const std::uint64_t end = monitor_ticks() + ticks;
    // 1: the state from which the CPU wakes up faster
    __asm__ __volatile__("umwait %0" ::"r"(1), "a"(static_cast<std::uint32_t>(end)),
                         "d"(static_cast<std::uint32_t>(end >> 32))
                         : "memory", "cc");
    return;
  }
  if (kind == Monitor::kMwaitx) {
    __asm__ __volatile__("monitorx" ::"a"(word), "c"(0), "d"(0) : "memory");
    if (ready()) return;
    // 0xf0: no deeper state; 2: the time limit in ebx holds
    __asm__ __volatile__("mwaitx" ::"a"(0xf0), "c"(2), "b"(static_cast<std::uint32_t>(ticks)) : "memory");
    return;
  }
#elif defined(__aarch64__)
  if (kind == Monitor::kWfe || kind == Monitor::kWfet) {
    std::uint64_t seen;
    // A write by another CPU to the line of a load-exclusive is an event, also before the WFE.
    __asm__ __volatile__("ldaxr %0, [%1]" : "=r"(seen) : "r"(word) : "memory");
    if (ready()) return;
    if (kind == Monitor::kWfe) {
      __asm__ __volatile__("wfe" ::: "memory");
      return;
    }
    register std::uint64_t end __asm__("x0") = monitor_ticks() + ticks;
    __asm__ __volatile__(".inst 0xd5031000" ::"r"(end) : "memory");  // wfet x0
    return;
  }
#endif
  (void)kind, (void)word, (void)ticks, (void)ready;
  RealAtomics::pause();
}

// What the choice measures. Tests pretend other CPUs.
struct ThisCpu {
  std::uint64_t ticks() const { return monitor_ticks(); }
  void pause() const { RealAtomics::pause(); }
  void wait(Monitor kind, std::uint64_t ticks) const {
    const std::uint64_t word = 0;
    monitored_wait(kind, &word, ticks, [] { return false; });
  }
};

// A monitored wait may wake up later than a pause by 1 / kMonitorPart of the first spin, which has passed
// before it.
inline constexpr std::int64_t kMonitorPart = 20;
inline constexpr int kMonitorTries = 9;

// How late a loop that waits for a time ends. A write ends a monitored wait from the same state of the CPU as
// the time limit does. Median of some tries.
template <class Cpu, class Wait>
std::int64_t lateness(const Cpu& cpu, std::uint64_t ticks, Wait&& wait) {
  std::int64_t sorted[kMonitorTries];
  for (int tries = 0; tries < kMonitorTries; ++tries) {
    const std::uint64_t end = cpu.ticks() + ticks;
    for (std::uint64_t now; (now = cpu.ticks()) < end;) wait(end - now);
    const auto late = static_cast<std::int64_t>(cpu.ticks() - end);
    int at = tries;
    for (; at > 0 && sorted[at - 1] > late; --at) sorted[at] = sorted[at - 1];
    sorted[at] = late;
  }
  return sorted[kMonitorTries / 2];
}

// `pauses`: of the first spin. It takes some ten us.
template <class Cpu>
bool is_monitor_worth(const Cpu& cpu, Monitor kind, std::uint32_t pauses) {
  if (kind == Monitor::kNone) return false;
  if (kind == Monitor::kWfe) return false;  // it may sleep for several times as long as a spin shall last
  const std::uint64_t begin = cpu.ticks();
  for (std::uint32_t n = 0; n < pauses; ++n) cpu.pause();
  const auto spin = static_cast<std::int64_t>(cpu.ticks() - begin);
  const auto wait = static_cast<std::uint64_t>(spin / 4);
  const std::int64_t paused = lateness(cpu, wait, [&](std::uint64_t) { cpu.pause(); });
  const std::int64_t monitored = lateness(cpu, wait, [&](std::uint64_t left) { cpu.wait(kind, left); });
  return monitored - paused <= spin / kMonitorPart;
}

// The monitored wait that members of this process use: FERMATA_MONITOR decides, else a measurement, once.
inline Monitor chosen_monitor() {
  constexpr int kUnknown = -1;
  constexpr std::uint32_t kPauses = 256;
  static constinit std::atomic<int> chosen{kUnknown};
  // order: relaxed, both: threads that measure at the same time may choose differently, which is harmless
  int kind = chosen.load(std::memory_order_relaxed);
  if (kind == kUnknown) {
    const int wanted = os::choice_of(os::Variable::kMonitor);
    Monitor best = wanted == 0 ? Monitor::kNone : os::best_monitor(os::monitor_features());
    if (wanted != 1 && !is_monitor_worth(ThisCpu{}, best, kPauses)) best = Monitor::kNone;
    kind = static_cast<int>(best);
    chosen.store(kind, std::memory_order_relaxed);  // order: see above
  }
  return static_cast<Monitor>(kind);
}

}  // namespace fermata
#endif
