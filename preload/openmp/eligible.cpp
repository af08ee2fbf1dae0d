#include <cstdint>

#include "objects.hpp"
#include "region.hpp"
#include "resident.hpp"

namespace fermata::preload {
namespace {

constexpr int kLeastLimit = 1 << 16;

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
