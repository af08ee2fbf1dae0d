// Wraps GCC's entry points in libgomp, and in libomp, which has them too. Each GOMP_parallel* runs the
// region's function through a trampoline that knows the region (noted.hpp). Regions that are entered in
// another way are not noted: GOMP_parallel_start and GOMP_parallel_end of GCC before 4.9, task reductions,
// offloading.
//
// Cost (bench/results/README.md): a region takes about 0.1 us, because each thread gets one more line from
// the first thread. A barrier takes 3 to 4 ns, most of it to read the level.
//
// A loop or sections construct that ends in a barrier is ended without one, and a planned barrier follows.
#include <stdint.h>

#include "noted.hpp"

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
  const Stay stay(&noted.region, static_cast<std::uint32_t>(noted.run_time->thread_num()),
                  noted.run_time->level());
  noted.body(noted.data);
}

// Runs a region with a trampoline, or passes the call on. The calling object is the one that contains `body`:
// the return address need not be in it.
template <class Function, class... Rest>
inline void in_region(Entry<Function> entry, Body* body, void* data, Rest... rest) {
  const Caller caller = caller_of(Family::kGomp, reinterpret_cast<const void*>(body));
  Function* const real = caller.run_time != nullptr ? caller.run_time->find(entry) : nullptr;
  if (real == nullptr) [[unlikely]] {
    say_none(entry.name);
    return body(data);
  }
  if (!caller.run_time->planned) [[unlikely]]
    return real(body, data, rest...);
  Noted noted{body, data, caller.run_time, {}};
  begin(noted.region, caller, reinterpret_cast<const void*>(body));
  real(trampoline, &noted, rest...);
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
  in_region(kParallel, body, data, threads, flags);
}

FERMATA_EXPORT void GOMP_parallel_sections(Body* body, void* data, unsigned threads, unsigned count,
                                           unsigned flags) {
  in_region(kParallelSections, body, data, threads, count, flags);
}

#define FERMATA_CHUNKED_LOOP(name, entry)                                                             \
  FERMATA_EXPORT void GOMP_parallel_loop_##name(Body* body, void* data, unsigned threads, long start, \
                                                long end, long step, long chunk, unsigned flags) {    \
    in_region(entry, body, data, threads, start, end, step, chunk, flags);                            \
  }
#define FERMATA_LOOP(name, entry)                                                                     \
  FERMATA_EXPORT void GOMP_parallel_loop_##name(Body* body, void* data, unsigned threads, long start, \
                                                long end, long step, unsigned flags) {                \
    in_region(entry, body, data, threads, start, end, step, flags);                                   \
  }
FERMATA_CHUNKED_LOOP(static, kLoopStatic)
FERMATA_CHUNKED_LOOP(dynamic, kLoopDynamic)
FERMATA_CHUNKED_LOOP(guided, kLoopGuided)
FERMATA_CHUNKED_LOOP(nonmonotonic_dynamic, kLoopNonmonotonicDynamic)
FERMATA_CHUNKED_LOOP(nonmonotonic_guided, kLoopNonmonotonicGuided)
FERMATA_LOOP(runtime, kLoopRuntime)
FERMATA_LOOP(nonmonotonic_runtime, kLoopNonmonotonicRuntime)
FERMATA_LOOP(maybe_nonmonotonic_runtime, kLoopMaybeNonmonotonicRuntime)

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
