// One barrier of a thread: a planned one, or the run-time library's. Statistics (FERMATA_STATS) count it;
// when they are off, they cost one branch.
#ifndef FERMATA_PRELOAD_OPENMP_WATCH_HPP
#define FERMATA_PRELOAD_OPENMP_WATCH_HPP

#include "preload/common/stats.hpp"
#include "region.hpp"
#include "run_time.hpp"

namespace fermata::preload {

extern bool watched;  // written at load

void watch();  // turns statistics on; at load

// What a thread counts in one region. A call's number is how many calls its team has had from this rank
// before. All members of the team have made the same calls, in any region and at any nesting. The number is
// asked for at a thread's first call after it has entered or left a region. Then it is counted, because only
// this thread calls as this rank in this region.
struct Own {
  std::uint64_t serial;  // the region that the other fields belong to; 0: none
  std::uint64_t next;    // the number of the next call that is timed
  std::uint64_t left;    // calls before that one
  struct Seen {
    const void* site;
    stats::Record* record;
  } seen[8];
};
extern __thread Own own __attribute__((tls_model("initial-exec"), visibility("hidden")));

// The calling thread enters a region, or leaves one.
inline void count_anew() { own.serial = own.left = 0; }

// Statistics of regions by their functions: when one begins and ends, and when each thread's part is over.
inline void count_begin(Region& region, bool resident) {
  if (watched) [[unlikely]]
    region.join.begin(static_cast<const char*>(region.body) + 1, resident);
}
// Out of line: a compiler reads early what the rare branch needs. If each thread reads the region's line, a
// region without barriers takes 0.2 us longer.
[[gnu::noinline, gnu::cold]] void count_watched_part(Region& region, std::uint32_t rank);
inline void count_part(Region& region, std::uint32_t rank) {
  if (watched) [[unlikely]]
    count_watched_part(region, rank);
}
inline void count_end(Region& region) {
  if (watched) [[unlikely]]
    region.join.end();
}

inline std::size_t place_of(const void* site) {
  const auto address = reinterpret_cast<std::uintptr_t>(site);
  return (address ^ address >> 4) % (sizeof own.seen / sizeof own.seen[0]);
}

// plan: in place of the description of the team's barrier; null: that one
stats::Wait planned_wait(Position position, const void* site, const char* plan);

// A run-time library's barrier.
stats::Wait left_wait(const RunTime& run_time, Position position, const void* site);

// True: the call is counted, because it is not to be timed and the record is at hand. It takes few
// instructions and no frame, because all members pay for each.
inline bool count_untimed(Position position, const void* site) {
  const Own::Seen& seen = own.seen[place_of(site)];
  if (own.left == 0 || seen.site != site) [[unlikely]]
    return false;
  --own.left;
  ++seen.record->calls;
  if (position.rank == 0) ++seen.record->episodes;
  return true;
}

// meet() returns whether the barrier is done.
template <class Meet>
[[gnu::noinline]] bool in_planned_timed(Position position, const void* site, Meet meet,
                                        const char* plan = nullptr) {
  stats::Wait wait = planned_wait(position, site, plan);
  const bool met = meet();
  met ? wait.end_untold(position.rank == 0) : wait.cancel();
  return met;
}

// Must in_planned_timed() do this planned barrier, to time it or to find its record? Else it is counted here,
// if statistics are on. If the barrier then fails, it was the team's last one.
inline bool is_timed(Position position, const void* site) {
  return watched && !count_untimed(position, site);
}

// Below, `real` is a barrier of a run-time library: real(run_time) does it, real.object(site) is an address
// in the calling object (caller_of()), and Real::kFamily is its family.

template <class Real>
[[gnu::noinline]] void at_barrier_watched(const RunTime& run_time, Position position, const void* site,
                                          Real real) {
  stats::Wait wait = left_wait(run_time, position, site);
  real(run_time);
  wait.end_untold(run_time.thread_num() == 0);
}

// Without statistics only jumps lead to the run-time library's barrier: an OMPT tool sees the return address.
// So nothing here may need the stack afterwards, and all arguments are in registers.
template <class Real>
[[gnu::noinline]] void at_barrier_left(Position position, const void* site, Real real) {
  const RunTime* run_time = position.region != nullptr ? position.region->run_time
                                                       : caller_of(Real::kFamily, real.object(site)).run_time;
  if (run_time == nullptr) return;  // no region has more than one thread
  if (watched && run_time->planned) return at_barrier_watched(*run_time, position, site, real);
  real(*run_time);
}

template <class Real>
[[gnu::noinline]] void at_barrier_timed(Position position, const void* site, Real real) {
  if (!in_planned_timed(position, site, [position] { return meet(position); }) ||
      has_tasks(*position.region, position.rank))
    at_barrier_left(position, site, real);
}

// Rare cases are separate functions that get copies, so that the common path needs few registers. To save
// registers on the stack and restore them would delay the next barrier's signal after this barrier's last
// poll.
template <class Real>
inline void at_barrier(Position position, const void* site, Real real) {
  if (!position.planned) [[unlikely]]
    return at_barrier_left(position, site, real);
  if (is_timed(position, site)) [[unlikely]]
    return at_barrier_timed(position, site, real);
  if (!meet(position) || has_tasks(*position.region, position.rank)) [[unlikely]]
    at_barrier_left(position, site, real);
}

}  // namespace fermata::preload
#endif
