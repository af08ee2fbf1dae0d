// An OpenMP run-time library in this process: libgomp, libomp or libiomp5, or a copy of one under another
// name, as Python wheels bring them. A process may have several. Thread numbers, regions and barriers of one
// mean nothing to another.
#ifndef FERMATA_PRELOAD_OPENMP_RUN_TIME_HPP
#define FERMATA_PRELOAD_OPENMP_RUN_TIME_HPP

#define FERMATA_EXPORT extern "C" __attribute__((visibility("default")))

#include <atomic>
#include <cstddef>
#include <cstdint>

// kmp.cpp's assembly reads it. 0: some run-time library with clang's entry points gets its calls by a jump,
// or none is known yet.
extern "C" __attribute__((visibility("hidden"))) std::atomic<std::uint8_t> fermata_openmp_all_planned;

namespace fermata::preload {

class Object;

using Body = void(void*);
// Its real arguments: std::int32_t* thread, std::int32_t* rank, and a pointer for each of the region's
// arguments.
using Microtask = void();

// GCC's entry points and clang's. libomp has both.
enum class Family : int { kGomp, kKmp };
inline constexpr int kFamilies = 2;

// A function of a run-time library, and its index in RunTime::functions.
template <class Function>
struct Entry {
  const char* name;
  int index;
};

namespace gomp {
using Parallel = void(Body*, void*, unsigned, unsigned);
using Sections = void(Body*, void*, unsigned, unsigned, unsigned);
using Loop = void(Body*, void*, unsigned, long, long, long, unsigned);
using ChunkedLoop = void(Body*, void*, unsigned, long, long, long, long, unsigned);
using Task = void(Body*, void*, void (*)(void*, void*), long, long, bool, unsigned, void**, int, void*);
using Taskloop = void(Body*, void*, void (*)(void*, void*), long, long, unsigned, unsigned long, int, long,
                      long, long);
using TaskloopUll = void(Body*, void*, void (*)(void*, void*), long, long, unsigned, unsigned long, int,
                         unsigned long long, unsigned long long, unsigned long long);
using Target = void(int, Body*, std::size_t, void**, std::size_t*, unsigned short*, unsigned, void**, void**);
using TargetData = void(int, std::size_t, void**, std::size_t*, unsigned short*, unsigned, void**);

inline constexpr Entry<void()> kBarrier{"GOMP_barrier", 0};
inline constexpr Entry<void()> kLoopEnd{"GOMP_loop_end", 1};
inline constexpr Entry<void()> kLoopEndNowait{"GOMP_loop_end_nowait", 2};
inline constexpr Entry<void()> kSectionsEnd{"GOMP_sections_end", 3};
inline constexpr Entry<void()> kSectionsEndNowait{"GOMP_sections_end_nowait", 4};
inline constexpr Entry<Parallel> kParallel{"GOMP_parallel", 5};
inline constexpr Entry<Sections> kParallelSections{"GOMP_parallel_sections", 6};
inline constexpr Entry<ChunkedLoop> kLoopStatic{"GOMP_parallel_loop_static", 7};
inline constexpr Entry<ChunkedLoop> kLoopDynamic{"GOMP_parallel_loop_dynamic", 8};
inline constexpr Entry<ChunkedLoop> kLoopGuided{"GOMP_parallel_loop_guided", 9};
inline constexpr Entry<ChunkedLoop> kLoopNonmonotonicDynamic{"GOMP_parallel_loop_nonmonotonic_dynamic", 10};
inline constexpr Entry<ChunkedLoop> kLoopNonmonotonicGuided{"GOMP_parallel_loop_nonmonotonic_guided", 11};
inline constexpr Entry<Loop> kLoopRuntime{"GOMP_parallel_loop_runtime", 12};
inline constexpr Entry<Loop> kLoopNonmonotonicRuntime{"GOMP_parallel_loop_nonmonotonic_runtime", 13};
inline constexpr Entry<Loop> kLoopMaybeNonmonotonicRuntime{"GOMP_parallel_loop_maybe_nonmonotonic_runtime",
                                                           14};
inline constexpr Entry<Task> kTask{"GOMP_task", 15};
inline constexpr Entry<Taskloop> kTaskloop{"GOMP_taskloop", 16};
inline constexpr Entry<TaskloopUll> kTaskloopUll{"GOMP_taskloop_ull", 17};
inline constexpr Entry<Target> kTarget{"GOMP_target_ext", 18};
inline constexpr Entry<TargetData> kTargetUpdate{"GOMP_target_update_ext", 19};
inline constexpr Entry<TargetData> kTargetData{"GOMP_target_enter_exit_data", 20};
inline constexpr Entry<void(Body*, void*, unsigned)> kParallelStart{"GOMP_parallel_start", 28};
inline constexpr Entry<void()> kParallelEnd{"GOMP_parallel_end", 29};
// Other ways to the threads of a team
using SectionsStart = void(Body*, void*, unsigned, unsigned);
using LoopStart = void(Body*, void*, unsigned, long, long, long);
using ChunkedLoopStart = void(Body*, void*, unsigned, long, long, long, long);
inline constexpr Entry<SectionsStart> kSectionsStart{"GOMP_parallel_sections_start", 30};
inline constexpr Entry<ChunkedLoopStart> kLoopStaticStart{"GOMP_parallel_loop_static_start", 31};
inline constexpr Entry<ChunkedLoopStart> kLoopDynamicStart{"GOMP_parallel_loop_dynamic_start", 32};
inline constexpr Entry<ChunkedLoopStart> kLoopGuidedStart{"GOMP_parallel_loop_guided_start", 33};
inline constexpr Entry<LoopStart> kLoopRuntimeStart{"GOMP_parallel_loop_runtime_start", 34};
inline constexpr Entry<unsigned(Body*, void*, unsigned, unsigned)> kReductions{"GOMP_parallel_reductions",
                                                                               35};
inline constexpr Entry<void(Body*, void*, unsigned, unsigned, unsigned)> kTeams{"GOMP_teams_reg", 36};
inline constexpr Entry<bool(long, long, long, long, long, long*, long*, std::uintptr_t*, void**)> kLoopStart{
    "GOMP_loop_start", 39};
inline constexpr Entry<bool(long, long, long, long, long*, long*)> kStaticStart{"GOMP_loop_static_start", 43};
inline constexpr Entry<int(int, int)> kPause{"omp_pause_resource", 37};
inline constexpr Entry<int(int)> kPauseAll{"omp_pause_resource_all", 38};
}  // namespace gomp

namespace kmp {
using Task = std::int32_t(void*, std::int32_t, void*);
using TaskWithDeps = std::int32_t(void*, std::int32_t, void*, std::int32_t, void*, std::int32_t, void*);
using Taskloop = void(void*, std::int32_t, void*, std::int32_t, std::uint64_t*, std::uint64_t*, std::int64_t,
                      std::int32_t, std::int32_t, std::uint64_t, void*);
using Taskloop5 = void(void*, std::int32_t, void*, std::int32_t, std::uint64_t*, std::uint64_t*, std::int64_t,
                       std::int32_t, std::int32_t, std::uint64_t, std::int32_t, void*);

inline constexpr Entry<void(void*, std::int32_t)> kBarrier{"__kmpc_barrier", 21};
inline constexpr Entry<void(void*, std::int32_t, Microtask*, ...)> kForkCall{"__kmpc_fork_call", 22};
inline constexpr Entry<Task> kTask{"__kmpc_omp_task", 23};
inline constexpr Entry<Task> kTaskParts{"__kmpc_omp_task_parts", 24};
inline constexpr Entry<TaskWithDeps> kTaskWithDeps{"__kmpc_omp_task_with_deps", 25};
inline constexpr Entry<Taskloop> kTaskloop{"__kmpc_taskloop", 26};
inline constexpr Entry<Taskloop5> kTaskloop5{"__kmpc_taskloop_5", 27};
using Reduce = std::int32_t(void*, std::int32_t, std::int32_t, std::size_t, void*, void (*)(void*, void*),
                            void*);
inline constexpr Entry<Reduce> kReduce{"__kmpc_reduce", 40};
inline constexpr Entry<void(void*, std::int32_t, void*)> kEndReduce{"__kmpc_end_reduce", 41};
inline constexpr Entry<void(void*, std::int32_t, void*)> kEndReduceNowait{"__kmpc_end_reduce_nowait", 42};
inline constexpr Entry<Reduce> kReduceNowait{"__kmpc_reduce_nowait", 44};
}  // namespace kmp

inline constexpr int kEntries = 45;

// A function that each library of the family has.
inline constexpr const char* kMarks[kFamilies] = {gomp::kBarrier.name, kmp::kBarrier.name};

struct RunTime {
  // Functions that answer for the calling thread; null if the library lacks them.
  int (*level)() = nullptr;
  int (*thread_num)() = nullptr;
  int (*num_threads)() = nullptr;
  int (*cancellation)() = nullptr;
  int (*num_procs)() = nullptr;
  int (*max_threads)() = nullptr;
  int (*dynamic)() = nullptr;
  int (*thread_limit)() = nullptr;
  int (*max_active_levels)() = nullptr;
  int (*nested)() = nullptr;
  int (*default_device)() = nullptr;
  std::uintptr_t (*default_allocator)() = nullptr;
  void (*schedule)(int* kind, int* chunk) = nullptr;
  std::uintptr_t low = 0;  // where it is loaded
  bool observed = false;   // an OMPT tool or ThreadSanitizer observes it
  // Its regions may be planned ones: it has the first four functions, it is not observed, and Fermata is not
  // disabled. If false, each call is passed on, and nothing is counted. It is passed on by a jump, except
  // clang's fork call on machines other than x86-64 and AArch64.
  bool planned = false;
  bool wrapped = false;  // another library wraps some of its functions
  void (*functions[kEntries])() = {};

