// Caches affinity, quota, localities and environment. Everything is idempotent: threads that ask at the same
// time get the same answer.
#include "anonymous/machine.hpp"

#include <atomic>

#include "os/os.hpp"
#include "sync/atomics.hpp"
#include "sync/handover.hpp"
#include "sync/monitor.hpp"
#include "sync/wait_wanted.hpp"

namespace fermata::anonymous {
namespace {

// The time from the first look to the second. The time doubles with each look, up to kLastLookNs.
constexpr std::int64_t kFirstLookNs = 1'000'000;
constexpr std::int64_t kLastLookNs = 1'000'000'000;
constexpr std::int32_t kCpus = 4096;

std::atomic<WaitKind> g_wait{WaitKind::kAuto};
std::atomic<std::int64_t> g_stall_ns{0};
std::atomic<Cpus> g_cpus{Cpus{}};      // of this process; none: not read yet
std::atomic<Cpus> g_all_cpus{Cpus{}};  // that any process may use; none: not read since the last look
static_assert(std::atomic<Cpus>::is_always_lock_free);
std::atomic<std::int64_t> g_looked{0};  // time of the last look, as os::now_ns()
std::atomic<std::int64_t> g_pause{kFirstLookNs};

struct Localities {
  std::uint32_t count;
  std::uint8_t of[kCpus];
};
std::atomic<Localities*> g_localities{nullptr};

Localities* localities() {
  if (Localities* known = moved_to<RealAtomics>(g_localities); known != nullptr) return known;
  os::Segment segment;
  if (os::create_private(sizeof(Localities), &segment) != Status::kOk) return nullptr;
  auto* made = reinterpret_cast<Localities*>(segment.base);
  made->count = static_cast<std::uint32_t>(os::locality_domains(made->of, kCpus));
  if (!move_once<RealAtomics>(g_localities, made)) os::unmap(&segment);  // another thread was faster
  return moved_to<RealAtomics>(g_localities);
}

Cpus within_quota(std::int32_t count) {
  const std::uint32_t cpus = count > 0 ? static_cast<std::uint32_t>(count) : 1;
  return {cpus, os::within_quota(cpus)};
}

void read_environment() {
  // order: relaxed at both: see settle()
  g_wait.store(wait_kind_or(WaitKind::kAuto), std::memory_order_relaxed);
  g_stall_ns.store(os::stall_ns(), std::memory_order_relaxed);  // order: see above
  MonitorChoice::settle();
  os::settle_moves();
}

// Another process may have made the barrier at which this process waits. So read the environment at load
// time, too: a wait must not read it, since another thread may be changing it.
__attribute__((constructor)) void at_load() { read_environment(); }

}  // namespace

void settle() {
  static constinit std::atomic<bool> settled{false};
  // order: relaxed, both: every thread finds the same values
  if (settled.load(std::memory_order_relaxed) || settled.exchange(true, std::memory_order_relaxed)) return;
  read_environment();
}

// order: relaxed: see settle()
WaitKind wait_kind() { return g_wait.load(std::memory_order_relaxed); }
// order: see above
std::int64_t stall_ns() { return g_stall_ns.load(std::memory_order_relaxed); }

Cpus usable_cpus() {
  // order: relaxed throughout: hints for waiting
  Cpus cpus = g_cpus.load(std::memory_order_relaxed);
  if (cpus.all == 0) {
    cpus = within_quota(os::affinity_count());
    g_looked.store(os::now_ns(), std::memory_order_relaxed);  // order: see above
    g_cpus.store(cpus, std::memory_order_relaxed);            // order: see above
  }
  return cpus;
}

Cpus cpus_of_processes() {
  const Cpus cpus = usable_cpus();
  if (cpus.all > 1) return cpus;
  // order: relaxed throughout: hints for waiting
  Cpus all = g_all_cpus.load(std::memory_order_relaxed);
  if (all.all == 0) {
    all = within_quota(os::online_cpus());
    g_all_cpus.store(all, std::memory_order_relaxed);  // order: see above
  }
  return all;
}

void look_again(std::int64_t now_ns) {
  // order: relaxed throughout: hints for waiting
  std::int64_t looked = g_looked.load(std::memory_order_relaxed);
  const std::int64_t pause = g_pause.load(std::memory_order_relaxed);  // order: see above
  if (now_ns - looked < pause) return;
  // order: see above; the exchange lets only one thread look
  if (!g_looked.compare_exchange_strong(looked, now_ns, std::memory_order_relaxed)) return;
  if (pause < kLastLookNs) g_pause.store(pause * 2, std::memory_order_relaxed);  // order: see above
  g_all_cpus.store(Cpus{}, std::memory_order_relaxed);                           // order: see above
  // order: see above
  g_cpus.store(within_quota(os::process_cpus(os::online_cpus())), std::memory_order_relaxed);
}

std::uint32_t domains() {
  const Localities* known = localities();
  return known != nullptr ? known->count : 1;
}

std::uint32_t current_domain() {
  // This is null if no thread has called domains() yet.
  const Localities* known = moved_to<RealAtomics>(g_localities);
  const std::int32_t cpu = os::current_cpu();
  return known != nullptr && cpu < kCpus ? known->of[cpu] : 0;
}

}  // namespace fermata::anonymous
