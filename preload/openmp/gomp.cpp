// Wraps GCC's entry points in libgomp, and in libomp, which has them too. Each GOMP_parallel* runs the
// region's function through a trampoline that knows the region (noted.hpp). Regions that are entered in
// another way are not noted: GOMP_parallel_start and GOMP_parallel_end of GCC before 4.9, task reductions,
// offloading.
//
// Cost (bench/results/README.md): a region takes about 0.1 us, because each thread gets one more line from
// the first thread. A barrier takes 3 to 4 ns, most of it to read the level. Regions of resident teams take
// less (resident.hpp).
//
// A loop or sections construct that ends in a barrier is ended without one, and a planned barrier follows.
#include <stdint.h>

#include "noted.hpp"
#include "resident.hpp"

namespace fermata::preload {
namespace {

using namespace gomp;

struct Noted {
  Body* body;
  void* data;
  const RunTime* run_time;
  Region region;
};

void trampoline(void* argument) {
  auto& noted = *static_cast<Noted*>(argument);
  const auto rank = static_cast<std::uint32_t>(noted.run_time->thread_num());
  const Stay stay(&noted.region, rank, noted.run_time->level());
  if (rank == 0) foresee(noted.region);
  noted.body(noted.data);
  count_part(noted.region, rank);
}

unsigned last_of(auto... rest) {
  unsigned last = 0;
  ((last = static_cast<unsigned>(rest)), ...);
  return last;
}

// Runs a region with a trampoline, or passes the call on. The calling object is the one that contains `body`:
// the return address need not be in it. The last argument has flags: whether the region asks for a binding of
// its threads. opening: the loop that the region is.
template <class Function, class... Rest>
inline void in_region(Entry<Function> entry, const Opening& opening, Body* body, void* data, unsigned threads,
                      Rest... rest) {
  const Caller caller = caller_of(Family::kGomp, reinterpret_cast<const void*>(body));
  Function* const real = caller.run_time != nullptr ? caller.run_time->find(entry) : nullptr;
  if (real == nullptr) [[unlikely]] {
    say_none(entry.name);
    return body(data);
  }
  if (!caller.run_time->planned) [[unlikely]]
    return real(body, data, threads, rest...);
  const bool is_bound = last_of(rest...) != 0;
  if (Residence* const residence = is_bound ? nullptr : residence_for(caller, threads, body, opening))
    return run(*residence, caller, body, data, opening);
  leave_residence();
  Noted noted{body, data, caller.run_time, {}};
  begin(noted.region, caller, reinterpret_cast<const void*>(body));
  count_begin(noted.region, false);
  real(trampoline, &noted, threads, rest...);
  count_end(noted.region);
  end(noted.region);
}

template <int entry>
struct GompBarrier {
  static constexpr Family kFamily = Family::kGomp;
  static const void* object(const void* site) { return site; }
  void operator()(const RunTime& run_time) const {
    if (run_time.functions[entry] != nullptr) run_time.functions[entry]();
  }
};

inline void at_gomp_barrier(Position position, const void* site) {
  at_barrier(position, site, GompBarrier<kBarrier.index>());
}

// Ends a construct without a barrier, and then does a planned barrier; or calls the run-time library's end.
template <int entry>
inline void at_end(Entry<void()> nowait, const void* site) {
  const Position position = position_in(Family::kGomp, site);
  void (*const without)() = position.planned ? position.region->run_time->find(nowait) : nullptr;
  if (without == nullptr)
    return at_barrier({position.region, position.rank, false}, site, GompBarrier<entry>());
  without();
  at_gomp_barrier(position, site);
}

}  // namespace
}  // namespace fermata::preload

using namespace fermata::preload;

// ---- Barriers

FERMATA_EXPORT void GOMP_barrier() {
  const void* site = __builtin_return_address(0);
  at_gomp_barrier(position_in(Family::kGomp, site), site);
}

FERMATA_EXPORT void GOMP_loop_end() { at_end<kLoopEnd.index>(kLoopEndNowait, __builtin_return_address(0)); }

FERMATA_EXPORT void GOMP_sections_end() {
  at_end<kSectionsEnd.index>(kSectionsEndNowait, __builtin_return_address(0));
}

// ---- Regions. The arguments after the function and its data are passed on unchanged.

FERMATA_EXPORT void GOMP_parallel(Body* body, void* data, unsigned threads, unsigned flags) {
  in_region(kParallel, {}, body, data, threads, flags);
}

FERMATA_EXPORT void GOMP_parallel_sections(Body* body, void* data, unsigned threads, unsigned count,
                                           unsigned flags) {
  in_region(kParallelSections, Opening::of_sections(count), body, data, threads, count, flags);
}

#define FERMATA_CHUNKED_LOOP(name, entry, schedule)                                                       \
  FERMATA_EXPORT void GOMP_parallel_loop_##name(Body* body, void* data, unsigned threads, long start,     \
                                                long end, long step, long chunk, unsigned flags) {        \
    in_region(entry, {Opening::schedule, start, end, step, chunk}, body, data, threads, start, end, step, \
              chunk, flags);                                                                              \
  }
#define FERMATA_LOOP(name, entry)                                                                     \
  FERMATA_EXPORT void GOMP_parallel_loop_##name(Body* body, void* data, unsigned threads, long start, \
                                                long end, long step, unsigned flags) {                \
    in_region(entry, {Opening::kRuntime, start, end, step, 0}, body, data, threads, start, end, step, \
              flags);                                                                                 \
  }
