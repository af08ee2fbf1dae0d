#include "notice.hpp"

#include <fermata/fermata.h>
#include <stdio.h>
#include <unistd.h>

#include <atomic>

#include "os/environment.hpp"
#include "resident.hpp"
#include "run_time.hpp"

namespace fermata::preload {
namespace {

bool talkative = false;              // written before the program's main
std::atomic<std::uint32_t> said{0};  // kinds whose line has been written
std::atomic<std::uint64_t> regions{0}, planned_regions{0}, planned_episodes{0}, resident_regions{0};

constexpr const char* kLibrary = "fermata-openmp";

void say(const char* text, const char* detail) {
  write_line(kLibrary, "%s%s%.120s", text, detail[0] != '\0' ? ": " : "", detail);
}

__attribute__((destructor)) void sum_up() {
  if (!talkative || disabled()) return;
  leave_residence();  // it counts its episodes
  char text[200];
  const auto load = [](const auto& counter) {
    // order: relaxed: for a text
    return static_cast<unsigned long long>(counter.load(std::memory_order_relaxed));
  };
  snprintf(text, sizeof text,
           "%llu regions, %llu of them on resident teams, %llu with planned barriers: %llu episodes",
           load(regions), load(resident_regions), load(planned_regions), load(planned_episodes));
  say(text, "");
}

}  // namespace

const char* text_of(Fallback kind) {
  switch (kind) {
    case Fallback::kTasks:
      return "tasks or offloading are used, and only the run-time's barrier runs tasks: all barriers stay "
             "its own";
    case Fallback::kCancellation: return "cancellation is on: all barriers stay the run-time's";
    case Fallback::kMemory: return "no memory for a team: its barriers stay the run-time's";
    case Fallback::kBroken: return "a team failed: its region's barriers are the run-time's from here on";
    case Fallback::kSize:
      return "a region of one thread, or of more than 4096: its barriers stay the run-time's";
    case Fallback::kUnnoted:
      return "a barrier outside of parallel regions, or in a region that this library does not see";
    case Fallback::kObserved:
      return "an OMPT tool or ThreadSanitizer observes the run-time library: all regions and barriers stay "
             "its own";
    case Fallback::kLateTasks:
      return "tasks were made in a region with planned barriers: the rest of its barriers stay the "
             "run-time's";
    case Fallback::kNoTeams: return "regions do not run on resident teams";
  }
  return "";
}

void say_loaded(bool disabled) {
  talkative = os::is_on(os::Variable::kVerbose);
  if (!talkative) return;
  char text[128];
  snprintf(text, sizeof text, "version %d.%d.%d in %.40s (process %d)%s", FERMATA_VERSION_MAJOR,
           FERMATA_VERSION_MINOR, FERMATA_VERSION_PATCH, program_invocation_short_name,
           static_cast<int>(getpid()), disabled ? ": off, FERMATA_DISABLE is set" : "");
  say(text, "");
  os::check_environment([](const char* wrong) { write_line(kLibrary, "%s", wrong); });
}

void say_fallback(Fallback kind, const char* detail) {
  if (!talkative) return;
  const std::uint32_t bit = 1u << static_cast<unsigned>(kind);
  // order: relaxed: one of several threads says it, and nothing else depends on it
  if ((said.load(std::memory_order_relaxed) & bit) != 0) return;
  // order: see above
  if ((said.fetch_or(bit, std::memory_order_relaxed) & bit) == 0) say(text_of(kind), detail);
}

void say_none(const char* name) {
  static std::atomic<bool> done{false};
  // order: relaxed: one of several threads says it
  if (!done.exchange(true, std::memory_order_relaxed))
    say("no loaded OpenMP run-time library has this function, so one thread does all the work", name);
}

void count_region(bool planned, std::uint64_t episodes, bool resident) {
  if (!talkative) return;
  regions.fetch_add(1, std::memory_order_relaxed);  // order: relaxed, all of them: statistics
  if (resident) resident_regions.fetch_add(1, std::memory_order_relaxed);  // order: see above
  if (planned) planned_regions.fetch_add(1, std::memory_order_relaxed);    // order: see above
  count_episodes(episodes);
}

void count_episodes(std::uint64_t episodes) {
  if (talkative && episodes > 0)
    planned_episodes.fetch_add(episodes, std::memory_order_relaxed);  // order: see above
}

}  // namespace fermata::preload
