// libomp: __kmpc_barrier. Teams are identified by OMPT (OpenMP 5.0, chapter 4): a Region hangs on each parallel region's data from
// parallel-begin to parallel-end, and at a region's first barrier the run-time itself says which region this thread is in and as
// whom. That is remembered until this thread begins or ends any implicit task, and used only at the nesting level where it was
// learnt: a wrong memory would take both a missed beginning and a missed end.
//
// Cost: libomp with a tool registered keeps frames and thread states for it and calls back at each end of a region and of a
// thread's part in it: 0.1 to 0.2 us of a region. The question at a region's first barrier takes 20 to 50 ns, the look at
// the level 4 ns a barrier.
#include "kmp.hpp"

#include <errno.h>
#include <stdlib.h>

#include <new>

#include "notice.hpp"
#include "real.hpp"
#include "watch.hpp"

namespace fermata::preload {
namespace {

// ---- The part of OMPT's interface that is used, after the specification.
union Data {
  std::uint64_t value;
  void* ptr;
};
using AnyFunction = void (*)();
using Lookup = AnyFunction (*)(const char* name);
struct StartToolResult {
  int (*initialize)(Lookup lookup, int initial_device, Data* tool);
  void (*finalize)(Data* tool);
  Data tool;
};
using StartTool = StartToolResult* (*)(unsigned version, const char* runtime);
using SetCallback = int (*)(int event, AnyFunction callback);
using TaskInfo = int (*)(int ancestor, int* flags, Data** task, void** frame, Data** parallel, int* thread);
using ParallelInfo = int (*)(int ancestor, Data** parallel, int* size);
constexpr int kParallelBegin = 3;
constexpr int kParallelEnd = 4;
constexpr int kImplicitTask = 7;
constexpr int kNever = 1;           // ompt_set_never; smaller is an error
constexpr int kAvailable = 2;       // of task and parallel information
constexpr int kLeague = 0x40000000; // ompt_parallel_league: a teams construct's
constexpr int kImplicit = 2;        // ompt_task_implicit

// Written while the run-time starts, before any region.
struct Tool {
  TaskInfo task = nullptr;
  ParallelInfo parallel = nullptr;
  int (*cancellation)() = nullptr;
  int (*level)() = nullptr;
};
Tool tool;

// Where this thread is; a null region: not known.
struct Here {
  Region* region;
  std::uint32_t rank;
  int level;
};
__thread Here here __attribute__((tls_model("initial-exec"))) = {};

// The regions that this thread has begun and not ended, innermost first: they end in turn. The parallel data that comes with an end
// is not looked at: libomp (19) has given its team back by then, and another region's data may be there. What does come with both is
// the encountering task; an end that fits none is passed over, and its region ends with the one around it.
struct Begun {
  Region region;
  Begun* outer;
  const Data* task;
};
__thread Begun* innermost __attribute__((tls_model("initial-exec"))) = nullptr;
// The outermost one's place, which a thread that ends takes along; those within it are allocated.
alignas(Begun) __thread unsigned char outermost[sizeof(Begun)] __attribute__((tls_model("initial-exec")));
__thread std::uint32_t without __attribute__((tls_model("initial-exec"))) = 0;  // innermost ones that there was no memory for

void begin_parallel(Data* task, const void*, Data* parallel, unsigned, int flags, const void*) {
  void* memory = without > 0 ? nullptr : innermost == nullptr ? outermost : aligned_alloc(alignof(Begun), sizeof(Begun));
  parallel->ptr = nullptr;
  if (memory == nullptr) {
    ++without;
    return;
  }
  innermost = new (memory) Begun{{}, innermost, task};
  if ((flags & kLeague) == 0) parallel->ptr = &innermost->region;
}

void end_parallel(Data*, Data* task, int, const void*) {
  here.region = nullptr;
  if (without > 0) {
    --without;
    return;
  }
  const Begun* fits = innermost;
  while (fits != nullptr && fits->task != task) fits = fits->outer;
  for (bool last = fits == nullptr; !last;) {
    Begun* ended = innermost;
    last = ended == fits;
    innermost = ended->outer;
    end(ended->region);
    if (innermost != nullptr) free(ended);
  }
}

void change_task(int, Data*, Data*, unsigned, unsigned, int) { here.region = nullptr; }

int initialize(Lookup lookup, int, Data*) {
  const auto set = reinterpret_cast<SetCallback>(lookup("ompt_set_callback"));
  const auto task = reinterpret_cast<TaskInfo>(lookup("ompt_get_task_info"));
  const auto parallel = reinterpret_cast<ParallelInfo>(lookup("ompt_get_parallel_info"));
  const void* some = reinterpret_cast<const void*>(set);
  tool.cancellation = reinterpret_cast<int (*)()>(find_beside(some, "omp_get_cancellation"));
  tool.level = reinterpret_cast<int (*)()>(find_beside(some, "omp_get_level"));
  if (set == nullptr || task == nullptr || parallel == nullptr || tool.cancellation == nullptr || tool.level == nullptr ||
      set(kImplicitTask, reinterpret_cast<AnyFunction>(change_task)) <= kNever ||
      set(kParallelBegin, reinterpret_cast<AnyFunction>(begin_parallel)) <= kNever ||
      set(kParallelEnd, reinterpret_cast<AnyFunction>(end_parallel)) <= kNever) {
    leave_libomp(Fallback::kNoTool);
    return 0;
  }
  tool.parallel = parallel;
  tool.task = task;
  return 1;
}

void finalize(Data*) { tool.task = nullptr; }

StartToolResult our_tool{initialize, finalize, {0}};

Facts facts() {
  Data* ignored = nullptr;
  int size = 0;
  if (tool.parallel(0, &ignored, &size) != kAvailable || size < 0) size = 0;
  return {static_cast<std::uint32_t>(size), tool.cancellation() != 0};
}

Real<void(void*, std::int32_t)> kmpc_barrier("__kmpc_barrier");

}  // namespace

Place place_in_kmp() {
  if (tool.task == nullptr) {
    libomp_has_no_tool();
    return {};
  }
  if (here.region == nullptr || here.level != tool.level()) [[unlikely]] {
    Data* parallel = nullptr;
    int flags = 0;
    int thread = 0;
    here.region = nullptr;
    if (tool.task(0, &flags, nullptr, nullptr, &parallel, &thread) != kAvailable || parallel == nullptr) return {};
    if (parallel->ptr == nullptr || (flags & kImplicit) == 0) return {};
    here = {static_cast<Region*>(parallel->ptr), static_cast<std::uint32_t>(thread), tool.level()};
  }
  return {here.region, here.rank, team_of(*here.region, facts) != nullptr};
}

}  // namespace fermata::preload

using namespace fermata::preload;

FERMATA_EXPORT void __kmpc_barrier(void* location, std::int32_t thread) {
  at_barrier(place_in_kmp(), __builtin_return_address(0), [=] { kmpc_barrier.get()(location, thread); });
}

// libomp asks for it when it starts. Another tool in this process has precedence.
FERMATA_EXPORT StartToolResult* ompt_start_tool(unsigned version, const char* runtime) {
  const auto next = reinterpret_cast<StartTool>(find_next("ompt_start_tool"));
  StartToolResult* other = next != nullptr ? next(version, runtime) : nullptr;
  if (other != nullptr) {
    leave_libomp(Fallback::kTool);
    return other;
  }
  return disabled() ? nullptr : &our_tool;
}
