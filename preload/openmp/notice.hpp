// What the switch FERMATA_VERBOSE writes to stderr: one line at load, one for each variable of Fermata's in
// the environment that is wrong, one at the first fallback of each kind but kSize and kUnnoted, and one at
// the end with the totals of count_region() (not with FERMATA_DISABLE).
#ifndef FERMATA_PRELOAD_OPENMP_NOTICE_HPP
#define FERMATA_PRELOAD_OPENMP_NOTICE_HPP

#include <cstdint>

#include "preload/common/line.hpp"

namespace fermata::preload {

// Why barriers stay the run-time library's.
enum class Fallback : std::uint8_t {
  kTasks,         // the program uses tasks or offloading
  kCancellation,  // cancellation is on
  kMemory,        // no memory for a team
  kBroken,        // the team failed
  kSize,          // a region of one thread, or of too many
  kUnnoted,       // a barrier outside of the parallel regions that this library sees
  kObserved,      // an OMPT tool or ThreadSanitizer observes the run-time library
  kLateTasks,     // a region with planned barriers made tasks
  kNoTeams        // no regions on resident teams; all barriers may be planned ones
};

// At load. Reads the variable: without it the functions below, except say_none, write nothing.
void say_loaded(bool disabled);
const char* text_of(Fallback kind);
void say_fallback(Fallback kind, const char* detail = "");
// Says, once in a process and also if not verbose, that the run-time library of a call lacks the function, or
// that there is no such library. The calling thread then runs the region, or a task made by GCC's entry
// points, alone. A task made by clang's entry points does not run.
void say_none(const char* name);

// Counts a region that has ended. planned: it had a team; episodes: its planned barriers and reductions;
// resident: it was one of a resident team.
void count_region(bool planned, std::uint64_t episodes, bool resident = false);
void count_episodes(std::uint64_t episodes);

}  // namespace fermata::preload
#endif
