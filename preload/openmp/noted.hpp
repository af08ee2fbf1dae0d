// Where each thread is. The wrappers of the ways into a region (gomp.cpp, kmp.cpp) note it: the region's
// function runs through a trampoline that makes a Stay. A region that is entered in another way is not noted.
// Each way into a parallel region changes the nesting level. So the level shows that a thread is in a region
// that is not noted. The barriers of such a region are the run-time library's.
#ifndef FERMATA_PRELOAD_OPENMP_NOTED_HPP
#define FERMATA_PRELOAD_OPENMP_NOTED_HPP

#include "region.hpp"
#include "run_time.hpp"
#include "watch.hpp"

namespace fermata::preload {

// Null region: the thread is in none that is noted.
struct Here {
  Region* region;
  std::uint32_t rank;
  int level;
  const Here* outer;  // the enclosing noted region, perhaps another run-time library's
};
extern __thread Here here __attribute__((tls_model("initial-exec"), visibility("hidden")));

// While it lives, the calling thread is in the region. Regions nest. Statistics count anew in each
// (count_anew() in watch.hpp).
class Stay {
 public:
  Stay(Region* region, std::uint32_t rank, int level) : before_(here) {
    here = {region, rank, level, &before_};
    count_anew();
  }
  ~Stay() {
    here = before_;
    count_anew();
  }
  Stay(const Stay&) = delete;
  Stay& operator=(const Stay&) = delete;

 private:
  const Here before_;
};

inline Facts facts(const RunTime& run_time) {
  return {static_cast<std::uint32_t>(run_time.num_threads()), run_time.cancellation() != 0};
}

// Fills in a region that `caller` is about to enter. Precondition: the run-time library's regions may be
// planned (RunTime::planned). Each thread of the region calls `body`. region.level() returns the calling
// thread's nesting level.
inline void begin(Region& region, const Caller& caller, const void* body) {
  region.run_time = caller.run_time;
  region.level = caller.run_time->level;
  region.low = caller.low;
  region.span = caller.span;
  region.body = body;
}

// The region's first thread is about to run its body. Not within other regions: there many teams would be
// held for as long as the bodies take.
inline void foresee(Region& region) {
  if (here.outer->region != nullptr || !expects_barriers(region.body)) return;
  // order: relaxed: decide() looks again
  if (region.decision.load(std::memory_order_relaxed) == 0) decide(region, facts(*region.run_time));
}

// The calling thread's place in the region, unless it has entered another one that is not noted. The first
// thread here decides whether the region gets a team (team_of()), if foresee() has not. The next barrier is
// planned if the region has a team, unless a thread of the region made a task before the last planned barrier
// or reduction (has_tasks()). A task that was made since then does not count yet: not all threads know of it.
// So all threads of the region get the same answer.
inline Position position_at(const Here at) {
  if (at.region->level() != at.level) [[unlikely]]
    return {};
  const bool planned = team_of(*at.region, [&] { return facts(*at.region->run_time); }) != nullptr;
  return {at.region, at.rank, planned && !has_tasks(*at.region, at.rank)};
}

// For a call from another object than the one that entered the innermost region: the place in the innermost
// noted region of the run-time library that this object calls.
Position position_elsewhere(Family family, const void* object);

// The calling thread's place in the region that a call belongs to. `family` says whether the call is of GCC's
// entry points or of clang's. `object` is an address in the calling object (caller_of()).
inline Position position_in(Family family, const void* object) {
  const Here now = here;
  if (now.region == nullptr) return {};
  if (reinterpret_cast<std::uintptr_t>(object) - now.region->low >= now.region->span) [[unlikely]]
    return position_elsewhere(family, object);
  return position_at(now);
}

// The calling thread makes a task of this run-time library.
void note_task(const RunTime& run_time);

}  // namespace fermata::preload
#endif
