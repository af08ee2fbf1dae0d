#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <cstdint>

#include "notice.hpp"
#include "objects.hpp"
#include "region.hpp"
#include "resident.hpp"

namespace fermata::preload {
namespace {

constexpr int kLeastLimit = 1 << 16;

// libgomp's idle threads spin so often by OMP_WAIT_POLICY, and then sleep.
constexpr std::uint64_t kDefaultSpins = 300'000, kActiveSpins = 30'000'000'000, kMostSpins = kActiveSpins;
constexpr std::uint64_t kCrowdedSpins = 100, kCrowdedActiveSpins = 1'000;  // if it has more threads than CPUs
constexpr std::uint64_t kSpinNs = 20;  // a short one: AMD EPYC 20 ns, Intel Xeon (Sapphire Rapids) 56 ns

const char* after_blanks(const char* text) { return text + strspn(text, " \t\n\v\f\r"); }

bool is_word(const char* text, const char* word) {
  const std::size_t length = strlen(word);
  return strncasecmp(text, word, length) == 0 && *after_blanks(text + length) == '\0';
}

// A number, and perhaps k, M, G or T, or a word for no end. Any other text: `otherwise`.
std::uint64_t count_of(const char* text, std::uint64_t otherwise) {
  text = after_blanks(text);
  if (is_word(text, "infinite") || is_word(text, "infinity")) return kMostSpins;
  char* end = nullptr;
  const std::uint64_t number = strtoull(text, &end, 10);
  if (end == text || *text == '-') return otherwise;
  std::uint64_t unit = 1;
  const char* rest = after_blanks(end);
  if (const char* const letter = *rest != '\0' ? strchr("kmgt", *rest | 0x20) : nullptr; letter != nullptr) {
    for (const char* l = "kmgt"; l <= letter; ++l) unit *= 1'000;
    rest = after_blanks(rest + 1);
  }
  if (*rest != '\0') return otherwise;
  return number > kMostSpins / unit ? kMostSpins : number * unit;
}

constexpr const char* kWays[] = {"GOMP_parallel", "GOMP_teams", "omp_pause_resource"};
constexpr const char* kNever[] = {"acc_",
                                  "GOACC_",
                                  "GOMP_loop_ordered_static_",
                                  "GOMP_loop_ordered_runtime_",
                                  "GOMP_loop_ordered_start",
                                  "GOMP_loop_ull_ordered_static_",
                                  "GOMP_loop_ull_ordered_runtime_",
                                  "GOMP_loop_ull_ordered_start"};

// Does any object reach the run-time library's threads without this library (RTLD_DEEPBIND), or use OpenACC,
// whose state is in the same thread-local memory? Or has it static ordered loops? An empty one releases the
// first thread of a team, which stays released until the next ordered loop of that team.
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
      if (begins_with_any(name, kNever)) return true;
      // order: none: the loader writes whole words
      const void* bound = *static_cast<void* const volatile*>(slot);
      return begins_with_any(name, kWays) && reinterpret_cast<std::uintptr_t>(bound) - run_time.low < span;
    });
    return hindered;
  });
  return hindered;
}

}  // namespace

std::uint32_t awake_us_by(const char* spins, const char* policy, bool crowded) {
  std::uint64_t usual = kDefaultSpins, most = kMostSpins;
  if (crowded) most = kCrowdedSpins;
  if (policy != nullptr) {
    policy = after_blanks(policy);
    const bool active = is_word(policy, "active");
    usual = is_word(policy, "passive") ? 0 : active ? kActiveSpins : kDefaultSpins;
    if (crowded && active) most = kCrowdedActiveSpins;
  }
  const std::uint64_t count = spins != nullptr ? count_of(spins, usual) : usual;
  return static_cast<std::uint32_t>((count < most ? count : most) * kSpinNs / 1'000);
}

namespace {

const char* why_not(const RunTime& run_time) {
  if (run_time.has(Family::kKmp)) return "libomp's state is not in thread-local memory";
  const bool answers =
      run_time.max_threads != nullptr && run_time.dynamic != nullptr && run_time.thread_limit != nullptr &&
      run_time.max_active_levels != nullptr && run_time.schedule != nullptr &&
      run_time.find(gomp::kParallelStart) != nullptr && run_time.find(gomp::kParallelEnd) != nullptr &&
      run_time.find(gomp::kStaticStart) != nullptr && run_time.find(gomp::kLoopEndNowait) != nullptr &&
      run_time.num_procs != nullptr && run_time.find(gomp::kPauseAll) != nullptr;
  if (!run_time.planned || !answers) return "this run-time library lacks functions";
  if (run_time.wrapped) return "another library wraps some of the run-time library's functions";
  if (run_time.dynamic() != 0) return "OMP_DYNAMIC is on";
  if (run_time.thread_limit() < kLeastLimit) return "there is a limit to the number of threads";
  if (run_time.cancellation() != 0) return "cancellation is on";
  if (tasks_are_used()) return "the program imports functions for tasks or offloading";
  return is_hindered(run_time)
             ? "an object has static ordered loops or OpenACC, or calls the run-time library directly"
             : nullptr;
}

}  // namespace

bool may_reside(const RunTime& run_time) {
  const char* const why = why_not(run_time);
  if (why != nullptr) say_fallback(Fallback::kNoTeams, why);
  return why == nullptr;
}

}  // namespace fermata::preload
