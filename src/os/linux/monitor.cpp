// Which wait for a write to a line the CPU has.
#include <sys/auxv.h>

#include "os/os.hpp"
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace fermata::os {

Monitor best_monitor(const MonitorFeatures& has) {
  if (has.waitpkg) return Monitor::kUmwait;
  if (has.monitorx) return Monitor::kMwaitx;
  if (has.wfxt) return Monitor::kWfet;
  // Without the event stream, a WFE that misses its event sleeps until the next interrupt.
  return has.event_stream ? Monitor::kWfe : Monitor::kNone;
}

MonitorFeatures monitor_features() {
  MonitorFeatures has;
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  has.waitpkg = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (c & 1u << 5) != 0;
  has.monitorx = __get_cpuid(0x80000001u, &a, &b, &c, &d) != 0 && (c & 1u << 29) != 0;
#elif defined(__aarch64__)
  has.event_stream = (getauxval(AT_HWCAP) & 1ul << 2) != 0;  // HWCAP_EVTSTRM
  has.wfxt = (getauxval(AT_HWCAP2) & 1ul << 31) != 0;        // HWCAP2_WFXT
#endif
  return has;
}

}  // namespace fermata::os
