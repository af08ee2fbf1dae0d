// Wraps the functions that make tasks, GCC's and clang's, and passes the calls on. A region may have decided
// for planned barriers before the process had any such call (tasks_are_used()). It learns of its first task
// here: a library that was opened since may make it.
#include <atomic>
#include <cstring>

#include "noted.hpp"
#include "notice.hpp"
#include "objects.hpp"
#include "run_time.hpp"

namespace fermata::preload {
namespace {

template <class Function>
inline Function* before_task(Entry<Function> entry, Family family, const void* object) {
  const RunTime* run_time = caller_of(family, object).run_time;
  Function* const real = run_time != nullptr ? run_time->find(entry) : nullptr;
  if (real == nullptr) say_none(entry.name);
  else note_task(*run_time);
  return real;
}

template <class Function, class Address>
inline Function* gomp_task(Entry<Function> entry, Address* object) {
  return before_task(entry, Family::kGomp, reinterpret_cast<const void*>(object));
}

template <class Function>
inline Function* kmp_task(Entry<Function> entry, const void* location, const void* site) {
  return before_task(entry, Family::kKmp, location != nullptr ? location : site);
}

// Runs a task at once, as a run-time library does, with a copy of its data. In the copy, a task loop's bounds
// come first.
template <class... Bounds>
void run_now(Body* body, void* data, void (*copy)(void*, void*), long bytes, long alignment,
             Bounds... bounds) {
  void* own = data;
  if (copy != nullptr || sizeof...(Bounds) > 0) {
    const auto begin =
        reinterpret_cast<std::uintptr_t>(__builtin_alloca(static_cast<std::size_t>(bytes + alignment)));
    own = reinterpret_cast<void*>((begin + static_cast<std::uintptr_t>(alignment) - 1) &
                                  ~(static_cast<std::uintptr_t>(alignment) - 1));
    if (copy != nullptr) copy(own, data);
    else memcpy(own, data, static_cast<std::size_t>(bytes));
  }
  int i = 0;
  ((memcpy(static_cast<char*>(own) + i++ * sizeof bounds, &bounds, sizeof bounds)), ...);
  body(own);
}

constexpr const char* kTasking[] = {"GOMP_task", "GOMP_target", "__kmpc_omp_task", "__kmpc_taskloop",
                                    "__tgt_target"};

bool is_tasking(const char* name) {
  return (name[0] == 'G' || name[0] == '_') && begins_with_any(name, kTasking);
}

std::atomic<bool> found{false};
std::atomic<unsigned long long> looked_at{0};  // objects ever loaded, at the last search

}  // namespace

// dlopen is not called from here: it would search this library's run path instead of its caller's. The
// loader's count of objects ever loaded serves as well. Reading it takes 60 ns, once per region that has, or
// is expected to have, a barrier.
bool tasks_are_used() {
  if (found.load(std::memory_order_relaxed)) return true;  // order: relaxed: it publishes nothing else
  const unsigned long long added = loads().added;
  // order: relaxed: two threads may both search
  if (added == looked_at.load(std::memory_order_relaxed)) return false;
  bool any = false;
  unsigned long long seen = 0;
  for_each_loaded([&](const dl_phdr_info& info) {
    seen = info.dlpi_adds;
    any = Object(info).any_import([](const char* name, const void* const*) { return is_tasking(name); });
    if (any) say_fallback(Fallback::kTasks, info.dlpi_name[0] != '\0' ? info.dlpi_name : "the program");
    return any;
  });
  if (any) found.store(true, std::memory_order_relaxed);  // order: relaxed, both: see above
  else looked_at.store(seen, std::memory_order_relaxed);  // order: see above
  return any;
}

}  // namespace fermata::preload

using namespace fermata::preload;

FERMATA_EXPORT void GOMP_task(Body* body, void* data, void (*copy)(void*, void*), long bytes, long alignment,
                              bool deferred, unsigned flags, void** depend, int priority, void* detach) {
  auto* const real = gomp_task(gomp::kTask, body);
  if (real == nullptr) return run_now(body, data, copy, bytes, alignment);
  real(body, data, copy, bytes, alignment, deferred, flags, depend, priority, detach);
}

