// GCC's entry points, of libgomp and of libomp, which has them too: each GOMP_parallel* is wrapped, and runs the region's function through
// a trampoline that knows the region (noted.hpp). What enters a region by another way (the pair GOMP_parallel_start and _end of GCC before
// 4.9, task reductions, offloading) is not noted.
//
// Cost: a region has one more line that each thread gets from the first one, about 0.1 us; a barrier 3 ns, most of it for the level.
//
// A loop or sections construct with a barrier at its end is the same without, and our barrier behind it.
#include <stdint.h>

#include "noted.hpp"
#include "real.hpp"

namespace fermata::preload {
namespace {

using Body = void(void*);

Real<void()> barrier("GOMP_barrier");
Real<void()> loop_end("GOMP_loop_end");
Real<void()> loop_end_nowait("GOMP_loop_end_nowait");
Real<void()> sections_end("GOMP_sections_end");
Real<void()> sections_end_nowait("GOMP_sections_end_nowait");

Known known;  // whose the entry points are

struct Noted {
  Body* body;
  void* data;
  Region region;
};

template <RunTime library>
void trampoline(void* argument) {
  auto& noted = *static_cast<Noted*>(argument);
  const Stay stay(library, {&noted.region, static_cast<std::uint32_t>(ask(library).thread_num()), ask(library).level()});
  noted.body(noted.data);
}

// Calls run(body, data) for a region: with a trampoline, or plainly.
template <class Run>
void in_region(Body* body, void* data, Run&& run) {
  const Found found = disabled() ? Found::kNone : known.get([] { return barrier.find(); });
  if (found != Found::kLibgomp && found != Found::kLibomp) return run(body, data);
  Noted noted{body, data, {}};
  run(found == Found::kLibgomp ? trampoline<RunTime::kLibgomp> : trampoline<RunTime::kLibomp>, &noted);
  end(noted.region);
}

Place place_in_gomp() {
  return known.now() == Found::kLibomp ? place_in<RunTime::kLibomp>() : place_in<RunTime::kLibgomp>();
}

void at_gomp_barrier(const void* site) {
  at_barrier(place_in_gomp(), site, [] { barrier.get()(); });
}

// A construct's end: its form without a barrier and a planned one, or the run-time's.
void at_end(Real<void()>& real, Real<void()>& nowait, const void* site) {
  const Place place = place_in_gomp();
  if (!place.planned || nowait.find() == nullptr) return at_barrier({place.region, 0, false}, site, [&] { real.get()(); });
  nowait.get()();
  at_gomp_barrier(site);
}

}  // namespace
}  // namespace fermata::preload

using namespace fermata::preload;

// ---- Barriers

FERMATA_EXPORT void GOMP_barrier() {
  at_gomp_barrier(__builtin_return_address(0));
}

FERMATA_EXPORT void GOMP_loop_end() {
  at_end(loop_end, loop_end_nowait, __builtin_return_address(0));
}

FERMATA_EXPORT void GOMP_sections_end() {
  at_end(sections_end, sections_end_nowait, __builtin_return_address(0));
}

// ---- Regions. What GCC passes behind the function and its data goes on unchanged.

namespace {
using Plain = void(Body*, void*, unsigned, unsigned);
using Sections = void(Body*, void*, unsigned, unsigned, unsigned);
using Loop = void(Body*, void*, unsigned, long, long, long, unsigned);
using ChunkedLoop = void(Body*, void*, unsigned, long, long, long, long, unsigned);

Real<Plain> parallel("GOMP_parallel");
Real<Sections> parallel_sections("GOMP_parallel_sections");
Real<ChunkedLoop> loop_static("GOMP_parallel_loop_static");
Real<ChunkedLoop> loop_dynamic("GOMP_parallel_loop_dynamic");
Real<ChunkedLoop> loop_guided("GOMP_parallel_loop_guided");
Real<ChunkedLoop> loop_nonmonotonic_dynamic("GOMP_parallel_loop_nonmonotonic_dynamic");
Real<ChunkedLoop> loop_nonmonotonic_guided("GOMP_parallel_loop_nonmonotonic_guided");
Real<Loop> loop_runtime("GOMP_parallel_loop_runtime");
Real<Loop> loop_nonmonotonic_runtime("GOMP_parallel_loop_nonmonotonic_runtime");
Real<Loop> loop_maybe_nonmonotonic_runtime("GOMP_parallel_loop_maybe_nonmonotonic_runtime");

template <class Function, class... Rest>
void wrap(Real<Function>& real, Body* body, void* data, Rest... rest) {
  Function* function = real.get();
  in_region(body, data, [=](Body* b, void* d) { function(b, d, rest...); });
}
}  // namespace

