#include <stdlib.h>
#include <strings.h>

#include <algorithm>
#include <cstdint>

#include "objects.hpp"
#include "region.hpp"
#include "resident.hpp"

namespace fermata::preload {
namespace {

constexpr int kLeastLimit = 1 << 16;

// libgomp's idle threads spin so often by OMP_WAIT_POLICY, and then sleep.
constexpr std::uint64_t kDefaultSpins = 300'000, kActiveSpins = 30'000'000'000, kMostSpins = kActiveSpins;
constexpr std::uint64_t kSpinNs = 20;  // a short one: AMD EPYC 20 ns, Intel Xeon (Sapphire Rapids) 56 ns

// GOMP_SPINCOUNT: a number with k, M, G or T behind it, or a word for no end. Returns `otherwise` for any
// other text, and for none.
std::uint64_t spins_by(const char* text, std::uint64_t otherwise) {
  if (text == nullptr) return otherwise;
  for (const char* const endless : {"infinite", "infinity"})
    if (strcasecmp(text, endless) == 0) return kMostSpins;
  char* end = nullptr;
  const std::uint64_t number = strtoull(text, &end, 10);
  if (end == text || *text == '-') return otherwise;
  std::uint64_t unit = 1;
  for (const char* letter = "kmgt"; *end != '\0' && *letter != '\0'; ++letter) {
    unit *= 1'000;
    if ((*end | 0x20) != *letter) continue;
    ++end;
    return *end != '\0' ? otherwise : std::min(number, kMostSpins / unit) * unit;
  }
  return *end != '\0' ? otherwise : std::min(number, kMostSpins);
}

constexpr const char* kWays[] = {"GOMP_parallel", "GOMP_teams", "omp_pause_resource"};
constexpr const char* kOpenAcc[] = {"acc_", "GOACC_"};

// Does any object reach the run-time library's threads without this library (RTLD_DEEPBIND), or use OpenACC,
// whose state is in the same thread-local memory?
bool is_hindered(const RunTime& run_time) {
  std::uintptr_t span = 0;
  for_each_loaded([&](const dl_phdr_info& info) {
    const Object object(info);
    if (object.low() != run_time.low) return false;
    span = object.span();
    return true;
  });
  bool hindered = false;
  for_each_loaded([&](const dl_phdr_info& user) {
    hindered = Object(user).any_import([&](const char* name, void* const* slot) {
      if (begins_with_any(name, kOpenAcc)) return true;
      // order: none: the loader writes whole words
      const void* bound = *static_cast<void* const volatile*>(slot);
      return begins_with_any(name, kWays) && reinterpret_cast<std::uintptr_t>(bound) - run_time.low < span;
    });
    return hindered;
  });
  return hindered;
}

}  // namespace

std::uint32_t awake_us() {
  const char* const policy = secure_getenv("OMP_WAIT_POLICY");
  const bool passive = policy != nullptr && strcasecmp(policy, "passive") == 0;
  const bool active = policy != nullptr && strcasecmp(policy, "active") == 0;
  const std::uint64_t spins = spins_by(secure_getenv("GOMP_SPINCOUNT"), passive  ? 0
                                                                        : active ? kActiveSpins
                                                                                 : kDefaultSpins);
  return static_cast<std::uint32_t>(spins * kSpinNs / 1'000);
}

bool may_reside(const RunTime& run_time) {
  const bool answers = run_time.max_threads != nullptr && run_time.dynamic != nullptr &&
                       run_time.thread_limit != nullptr && run_time.max_active_levels != nullptr &&
                       run_time.schedule != nullptr;
  return run_time.planned && !run_time.wrapped && answers && !run_time.has(Family::kKmp) &&
         run_time.find(gomp::kParallelStart) != nullptr && run_time.find(gomp::kParallelEnd) != nullptr &&
         run_time.dynamic() == 0 && run_time.thread_limit() >= kLeastLimit && run_time.cancellation() == 0 &&
         !tasks_are_used() && !is_hindered(run_time);
}

}  // namespace fermata::preload