FERMATA_EXPORT void GOMP_taskloop(Body* body, void* data, void (*copy)(void*, void*), long bytes,
                                  long alignment, unsigned flags, unsigned long tasks, int priority,
                                  long start, long end, long step) {
  auto* const real = gomp_task(gomp::kTaskloop, body);
  if (real == nullptr) return run_now(body, data, copy, bytes, alignment, start, end);
  real(body, data, copy, bytes, alignment, flags, tasks, priority, start, end, step);
}

FERMATA_EXPORT void GOMP_taskloop_ull(Body* body, void* data, void (*copy)(void*, void*), long bytes,
                                      long alignment, unsigned flags, unsigned long tasks, int priority,
                                      unsigned long long start, unsigned long long end,
                                      unsigned long long step) {
  auto* const real = gomp_task(gomp::kTaskloopUll, body);
  if (real == nullptr) return run_now(body, data, copy, bytes, alignment, start, end);
  real(body, data, copy, bytes, alignment, flags, tasks, priority, start, end, step);
}

// Offloading with nowait makes a task. Without a run-time library the host has all data already.

FERMATA_EXPORT void GOMP_target_ext(int device, Body* body, std::size_t count, void** hosts,
                                    std::size_t* sizes, unsigned short* kinds, unsigned flags, void** depend,
                                    void** arguments) {
  auto* const real = gomp_task(gomp::kTarget, body);
  if (real == nullptr) return body(hosts);
  real(device, body, count, hosts, sizes, kinds, flags, depend, arguments);
}

FERMATA_EXPORT void GOMP_target_update_ext(int device, std::size_t count, void** hosts, std::size_t* sizes,
                                           unsigned short* kinds, unsigned flags, void** depend) {
  auto* const real = gomp_task(gomp::kTargetUpdate, __builtin_return_address(0));
  if (real != nullptr) real(device, count, hosts, sizes, kinds, flags, depend);
}

FERMATA_EXPORT void GOMP_target_enter_exit_data(int device, std::size_t count, void** hosts,
                                                std::size_t* sizes, unsigned short* kinds, unsigned flags,
                                                void** depend) {
  auto* const real = gomp_task(gomp::kTargetData, __builtin_return_address(0));
  if (real != nullptr) real(device, count, hosts, sizes, kinds, flags, depend);
}

// clang's tasks come from __kmpc_omp_task_alloc, which is not wrapped, so there is a run-time library.

FERMATA_EXPORT std::int32_t __kmpc_omp_task(void* location, std::int32_t thread, void* task) {
  auto* const real = kmp_task(kmp::kTask, location, __builtin_return_address(0));
  return real != nullptr ? real(location, thread, task) : 0;
}

FERMATA_EXPORT std::int32_t __kmpc_omp_task_parts(void* location, std::int32_t thread, void* task) {
  auto* const real = kmp_task(kmp::kTaskParts, location, __builtin_return_address(0));
  return real != nullptr ? real(location, thread, task) : 0;
}

FERMATA_EXPORT std::int32_t __kmpc_omp_task_with_deps(void* location, std::int32_t thread, void* task,
                                                      std::int32_t count, void* list,
                                                      std::int32_t count_noalias, void* list_noalias) {
  auto* const real = kmp_task(kmp::kTaskWithDeps, location, __builtin_return_address(0));
  return real != nullptr ? real(location, thread, task, count, list, count_noalias, list_noalias) : 0;
}

FERMATA_EXPORT void __kmpc_taskloop(void* location, std::int32_t thread, void* task, std::int32_t condition,
                                    std::uint64_t* lower, std::uint64_t* upper, std::int64_t stride,
                                    std::int32_t nogroup, std::int32_t schedule, std::uint64_t grain,
                                    void* duplicate) {
  auto* const real = kmp_task(kmp::kTaskloop, location, __builtin_return_address(0));
  if (real != nullptr)
    real(location, thread, task, condition, lower, upper, stride, nogroup, schedule, grain, duplicate);
}

FERMATA_EXPORT void __kmpc_taskloop_5(void* location, std::int32_t thread, void* task, std::int32_t condition,
                                      std::uint64_t* lower, std::uint64_t* upper, std::int64_t stride,
                                      std::int32_t nogroup, std::int32_t schedule, std::uint64_t grain,
                                      std::int32_t modifier, void* duplicate) {
  auto* const real = kmp_task(kmp::kTaskloop5, location, __builtin_return_address(0));
  if (real != nullptr)
    real(location, thread, task, condition, lower, upper, stride, nogroup, schedule, grain, modifier,
         duplicate);
}
