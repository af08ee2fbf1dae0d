// The decision for one parallel region. Its first thread at a barrier or reduction makes it, or the thread
// that enters the region, if it expects barriers there. Either all barriers within the region are planned
// ones, of a team that only this region has, or all are the run-time library's. It holds until the region
// ends, a task is made, or the team fails. The folds of a region with planned barriers may still be the
// run-time library's (folding_of()).
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
  // The first line, which all threads of the region read at each barrier.
  std::atomic<std::uintptr_t> decision{0};  // 0: none yet; kReal; kDeciding; else a fermata_ranked*
  int (*level)() = nullptr;                 // the run-time library's
  // Addresses of the object that entered the region: calls from there go to this region's run-time library.
  std::uintptr_t low = 0, span = 0;
  // 1 + the planned barriers and reductions before the region's first task; 0: no task was noted
  std::atomic<std::uint64_t> tasked{0};
  const RunTime* run_time = nullptr;
  std::atomic<bool> failed{false};
  Fallback why = Fallback::kSize;  // the reason for kReal; the deciding thread writes it and the size
  std::uint32_t size = 0;          // of the team
  std::uint32_t beside = 0;        // threads of other regions, if all together are more than the CPUs
  // The second line.
  alignas(kLine) stats::Arrivals arrivals = {};
  std::uint64_t serial = 0;  // with statistics: unique, and never 0
  std::uint64_t before = 0;  // the calls that each rank of the teams had made when the region got them
  // The team of the region's reductions: 0: none yet; kReal; kDeciding; else a fermata_forkjoin*
  std::atomic<std::uintptr_t> folding{0};
  const void* body = nullptr;
  stats::Join join;  // with statistics
  // The lock of the reduction whose folds the region's first thread has and the others wait for; only that
  // thread uses it.
  const void* folded = nullptr;
};

// What a decision needs to know from the run-time library.
struct Facts {
  std::uint32_t size = 0;    // threads of the region's team; 0: unknown
  bool cancellable = false;  // OMP_CANCELLATION is on
};

// Returns whether any loaded object imports a function of the run-time library for tasks or offloading. Then
// it may make tasks, and only the run-time library's barrier will do, because it runs tasks while it waits.
// The search is repeated after objects are loaded; once true, the answer stays true.
bool tasks_are_used();

// Decides, or waits for the thread that is deciding.
fermata_ranked* decide(Region& region, const Facts& facts);

// True if the last two regions with this body had planned barriers, as far as is known. Then the next one's
// first thread decides before it runs the body: threads that decide at the first barrier, all at once, move
// the region's line three times between two threads, not once.
bool expects_barriers(const void* body);

inline constexpr std::uintptr_t kReal = 1;
inline constexpr std::uintptr_t kDeciding = 2;

// The region's team; null: the run-time library does the barrier. Calls facts() if there is no decision yet.
template <class GetFacts>
fermata_ranked* team_of(Region& region, GetFacts&& facts) {
  // order: acquire, as kMovedRead: sees the team as its maker left it. Pairs with decide().
  const std::uintptr_t decision = region.decision.load(std::memory_order_acquire);
  if (decision > kDeciding) [[likely]]
    return reinterpret_cast<fermata_ranked*>(decision);
  return decision == kReal ? nullptr : decide(region, facts());
}

// Where the calling thread is, and whether this barrier is a planned one; else the run-time library does it.
// Two words, to stay in registers. A struct that is stored in parts and loaded as a whole waits for the
// stores before it, among them the last signal.
struct Position {
  Region* region = nullptr;
  std::uint32_t rank = 0;
  bool planned = false;
  // for a planned barrier only
  fermata_ranked* team() const {
    // order: relaxed: team_of() has acquired it
    return reinterpret_cast<fermata_ranked*>(region->decision.load(std::memory_order_relaxed));
  }
};
static_assert(sizeof(Position) == 16);

// After an error of the region's team: end() then destroys the team.
void failed_to_meet(Position position);

// This thread is about to make a task. Must be called before the task exists. The region's next barrier or
// reduction is still planned. If it is a barrier, the run-time library's barrier follows it, to run the task.
// A reduction leaves the task to a later barrier. All later barriers and reductions are left to the run-time
// library.
void note_task(Region& region, std::uint32_t rank);

// Were tasks made before the last planned barrier or reduction that this thread was in? All threads get the
// same answer: a thread that makes a task notes it before its next barrier, with the number of planned
// barriers and reductions before.
bool left_for_tasks(const Region& region, std::uint32_t rank);
inline bool has_tasks(const Region& region, std::uint32_t rank) {
  // order: relaxed: the barriers order it
  return region.tasked.load(std::memory_order_relaxed) != 0 && left_for_tasks(region, rank);
}

// True: the barrier is done. Tasks that were made before it may still have to run; the run-time library's
// barrier runs them.
inline bool meet(Position position) {
  if (fermata_ranked_meet(position.team(), position.rank) == FERMATA_OK) [[likely]]
    return true;
  failed_to_meet(position);
  return false;
}

// True: it is done. False: data is unchanged.
inline bool allreduce(Position position, void* data, std::size_t bytes, fermata_fold fold, void* context) {
  if (fermata_ranked_allreduce(position.team(), position.rank, data, bytes, fold, context) == FERMATA_OK)
      [[likely]]
    return true;
  failed_to_meet(position);
  return false;
}

// True unless the user's environment says how libomp folds. Reads it once.
bool folds_as_usual();

// The team that folds the data of the region's threads; null: the run-time library folds. All threads get the
// same answer. Only in a region with a team.
fermata_forkjoin* folding_of(Region& region);

// Folds `data` of all threads into that of the first one, in libomp's order. Its call returns then, and the
// calls of the others after its release(). True: it is done. False: data is unchanged, since only a forked
// child gets an error, before it has met any other thread.
inline bool fold_into_first(Position position, fermata_forkjoin* folding, void* data, fermata_fold fold,
                            void* context) {
  if (fermata_forkjoin_fold(folding, position.rank, data, fold, context) == FERMATA_OK) [[likely]]
    return true;
  failed_to_meet(position);
  return false;
}
void release(Region& region);

// How many planned barriers and reductions this thread's teams have had, in all regions.
std::uint64_t calls_of(const Region& region, std::uint32_t rank);

// Why the run-time library does a barrier with this place.
Fallback why_left(Position position);

// All threads have left the region. Its team is mostly kept for another region of its size, but not if it has
// failed or too many are kept. Returns how many planned barriers and reductions there were.
std::uint64_t give_back(Region& region);
inline bool is_planned(const Region& region) {
  // order: relaxed: asked by a thread that knows that the others have decided
  return region.decision.load(std::memory_order_relaxed) > kDeciding;
}
// Does the same, and counts the region.
void end(Region& region);

}  // namespace fermata::preload
#endif