FERMATA_EXPORT void GOMP_parallel(Body* body, void* data, unsigned threads, unsigned flags) {
  wrap(parallel, body, data, threads, flags);
}

FERMATA_EXPORT void GOMP_parallel_sections(Body* body, void* data, unsigned threads, unsigned count, unsigned flags) {
  wrap(parallel_sections, body, data, threads, count, flags);
}

FERMATA_EXPORT void GOMP_parallel_loop_static(Body* body, void* data, unsigned threads, long start, long end, long step, long chunk,
                                              unsigned flags) {
  wrap(loop_static, body, data, threads, start, end, step, chunk, flags);
}

FERMATA_EXPORT void GOMP_parallel_loop_dynamic(Body* body, void* data, unsigned threads, long start, long end, long step, long chunk,
                                               unsigned flags) {
  wrap(loop_dynamic, body, data, threads, start, end, step, chunk, flags);
}

FERMATA_EXPORT void GOMP_parallel_loop_guided(Body* body, void* data, unsigned threads, long start, long end, long step, long chunk,
                                              unsigned flags) {
  wrap(loop_guided, body, data, threads, start, end, step, chunk, flags);
}

FERMATA_EXPORT void GOMP_parallel_loop_nonmonotonic_dynamic(Body* body, void* data, unsigned threads, long start, long end, long step,
                                                            long chunk, unsigned flags) {
  wrap(loop_nonmonotonic_dynamic, body, data, threads, start, end, step, chunk, flags);
}

FERMATA_EXPORT void GOMP_parallel_loop_nonmonotonic_guided(Body* body, void* data, unsigned threads, long start, long end, long step,
                                                           long chunk, unsigned flags) {
  wrap(loop_nonmonotonic_guided, body, data, threads, start, end, step, chunk, flags);
}

FERMATA_EXPORT void GOMP_parallel_loop_runtime(Body* body, void* data, unsigned threads, long start, long end, long step,
                                               unsigned flags) {
  wrap(loop_runtime, body, data, threads, start, end, step, flags);
}

FERMATA_EXPORT void GOMP_parallel_loop_nonmonotonic_runtime(Body* body, void* data, unsigned threads, long start, long end, long step,
                                                            unsigned flags) {
  wrap(loop_nonmonotonic_runtime, body, data, threads, start, end, step, flags);
}

FERMATA_EXPORT void GOMP_parallel_loop_maybe_nonmonotonic_runtime(Body* body, void* data, unsigned threads, long start, long end,
                                                                  long step, unsigned flags) {
  wrap(loop_maybe_nonmonotonic_runtime, body, data, threads, start, end, step, flags);
}

// ---- For <fermata/openmp.hpp>: 1 if done, 0 where the region's barriers are the run-time's. libomp: the caller's regions are
// libomp's, by its own entry points.

FERMATA_EXPORT int fermata_openmp_barrier(int libomp) {
  const Place place = libomp != 0 ? place_in<RunTime::kLibomp>() : place_in_gomp();
  if (!place.planned) return 0;
  const void* site = __builtin_return_address(0);
  if (is_timed(place, site)) [[unlikely]] return in_planned_timed(place, site, [=] { return meet(place); }) ? 1 : 0;
  return meet(place) ? 1 : 0;
}

FERMATA_EXPORT int fermata_openmp_allreduce(int libomp, void* data, std::size_t bytes, fermata_fold fold, void* context) {
  const Place place = libomp != 0 ? place_in<RunTime::kLibomp>() : place_in_gomp();
  if (!place.planned) return 0;
  const void* site = __builtin_return_address(0);
  if (is_timed(place, site)) [[unlikely]]
    return in_planned_timed(place, site, [=] { return allreduce(place, data, bytes, fold, context); }) ? 1 : 0;
  return allreduce(place, data, bytes, fold, context) ? 1 : 0;
}
