#include "run_time.hpp"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "notice.hpp"
#include "objects.hpp"
#include "os/environment.hpp"
#include "resident.hpp"
#include "watch.hpp"

namespace fermata::preload {
namespace {

bool off = false;  // written before the program's main

__attribute__((constructor)) void read_environment() {
  off = os::is_on(os::Variable::kDisable);
  say_loaded(off);
  settle_residences();
  if (!off && stats::start("fermata-openmp", "ranked barriers, a plan for each team size")) watch();
}

// Calls f(name, index) for each entry.
template <class F>
void for_each_entry(F&& f) {
  const auto all = [&](auto... entries) { (f(entries.name, entries.index), ...); };
  using namespace gomp;
  all(kBarrier, kLoopEnd, kLoopEndNowait, kSectionsEnd, kSectionsEndNowait, kParallel, kParallelSections,
      kLoopStatic, kLoopDynamic, kLoopGuided, kLoopNonmonotonicDynamic, kLoopNonmonotonicGuided, kLoopRuntime,
      kLoopNonmonotonicRuntime, kLoopMaybeNonmonotonicRuntime, kTask, gomp::kTaskloop, kTaskloopUll, kTarget,
      kTargetUpdate, kTargetData, kParallelStart, kParallelEnd, kSectionsStart, kLoopStaticStart,
      kLoopDynamicStart, kLoopGuidedStart, kLoopRuntimeStart, kReductions, kTeams, kLoopStart, kStaticStart,
      kPause, kPauseAll);
  all(kmp::kBarrier, kmp::kForkCall, kmp::kTask, kmp::kTaskParts, kmp::kTaskWithDeps, kmp::kTaskloop,
      kmp::kTaskloop5, kmp::kReduce, kmp::kEndReduce, kmp::kEndReduceNowait, kmp::kReduceNowait);
}

const char own_object = 0;  // an address in this library

// Wrappers of other libraries, e.g. a profiler's: global functions that are in no run-time library. Every
// object's calls go to them first. They are looked up while the program is loaded. Later a thread that holds
// the loader's lock may wait for this one.
void (*wrappers[kEntries])();

__attribute__((constructor)) void find_wrappers() {
  for_each_entry([](const char* name, int index) {
    void* const next = dlsym(RTLD_NEXT, name);
    if (next == nullptr) return;
    for_each_loaded([&](const dl_phdr_info& info) {
      const Object object(info);
      if (!object.contains(next)) return false;
      if (!is_run_time(object, Family::kGomp) && !is_run_time(object, Family::kKmp))
        wrappers[index] = reinterpret_cast<void (*)()>(next);
      return true;
    });
  });
}

#if defined(__SANITIZE_THREAD__)
constexpr bool kInstrumented = true;
#elif defined(__has_feature)
constexpr bool kInstrumented = __has_feature(thread_sanitizer);
#else
constexpr bool kInstrumented = false;
#endif

// Is there an OMPT tool (OpenMP 5.2, section 19.2), or ThreadSanitizer, for which libomp loads the tool
// Archer by itself? A tool would miss the events of planned barriers. ThreadSanitizer would not see which
// accesses they order, unless this library is built with it, too.
bool is_observed(bool libomp) {
  bool found = false;
  for_each_loaded([&](const dl_phdr_info& info) {
    const Object object(info);
    found = (!kInstrumented && object.find("__tsan_init") != nullptr) ||
            (libomp && object.find("ompt_start_tool") != nullptr && !is_run_time(object, Family::kKmp));
    return found;
  });
  if (!libomp || found) return found;
  const char* tools = secure_getenv("OMP_TOOL_LIBRARIES");
  const char* tool = secure_getenv("OMP_TOOL");
  return tools != nullptr && tools[0] != '\0' && (tool == nullptr || strcasecmp(tool, "disabled") != 0);
}

}  // namespace

bool is_run_time(const Object& object, Family family) {
  return object.find(kMarks[static_cast<int>(family)]) != nullptr &&
         object.find("omp_get_thread_num") != nullptr && !object.contains(&own_object);
}

RunTime read_run_time(const Object& object) {
  RunTime out;
  out.low = object.low();
  const auto question = [&](const char* name) { return reinterpret_cast<int (*)()>(object.find(name)); };
  out.level = question("omp_get_level");
  out.thread_num = question("omp_get_thread_num");
  out.num_threads = question("omp_get_num_threads");
  out.cancellation = question("omp_get_cancellation");
  out.num_procs = question("omp_get_num_procs");
  out.max_threads = question("omp_get_max_threads");
  out.dynamic = question("omp_get_dynamic");
  out.thread_limit = question("omp_get_thread_limit");
  out.max_active_levels = question("omp_get_max_active_levels");
  out.nested = question("omp_get_nested");
  out.default_device = question("omp_get_default_device");
  out.default_allocator = reinterpret_cast<std::uintptr_t (*)()>(object.find("omp_get_default_allocator"));
  out.schedule = reinterpret_cast<void (*)(int*, int*)>(object.find("omp_get_schedule"));
  for_each_entry([&](const char* name, int index) {
    auto* const there = reinterpret_cast<void (*)()>(object.find(name));
    const bool wrapped = there != nullptr && wrappers[index] != nullptr;
    out.functions[index] = wrapped ? wrappers[index] : there;
    out.wrapped |= wrapped;
  });
  const bool answers = out.level != nullptr && out.thread_num != nullptr && out.num_threads != nullptr &&
                       out.cancellation != nullptr;
  out.observed = is_observed(out.find(kmp::kBarrier) != nullptr);
  out.planned = answers && !off && !out.observed;
  return out;
}

bool disabled() { return off; }

}  // namespace fermata::preload
