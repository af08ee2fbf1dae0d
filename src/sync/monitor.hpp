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

#include <algorithm>
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

// What the choice measures. Tests pretend other CPUs. `word`: what the wait awaits.
struct ThisCpu {
  const void* word;
  std::uint64_t ticks() const { return monitor_ticks(); }
  void pause() const { RealAtomics::pause(); }
  template <class Ready>
  void wait(Monitor kind, std::uint64_t ticks, Ready&& ready) const {
    monitored_wait(kind, word, ticks, ready);
  }
};

// A monitored wait may wake up later than a pause by 1 / kMonitorPart of the first spin, which has passed
// before it.
inline constexpr std::int64_t kMonitorPart = 20;
inline constexpr int kMonitorTries = 9;
inline constexpr std::int64_t kNotMeasured = -1;

// How late a loop that waits for a time ends. A write ends a monitored wait from the same state of the CPU as
// the time limit does. Median of some tries. kNotMeasured: ready() has become true meanwhile.
template <class Cpu, class Wait, class Ready>
std::int64_t lateness(const Cpu& cpu, std::uint64_t ticks, Wait&& wait, Ready&& ready) {
  std::int64_t sorted[kMonitorTries];
  for (int tries = 0; tries < kMonitorTries; ++tries) {
    const std::uint64_t end = cpu.ticks() + ticks;
    for (std::uint64_t now; (now = cpu.ticks()) < end;) {
      if (ready()) return kNotMeasured;
      wait(end - now);
    }
    const auto late = static_cast<std::int64_t>(cpu.ticks() - end);
    int at = tries;
    for (; at > 0 && sorted[at - 1] > late; --at) sorted[at] = sorted[at - 1];
    sorted[at] = late;
  }
  return sorted[kMonitorTries / 2];
}

enum class Worth : std::uint8_t { kNo, kYes, kInterrupted };

// `pauses`: of the first spin. It takes about five times as long as that spin, some ten us, unless ready()
// becomes true meanwhile. The spin counts as four times its shortest quarter: the thread may lose its CPU.
template <class Cpu, class Ready>
Worth is_monitor_worth(const Cpu& cpu, Monitor kind, std::uint32_t pauses, Ready&& ready) {
  if (kind == Monitor::kNone) return Worth::kNo;
  if (kind == Monitor::kWfe)
    return Worth::kNo;  // it may sleep for several times as long as a spin shall last
  constexpr std::uint32_t kParts = 4;
  std::uint64_t wait = UINT64_MAX;
  for (std::uint32_t part = 0; part < kParts; ++part) {
    const std::uint64_t begin = cpu.ticks();
    for (std::uint32_t n = 0; n < pauses / kParts; ++n) {
      if (ready()) return Worth::kInterrupted;
      cpu.pause();
    }
    wait = std::min(wait, cpu.ticks() - begin);
  }
  const auto spin = static_cast<std::int64_t>(kParts * wait);
  const std::int64_t paused = lateness(cpu, wait, [&](std::uint64_t) { cpu.pause(); }, ready);
  if (paused == kNotMeasured) return Worth::kInterrupted;
  const std::int64_t monitored =
      lateness(cpu, wait, [&](std::uint64_t left) { cpu.wait(kind, left, ready); }, ready);
  if (monitored == kNotMeasured) return Worth::kInterrupted;
  return monitored - paused <= spin / kMonitorPart ? Worth::kYes : Worth::kNo;
}

// The monitored wait of this process's members: FERMATA_MONITOR decides, else a measurement. The first wait
// that spins on after its first spin measures, as a part of its spin. If that wait ends before, the next such
// wait measures. So a process without such waits pays nothing. A wait that measures may end late by one
// wake-up of the CPU's own wait.
class MonitorChoice {
 public:
  // Before the process's first wait. Reads the environment, once: a wait must not read it, since another
  // thread may be changing it.
  static void settle() {
    // order: relaxed, here and below: threads that settle or measure at the same time may choose differently,
    // which is harmless
    if (chosen_.load(std::memory_order_relaxed) != kUnread) return;
    const int wanted = os::choice_of(os::Variable::kMonitor);
    const int kind = wanted == 0   ? static_cast<int>(Monitor::kNone)
                     : wanted == 1 ? static_cast<int>(os::best_monitor(os::monitor_features()))
                                   : kUnasked;
    chosen_.store(kind, std::memory_order_relaxed);  // order: see above
  }
  // False: the process has none.
  static bool may_wait() {
    // order: relaxed: see settle()
    return chosen_.load(std::memory_order_relaxed) != static_cast<int>(Monitor::kNone);
  }
  // For a wait that spins on. kNone: it pauses. ready(): what it awaits, in `word`, has come.
  template <class Ready>
  static Monitor of_wait(const void* word, Ready&& ready) {
    int kind = chosen_.load(std::memory_order_relaxed);  // order: relaxed: see settle()
    if (kind == kUnasked) kind = kMeasures + static_cast<int>(os::best_monitor(os::monitor_features()));
    if (kind >= kMeasures) {
      constexpr std::uint32_t kPauses = 256;
      const auto best = static_cast<Monitor>(kind - kMeasures);
      const Worth worth = is_monitor_worth(ThisCpu{word}, best, kPauses, ready);
      if (worth == Worth::kInterrupted) {
        int unasked = kUnasked;  // not what another thread has measured meanwhile
        // order: relaxed: see settle()
        chosen_.compare_exchange_strong(unasked, kind, std::memory_order_relaxed);
        return Monitor::kNone;
      }
      kind = static_cast<int>(worth == Worth::kYes ? best : Monitor::kNone);
      chosen_.store(kind, std::memory_order_relaxed);  // order: relaxed: see settle()
    }
    return kind < 0 ? Monitor::kNone : static_cast<Monitor>(kind);
  }
  // Waits by the chosen kind for at most longest_monitored_wait(). False: none is chosen.
  template <class Ready>
  static bool wait(const void* word, Ready&& ready) {
    const Monitor kind = of_wait(word, ready);
    if (kind == Monitor::kNone) return false;
    monitored_wait(kind, word, longest_monitored_wait(), ready);
    return true;
  }

 private:
  // No kinds. kMeasures + kind: the CPU has this kind, which is not measured yet.
  static constexpr int kUnread = -1, kUnasked = -2, kMeasures = 16;
  static constinit inline std::atomic<int> chosen_{kUnread};
};

}  // namespace fermata
#endif
