#include "region.hpp"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

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

struct Teams {
  fermata_ranked* team = nullptr;
  fermata_forkjoin* folding = nullptr;  // made at the first reduction
};

struct Pooled {
  Teams teams;
  std::uint32_t size;
  bool crowded;  // they were made for threads beside others
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

// No team: there is no memory.
Teams take_teams(std::uint32_t size, std::uint32_t beside) {
  Teams teams;
  if (lock_pool()) {
    for (Pooled& entry : pool) {
      if (entry.teams.team == nullptr || entry.size != size || entry.crowded != (beside != 0)) continue;
      teams = entry.teams;
      entry.teams = {};
      break;
    }
    unlock_pool();
  }
  if (teams.team == nullptr && fermata_ranked_create_beside(size, beside, &teams.team) != FERMATA_OK)
    say_fallback(Fallback::kMemory);
  return teams;
}

void destroy(const Teams& teams) {
  fermata_ranked_destroy(teams.team);
  fermata_forkjoin_destroy(teams.folding);
}

void give_teams(Teams teams, std::uint32_t size, bool crowded) {
  if (lock_pool()) {
    for (Pooled& entry : pool) {
      if (entry.teams.team != nullptr) continue;
      entry = {teams, size, crowded};
      teams = {};
      break;
    }
    unlock_pool();
  }
  destroy(teams);
}

// A team for such a region, or none and the reason.
Teams find_teams(const Facts& facts, std::uint32_t beside, Fallback* why) {
  *why = Fallback::kSize;
  if (facts.size < 2 || facts.size > kMostMembers) return {};
  *why = Fallback::kCancellation;
  if (facts.cancellable) say_fallback(*why);
  if (facts.cancellable) return {};
  *why = Fallback::kTasks;
  if (tasks_are_used()) return {};
  *why = Fallback::kMemory;
  return take_teams(facts.size, beside);
}

// A user who sets one of these wants libomp to fold in another way or order.
constexpr const char* kUnusual[] = {"KMP_FORCE_REDUCTION", "KMP_DETERMINISTIC_REDUCTION",
                                    "KMP_REDUCTION_BARRIER", "KMP_REDUCTION_BARRIER_PATTERN",
                                    // `dist` for any barrier is for all
                                    "KMP_PLAIN_BARRIER_PATTERN", "KMP_FORKJOIN_BARRIER_PATTERN"};

fermata_forkjoin* make_folding(std::uint32_t size, std::uint32_t beside) {
  if (!folds_as_usual()) return nullptr;
  fermata_forkjoin* folding = nullptr;
  if (fermata_forkjoin_create_folding(size, beside, &folding) == FERMATA_OK) return folding;
  say_fallback(Fallback::kMemory);
  return nullptr;
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
std::uintptr_t await_decision(const std::atomic<std::uintptr_t>& made) {
  std::int64_t end_ns = 0;
  for (std::uint32_t looks = 1;; ++looks) {
    // order: acquire, as kMovedRead. Pairs with decide() and folding_of().
    const std::uintptr_t decision = made.load(std::memory_order_acquire);
    if (decision != kDeciding) return decision;
    relax();
    if (looks % kLooks != 0) continue;
    if (end_ns == 0) end_ns = now_ns() + kAwakeNs;
    else if (now_ns() > end_ns) sched_yield();
  }
}

// How many planned barriers and reductions of the region this thread has been in.
std::uint64_t barriers_so_far(const Region& region, std::uint32_t rank) {
  // order: acquire, as kMovedRead. Pairs with decide().
  return region.decision.load(std::memory_order_acquire) > kDeciding ? calls_of(region, rank) - region.before
                                                                     : 0;
}

template <class Handle>
Handle* handle_of(std::uintptr_t decision) {
  return decision > kDeciding ? reinterpret_cast<Handle*>(decision) : nullptr;
}

fermata_forkjoin* made_folding(const Region& region) {
  // order: acquire, as kMovedRead. Pairs with folding_of() and decide().
  return handle_of<fermata_forkjoin>(region.folding.load(std::memory_order_acquire));
}

}  // namespace

bool folds_as_usual() {
  enum : std::uint8_t { kUnknown, kYes, kNo };
  static std::atomic<std::uint8_t> known{kUnknown};
  std::uint8_t answer = known.load(std::memory_order_relaxed);  // order: relaxed: all threads find the same
  if (answer != kUnknown) [[likely]]
    return answer == kYes;
  answer = kYes;
  for (const char* name : kUnusual)
    if (secure_getenv(name) != nullptr) answer = kNo;
  known.store(answer, std::memory_order_relaxed);  // order: see above
  return answer == kYes;
}

std::uint64_t calls_of(const Region& region, std::uint32_t rank) {
  // order: relaxed: asked by a thread that has the team
  const auto* team = handle_of<const fermata_ranked>(region.decision.load(std::memory_order_relaxed));
  return fermata_ranked_calls(team, rank) + fermata_forkjoin_calls(made_folding(region), rank);
}

fermata_ranked* decide(Region& region, const Facts& facts) {
  std::uintptr_t undecided = 0;
  // order: relaxed: a claim; the loser looks again
  if (!region.decision.compare_exchange_strong(undecided, kDeciding, std::memory_order_relaxed))
    return handle_of<fermata_ranked>(await_decision(region.decision));
  const int saved = errno;
  const Teams teams = find_teams(facts, region.beside, &region.why);
  region.size = facts.size;
  region.before = fermata_ranked_calls(teams.team, 0) + fermata_forkjoin_calls(teams.folding, 0);
  // order: relaxed: the decision hands it on
  region.folding.store(reinterpret_cast<std::uintptr_t>(teams.folding), std::memory_order_relaxed);
  if (watched)
    region.serial = serials.fetch_add(1, std::memory_order_relaxed) + 1;  // order: relaxed: a unique number
  // order: release, as kMove: hands the team on. Pairs with team_of() and await_decision().
  region.decision.store(teams.team != nullptr ? reinterpret_cast<std::uintptr_t>(teams.team) : kReal,
                        std::memory_order_release);
  errno = saved;
  return teams.team;
}

fermata_forkjoin* folding_of(Region& region) {
  // order: acquire, as kMovedRead: sees the team as its maker left it. Pairs with the store below.
  std::uintptr_t decision = region.folding.load(std::memory_order_acquire);
  if (decision > kDeciding) [[likely]]
    return reinterpret_cast<fermata_forkjoin*>(decision);
  // order: relaxed: a claim; the loser looks again
  if (decision != 0 ||
      !region.folding.compare_exchange_strong(decision, kDeciding, std::memory_order_relaxed))
    return handle_of<fermata_forkjoin>(await_decision(region.folding));
  const int saved = errno;
  fermata_forkjoin* const folding = make_folding(region.size, region.beside);
  // order: release, as kMove: hands the team on. Pairs with the load above and await_decision().
  region.folding.store(folding != nullptr ? reinterpret_cast<std::uintptr_t>(folding) : kReal,
                       std::memory_order_release);
  errno = saved;
  return folding;
}

void release(Region& region) {
  if (fermata_forkjoin_fork(made_folding(region), nullptr, 0) != FERMATA_OK)
    failed_to_meet({&region, 0, true});
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
  const Teams teams{reinterpret_cast<fermata_ranked*>(decision), made_folding(region)};
  const std::uint64_t episodes = calls_of(region, 0) - region.before;
  if (tasked && episodes != 0) say_fallback(Fallback::kLateTasks);
  // order: relaxed: all threads have left the region
  const bool failed = region.failed.load(std::memory_order_relaxed);
  failed ? destroy(teams) : give_teams(teams, region.size, region.beside != 0);
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
