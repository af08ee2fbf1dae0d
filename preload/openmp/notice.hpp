// What FERMATA_VERBOSE=1 writes to stderr: one line at load, one for each variable of Fermata's in the
// environment that is wrong, one at the first fallback of each kind but kSize and kUnnoted, and one at the
// end (not with FERMATA_DISABLE).
#ifndef FERMATA_PRELOAD_OPENMP_NOTICE_HPP
#define FERMATA_PRELOAD_OPENMP_NOTICE_HPP

#include <cstdint>

#include "preload/common/line.hpp"

namespace fermata::preload {

enum class Fallback : std::uint8_t {
  kTasks,
  kCancellation,
  kMemory,
  kBroken,
  kSize,
  kUnnoted,
  kObserved,
  kLateTasks
};

void be_verbose();  // without it the functions below, except say_once, write nothing
bool verbose();
void say_loaded(bool disabled);
const char* text_of(Fallback kind);
void say_fallback(Fallback kind, const char* detail = "");
// The first call in a process writes its text, whether verbose or not. Later calls write nothing.
void say_once(const char* text, const char* detail);

// Counts a region that has ended. planned: it had a team; episodes: its planned barriers and reductions.
void count_region(bool planned, std::uint64_t episodes);

}  // namespace fermata::preload
#endif
