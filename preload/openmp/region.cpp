#include "region.hpp"

#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "notice.hpp"
#include "preload/common/clock.hpp"
#include "run_time.hpp"
#include "watch.hpp"

namespace fermata::preload {
namespace {

constexpr std::uint32_t kMostMembers = 4096;
constexpr int kPool = 16;                  // cached teams; a program has few sizes
constexpr std::int64_t kAwakeNs = 20'000;  // how long a thread polls before it yields: as long as any member
constexpr std::uint32_t kLooks = 64;       // polls between two looks at the clock
constexpr int kTries = 64;                 // for the pool's lock; then the region makes a team of its own

struct Pooled {
  fermata_ranked* team;
  std::uint32_t size;
  bool crowded;  // it was made for threads beside others
};

Pooled pool[kPool];  // guarded by pool_lock
std::atomic<bool> pool_lock{false};

// Bounded: the holder may be preempted, or may be a thread of the parent that a fork left behind.
bool lock_pool() {
  for (int i = 0; i < kTries; ++i) {
    // order: acquire, as kBiasedLock: sees the pool as its last holder left it. Pairs with unlock_pool().
    if (!pool_lock.exchange(true, std::memory_order_acquire)) return true;
  }
  return false;
}

// order: release, as kBiasedUnlock. Pairs with lock_pool().
void unlock_pool() { pool_lock.store(false, std::memory_order_release); }

// A forked child cannot use its parent's teams. Their memory stays, as a thread may have been in them.
void forget_pool() {
  for (Pooled& entry : pool) entry = {};
  pool_lock.store(false, std::memory_order_relaxed);  // order: relaxed: a forked child has one thread
}

__attribute__((constructor)) void watch_forks() { pthread_atfork(nullptr, nullptr, forget_pool); }

fermata_ranked* take_team(std::uint32_t size, std::uint32_t beside) {
  fermata_ranked* team = nullptr;
  if (lock_pool()) {
    for (Pooled& entry : pool) {
      if (entry.team == nullptr || entry.size != size || entry.crowded != (beside != 0)) continue;
      team = entry.team;
      entry.team = nullptr;
      break;
    }
    unlock_pool();
  }
  if (team == nullptr && fermata_ranked_create_beside(size, beside, &team) != FERMATA_OK) {
    say_fallback(Fallback::kMemory);
    return nullptr;
  }
  return team;
}

void give_team(fermata_ranked* team, std::uint32_t size, bool crowded) {
  if (lock_pool()) {
    for (Pooled& entry : pool) {
      if (entry.team != nullptr) continue;
      entry = {team, size, crowded};
      team = nullptr;
      break;
    }
    unlock_pool();
  }
  fermata_ranked_destroy(team);
}

// A team for such a region, or null and the reason.
fermata_ranked* find_team(const Facts& facts, std::uint32_t beside, Fallback* why) {
  *why = Fallback::kSize;
  if (facts.size < 2 || facts.size > kMostMembers) return nullptr;
  *why = Fallback::kCancellation;
  if (facts.cancellable) say_fallback(*why);
  if (facts.cancellable) return nullptr;
  *why = Fallback::kTasks;
  if (tasks_are_used()) return nullptr;
  *why = Fallback::kMemory;
  return take_team(facts.size, beside);
}

std::atomic<std::uint64_t> serials{0};

// Whether regions with a body have planned barriers: after kSure of them in a row, the next one is expected
// to. Up to kMost are counted, so that a body keeps its place beside another one. The table is of hints:
// threads may write it at the same time.
constexpr std::size_t kBodies = 64;
constexpr std::uint32_t kSure = 2, kMost = 4;
struct Expected {
  std::atomic<const void*> body;
  std::atomic<std::uint32_t> in_row;
};
Expected bodies[kBodies];

Expected& expected(const void* body) {
  const auto address = reinterpret_cast<std::uintptr_t>(body);
  return bodies[(address ^ address >> 6) % kBodies];
}

// A region with this body is over. Another body loses its place once such regions have outnumbered its own.
// Written only if it changes, since other threads read it.
void expect(const void* body, bool barriers) {
  Expected& entry = expected(body);
  const std::uint32_t in_row = entry.in_row.load(std::memory_order_relaxed);  // order: relaxed: a hint
  const bool known = entry.body.load(std::memory_order_relaxed) == body;      // order: relaxed: a hint
  std::uint32_t now = known && !barriers ? 0 : in_row;
  if (known && barriers && in_row < kMost) now = in_row + 1;
  if (!known && barriers && in_row > 0) now = in_row - 1;
  if (!known && barriers && in_row == 0) {
    entry.body.store(body, std::memory_order_relaxed);  // order: relaxed: a hint
    now = 1;
  }
  if (now != in_row) entry.in_row.store(now, std::memory_order_relaxed);  // order: relaxed: a hint
}

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// Two threads that both look at the loader's list and at the pool would wait for each other's locks. The one
// thread that decides mostly takes 0.1 us, and depends on no other thread of the region. It takes longer if
// it has lost its CPU, makes a team, looks at all objects for tasks, or waits for a fork. A yield in the
// first moment would give this CPU away for a whole time slice where others want it: two threads beside two
// burning processes took 200 to 1,000 us a region, not 5.
fermata_ranked* await_decision(const Region& region) {
  std::int64_t end_ns = 0;
  for (std::uint32_t looks = 1;; ++looks) {
    // order: acquire, as kMovedRead. Pairs with decide().
    const std::uintptr_t decision = region.decision.load(std::memory_order_acquire);
    if (decision != kDeciding)
      return decision == kReal ? nullptr : reinterpret_cast<fermata_ranked*>(decision);
    relax();
    if (looks % kLooks != 0) continue;
    if (end_ns == 0) end_ns = now_ns() + kAwakeNs;
    else if (now_ns() > end_ns) sched_yield();
  }
}

// How many planned barriers and reductions of the region this thread has been in.
std::uint64_t barriers_so_far(const Region& region, std::uint32_t rank) {
  // order: acquire, as kMovedRead. Pairs with decide().
  const std::uintptr_t decision = region.decision.load(std::memory_order_acquire);
  return decision > kDeciding
             ? fermata_ranked_calls(reinterpret_cast<fermata_ranked*>(decision), rank) - region.before
             : 0;
}

}  // namespace

fermata_ranked* decide(Region& region, const Facts& facts) {
  std::uintptr_t undecided = 0;
  // order: relaxed: a claim; the loser looks again
  if (!region.decision.compare_exchange_strong(undecided, kDeciding, std::memory_order_relaxed))
    return await_decision(region);
  const int saved = errno;
  fermata_ranked* team = find_team(facts, region.beside, &region.why);
  region.size = facts.size;
  region.before = fermata_ranked_calls(team, 0);
  if (watched)
    region.serial = serials.fetch_add(1, std::memory_order_relaxed) + 1;  // order: relaxed: a unique number
  // order: release, as kMove: hands the team on. Pairs with team_of() and await_decision().
  region.decision.store(team != nullptr ? reinterpret_cast<std::uintptr_t>(team) : kReal,
                        std::memory_order_release);
  errno = saved;
  return team;
}

// All members get the error: the team is broken, or this process is a fork without the team's other threads.
void failed_to_meet(Position position) {
  // order: relaxed: the region ends later, for all its threads
  position.region->failed.store(true, std::memory_order_relaxed);
  say_fallback(Fallback::kBroken);
}

void note_task(Region& region, std::uint32_t rank) {
  if (region.decision.load(std::memory_order_relaxed) == kReal) return;  // order: relaxed: a hint
  // order: relaxed: it changes only once, from 0
  if (region.tasked.load(std::memory_order_relaxed) != 0) return;
  std::uint64_t none = 0;
  // order: relaxed: the barriers order it
  region.tasked.compare_exchange_strong(none, 1 + barriers_so_far(region, rank), std::memory_order_relaxed);
}

bool left_for_tasks(const Region& region, std::uint32_t rank) {
  // order: relaxed: the barriers order it
  return region.tasked.load(std::memory_order_relaxed) - 1 < barriers_so_far(region, rank);
}

Fallback why_left(Position position) {
  if (position.region != nullptr && has_tasks(*position.region, position.rank)) return Fallback::kLateTasks;
  if (position.planned) return Fallback::kBroken;
  return position.region != nullptr ? position.region->why : Fallback::kUnnoted;
}

std::uint64_t give_back(Region& region) {
  // order: acquire, as kMovedRead. Pairs with decide().
  const std::uintptr_t decision = region.decision.load(std::memory_order_acquire);
  if (decision <= kReal) return 0;
  // order: relaxed: all threads have left the region
  const bool tasked = region.tasked.load(std::memory_order_relaxed) != 0;
  auto* team = reinterpret_cast<fermata_ranked*>(decision);
  const std::uint64_t episodes = fermata_ranked_calls(team, 0) - region.before;
  if (tasked && episodes != 0) say_fallback(Fallback::kLateTasks);
  // order: relaxed: all threads have left the region
  const bool failed = region.failed.load(std::memory_order_relaxed);
  failed ? fermata_ranked_destroy(team) : give_team(team, region.size, region.beside != 0);
  return episodes;
}

bool expects_barriers(const void* body) {
  const Expected& entry = expected(body);
  return entry.body.load(std::memory_order_relaxed) == body &&   // order: relaxed: a hint
         entry.in_row.load(std::memory_order_relaxed) >= kSure;  // order: relaxed: a hint
}

void end(Region& region) {
  const bool planned = is_planned(region);
  const std::uint64_t episodes = give_back(region);
  count_region(episodes != 0, episodes);
  // A region that was left to the run-time library says nothing of its body.
  // order: relaxed: all threads have left the region
  if (planned || region.decision.load(std::memory_order_relaxed) == 0) expect(region.body, episodes != 0);
}

}  // namespace fermata::preload
