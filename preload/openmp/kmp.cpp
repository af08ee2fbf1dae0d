// libomp: __kmpc_fork_call is wrapped, as clang emits it for each region. What it hands on to the region's function, however much, goes on
// behind a trampoline that knows the region (noted.hpp). A region that is run by its encountering thread alone
// (__kmpc_serialized_parallel), a league's, and whatever else calls libomp from within are entered unseen, and are told by their level.
//
// Not by OMPT: to have a tool at all costs libomp (19, two cores of one cache, Zen 5) 60 ns of each region, a seventh, and 10 of each
// barrier, for which it keeps frames and thread states, before the first callback.
//
// Cost: a region 10 ns, a barrier 4 ns for the level.
#include <stdarg.h>

#include <cstdint>
#include <utility>

#include "noted.hpp"
#include "real.hpp"

namespace fermata::preload {
namespace {

using Microtask = void();  // in truth of (std::int32_t* thread, std::int32_t* rank, and as many pointers as there are arguments)

Real<void(void*, std::int32_t)> barrier("__kmpc_barrier");
Real<void(void*, std::int32_t, Microtask*, ...)> fork_call("__kmpc_fork_call");

Known known;

// As many pointers as libomp is told to hand to each thread of a region: the task, its region, the level and up to N arguments, the
// rest of them null. In each of the ABIs that libomp runs on (x86-64, AArch64, ELFv2, RISC-V) the caller removes what it passed, so that
// the task may be given more than it takes. All of it goes by way of libomp's own copies, not by a line of ours that each thread would
// have to get: that took 50 ns of a region's 400.
template <std::size_t>
using Argument = void*;

void run(Microtask* task, std::int32_t* thread, std::int32_t* rank, auto... arguments) {
  reinterpret_cast<void (*)(std::int32_t*, std::int32_t*, decltype(arguments)...)>(task)(thread, rank, arguments...);
}

template <std::size_t... I>
void enter(std::int32_t* thread, std::int32_t* rank, Microtask* task, Region* region, std::intptr_t level, Argument<I>... arguments) {
  if (region == nullptr) return run(task, thread, rank, arguments...);
  const Stay stay(RunTime::kLibomp, {region, static_cast<std::uint32_t>(*rank), static_cast<int>(level)});
  run(task, thread, rank, arguments...);
}

template <std::size_t... I>
void fork(void* location, std::int32_t count, Microtask* task, va_list& list, std::index_sequence<I...>) {
  void* arguments[sizeof...(I)] = {};
  for (std::int32_t i = 0; i < count; ++i) arguments[i] = va_arg(list, void*);
  Region region;
  const bool noted = !disabled() && known.get([] { return fork_call.get(); }) == Found::kLibomp;
  const std::intptr_t level = noted ? ask(RunTime::kLibomp).level() + 1 : 0;
  fork_call.get()(location, 3 + static_cast<std::int32_t>(sizeof...(I)), reinterpret_cast<Microtask*>(enter<I...>), task,
                  noted ? &region : nullptr, level, arguments[I]...);
  if (noted) end(region);
}

}  // namespace
}  // namespace fermata::preload

using namespace fermata::preload;

FERMATA_EXPORT void __kmpc_fork_call(void* location, std::int32_t count, Microtask* task, ...) {
  va_list list;
  va_start(list, task);
  if (count <= 2) {
    fork(location, count, task, list, std::make_index_sequence<2>());
  } else if (count <= 12) {
    fork(location, count, task, list, std::make_index_sequence<12>());
  } else if (count <= 64) {
    fork(location, count, task, list, std::make_index_sequence<64>());
  } else if (count <= 1024) {
    fork(location, count, task, list, std::make_index_sequence<1024>());
  } else {
    no_such_function("__kmpc_fork_call with more than 1024 arguments");
  }
  va_end(list);
}

FERMATA_EXPORT void __kmpc_barrier(void* location, std::int32_t thread) {
  at_barrier(place_in<RunTime::kLibomp>(), __builtin_return_address(0), [=] { barrier.get()(location, thread); });
}
