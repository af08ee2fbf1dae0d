// Affinity, quota and environment, cached.
#include "anonymous/machine.hpp"

#include <stdlib.h>
#include <string.h>

#include <atomic>

#include "os/os.hpp"

namespace fermata::anonymous {
namespace {

std::atomic<std::uint32_t> g_wait{0};  // 1 + WaitKind; 0: not asked yet
std::atomic<std::uint32_t> g_cpus{0};  // 0: not asked yet

WaitKind read_wait_kind() {
  const char* text = getenv("FERMATA_WAIT");
  const char* const names[] = {"auto", "spin", "yield", "park"};
  for (int i = 0; text != nullptr && i < 4; ++i)
    if (strcmp(text, names[i]) == 0) return static_cast<WaitKind>(i);
  return WaitKind::kAuto;
}

}  // namespace

WaitKind wait_kind() {
  std::uint32_t kind = g_wait.load(std::memory_order_relaxed);  // order: relaxed: every thread would find the same
  if (kind == 0) {
    kind = static_cast<std::uint32_t>(read_wait_kind()) + 1;
    g_wait.store(kind, std::memory_order_relaxed);  // order: see above
  }
  return static_cast<WaitKind>(kind - 1);
}

std::uint32_t usable_cpus() {
  std::uint32_t cpus = g_cpus.load(std::memory_order_relaxed);  // order: relaxed: a hint for waiting
  if (cpus == 0) {
    const double quota = os::cgroup_quota().cpus;
    cpus = static_cast<std::uint32_t>(os::affinity_count());
    if (quota > 0 && quota < cpus) cpus = quota < 1 ? 1 : static_cast<std::uint32_t>(quota);
    g_cpus.store(cpus, std::memory_order_relaxed);  // order: see above
  }
  return cpus;
}

}  // namespace fermata::anonymous
