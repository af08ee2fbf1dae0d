// One parallel region's decision, made once by whoever of its threads comes to a barrier first and kept until
// the region ends: its barriers are planned ones, of a team that is the region's alone, or all of them are
// the run-time's.
#ifndef FERMATA_PRELOAD_OPENMP_REGION_HPP
#define FERMATA_PRELOAD_OPENMP_REGION_HPP

#include <fermata/fermata.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "notice.hpp"
#include "preload/common/stats.hpp"

namespace fermata::preload {

inline constexpr std::size_t kLine = 64;

struct RunTime;

struct alignas(kLine) Region {
  // The first line: all its threads read it at each barrier.
  std::atomic<std::uintptr_t> decision{0};  // 0: none yet; kReal; kDeciding; else a fermata_ranked*
  int (*level)() = nullptr;                 // the run-time library's
  // addresses of the object that entered it: its calls are this region's run-time library's
  std::uintptr_t low = 0, span = 0;
  // 1 + barriers of the region before its first task; 0: none was made
  std::atomic<std::uint64_t> tasked{0};
  const RunTime* run_time = nullptr;
  std::atomic<bool> failed{false};
  Fallback why = Fallback::kSize;  // of kReal; this and the size are written by whoever decides
  std::uint32_t size = 0;          // of the team
  // The second one.
  alignas(kLine) stats::Arrivals arrivals = {};
  std::uint64_t serial = 0;  // with statistics: no other region's; never 0
  std::uint64_t before = 0;  // the team's calls when the region began
  const void* body = nullptr;
};

// What a decision needs of the run-time.
struct Facts {
  std::uint32_t size = 0;    // threads of the region's team; 0: unknown
  bool cancellable = false;  // OMP_CANCELLATION is on
};

// Decides, or waits for who is deciding already.
fermata_ranked* decide(Region& region, const Facts& facts);

inline constexpr std::uintptr_t kReal = 1;
inline constexpr std::uintptr_t kDeciding = 2;

// The region's team, or null: the run-time's barrier. facts() is called if nobody has decided yet.
template <class GetFacts>
fermata_ranked* team_of(Region& region, GetFacts&& facts) {
  // order: acquire, as kMovedRead: sees the team as its maker left it. Pairs with the store in decide().
  const std::uintptr_t decision = region.decision.load(std::memory_order_acquire);
  if (decision > kDeciding) [[likely]]
    return reinterpret_cast<fermata_ranked*>(decision);
  return decision == kReal ? nullptr : decide(region, facts());
}

// Where the calling thread is, and whether this barrier is a planned one; else it is the run-time's. Two
// words: what goes through memory in parts and is copied as a whole waits there for the signal before it.
struct Place {
  Region* region = nullptr;
  std::uint32_t rank = 0;
  bool planned = false;
  // of a planned one
  fermata_ranked* team() const {
    // order: relaxed: team_of() has looked
    return reinterpret_cast<fermata_ranked*>(region->decision.load(std::memory_order_relaxed));
  }
};
static_assert(sizeof(Place) == 16);

void failed_to_meet(Place place);

// This thread makes a task, or has made one: the region's next barrier and all after it are the run-time
// library's, which run it. Must be called before the task exists.
void note_task(Region& region, std::uint32_t rank);

// Were tasks made before the last barrier that this thread was in? All threads get the same answer: whoever
// made one says so before it comes to the next barrier, and says how many barriers came before.
bool left_for_tasks(const Region& region, std::uint32_t rank);
inline bool has_tasks(const Region& region, std::uint32_t rank) {
  // order: relaxed: the barriers order it
  return region.tasked.load(std::memory_order_relaxed) != 0 && left_for_tasks(region, rank);
}

// True if the barrier has been done; tasks that were made before it may still have to be run, by the run-time
// library's barrier.
inline bool meet(Place place) {
  if (fermata_ranked_meet(place.team(), place.rank) == FERMATA_OK) [[likely]]
    return true;
  failed_to_meet(place);
  return false;
}

// True if it has been done; else data is as it was.
inline bool allreduce(Place place, void* data, std::size_t bytes, fermata_fold fold, void* context) {
  if (fermata_ranked_allreduce(place.team(), place.rank, data, bytes, fold, context) == FERMATA_OK) [[likely]]
    return true;
  failed_to_meet(place);
  return false;
}

// Why a barrier with this place is the run-time's.
Fallback why_left(Place place);

// All its threads have left the region. Its team is kept for the next one of its size.
void end(Region& region);

}  // namespace fermata::preload
#endif