FERMATA_CHUNKED_LOOP(static, kLoopStatic, kStatic)
FERMATA_CHUNKED_LOOP(dynamic, kLoopDynamic, kDynamic)
FERMATA_CHUNKED_LOOP(guided, kLoopGuided, kGuided)
FERMATA_CHUNKED_LOOP(nonmonotonic_dynamic, kLoopNonmonotonicDynamic, kDynamic)
FERMATA_CHUNKED_LOOP(nonmonotonic_guided, kLoopNonmonotonicGuided, kGuided)
FERMATA_LOOP(runtime, kLoopRuntime)
FERMATA_LOOP(nonmonotonic_runtime, kLoopNonmonotonicRuntime)
FERMATA_LOOP(maybe_nonmonotonic_runtime, kLoopMaybeNonmonotonicRuntime)

// ---- Other ways to the threads of a team: of GCC before 4.9, with task reductions, and leagues. They have
// no residences. Without a run-time library the calling thread does its part alone.

// The function that a call from that object is for, without a residence.
template <class Function>
Function* outside(Entry<Function> entry, const void* object) {
  const RunTime* run_time = caller_of(Family::kGomp, object).run_time;
  leave_residence();
  return run_time != nullptr ? run_time->find(entry) : nullptr;
}

template <class Function>
Function* other(Entry<Function> entry, Body* body) {
  Function* const real = outside(entry, reinterpret_cast<const void*>(body));
  if (real == nullptr) say_none(entry.name);
  return real;
}

FERMATA_EXPORT void GOMP_parallel_start(Body* body, void* data, unsigned threads) {
  if (auto* const real = other(kParallelStart, body)) real(body, data, threads);
}

FERMATA_EXPORT void GOMP_parallel_sections_start(Body* body, void* data, unsigned threads, unsigned count) {
  if (auto* const real = other(kSectionsStart, body)) real(body, data, threads, count);
}

#define FERMATA_LOOP_START(name, entry)                                                                \
  FERMATA_EXPORT void GOMP_parallel_loop_##name##_start(Body* body, void* data, unsigned threads,      \
                                                        long start, long end, long step, long chunk) { \
    if (auto* const real = other(entry, body)) real(body, data, threads, start, end, step, chunk);     \
  }
FERMATA_LOOP_START(static, kLoopStaticStart)
FERMATA_LOOP_START(dynamic, kLoopDynamicStart)
FERMATA_LOOP_START(guided, kLoopGuidedStart)

FERMATA_EXPORT void GOMP_parallel_loop_runtime_start(Body* body, void* data, unsigned threads, long start,
                                                     long end, long step) {
  if (auto* const real = other(kLoopRuntimeStart, body)) real(body, data, threads, start, end, step);
}

FERMATA_EXPORT unsigned GOMP_parallel_reductions(Body* body, void* data, unsigned threads, unsigned flags) {
  if (auto* const real = other(kReductions, body)) return real(body, data, threads, flags);
  body(data);
  return 1;
}

FERMATA_EXPORT void GOMP_teams_reg(Body* body, void* data, unsigned teams, unsigned limit, unsigned flags) {
  if (auto* const real = other(kTeams, body)) {
    set_league(true);
    real(body, data, teams, limit, flags);
    return set_league(false);
  }
  body(data);
}

namespace {

// Without a run-time library there is nothing to pause.
template <class Function, class... Arguments>
int pause(Entry<Function> entry, const void* site, Arguments... arguments) {
  auto* const real = outside(entry, site);
  forget_habit();
  return real != nullptr ? real(arguments...) : -1;
}

}  // namespace

FERMATA_EXPORT int omp_pause_resource(int kind, int device) {
  return pause(kPause, __builtin_return_address(0), kind, device);
}
FERMATA_EXPORT int omp_pause_resource_all(int kind) {
  return pause(kPauseAll, __builtin_return_address(0), kind);
}
FERMATA_EXPORT int omp_pause_resource_(const int* kind, const int* device) {
  return pause(kPause, __builtin_return_address(0), *kind, *device);
}
FERMATA_EXPORT int omp_pause_resource_all_(const int* kind) {
  return pause(kPauseAll, __builtin_return_address(0), *kind);
}

// ---- For <fermata/openmp.hpp>: 1 if done, 0 if the run-time library has to do it. libomp: the caller's
// regions are those that clang's entry points make.

FERMATA_EXPORT int fermata_openmp_barrier(int libomp) {
  const void* site = __builtin_return_address(0);
  const Position position = position_in(libomp != 0 ? Family::kKmp : Family::kGomp, site);
  if (!position.planned) return 0;
  const bool met = is_timed(position, site) ? in_planned_timed(position, site, [=] { return meet(position); })
                                            : meet(position);
  return met && !has_tasks(*position.region, position.rank) ? 1 : 0;
}

FERMATA_EXPORT int fermata_openmp_allreduce(int libomp, void* data, std::size_t bytes, fermata_fold fold,
                                            void* context) {
  const void* site = __builtin_return_address(0);
  const Position position = position_in(libomp != 0 ? Family::kKmp : Family::kGomp, site);
  if (!position.planned) return 0;
  if (is_timed(position, site)) [[unlikely]]
    return in_planned_timed(position, site, [=] { return allreduce(position, data, bytes, fold, context); })
               ? 1
               : 0;
  return allreduce(position, data, bytes, fold, context) ? 1 : 0;
}