  bool operator==(const RunTime&) const = default;

  bool has(Family family) const {
    return functions[family == Family::kGomp ? gomp::kBarrier.index : kmp::kBarrier.index] != nullptr;
  }

  // Null: the library has no such function.
  template <class Function>
  Function* find(Entry<Function> entry) const {
    return reinterpret_cast<Function*>(functions[entry.index]);
  }
};

// Is it a run-time library with these entry points? It is if it has the family's mark and omp_get_thread_num,
// and is not this library. A library that only wraps some entry points is none.
bool is_run_time(const Object& object, Family family);

// Reads the functions of `object`, a run-time library. If another library wraps a function, its
// wrapper takes the function's place.
RunTime read_run_time(const Object& object);

// The run-time library that a call is meant for. The loader has bound it in the calling object, or would have
// bound it there without this library. `object` is an address in the calling object: the region's function,
// clang's ident_t, or else the return address. Null: no loaded object has the entry points.
//
// A known answer takes a look at a small table. Other calls take the lock of dl_iterate_phdr, for some
// microseconds: those of unknown callers, those from code that is in no object, all calls while a dlclose
// runs, and, outside of regions, those from an object that imports nothing of OpenMP. They take the loader's
// lock only if several libraries are loaded and nothing else tells which one it is.
struct Caller {
  const RunTime* run_time = nullptr;
  std::uintptr_t low = 0, span = 0;  // addresses of the calling object; one byte where there is none
};
Caller caller_of(Family family, const void* object);
// How many of these answers have been found so far.
std::uint32_t callers_known();

// FERMATA_DISABLE is set: no run-time library's regions are planned (RunTime::planned).
bool disabled();

}  // namespace fermata::preload
#endif
