// The stand-in with libomp's barrier and as much of OMPT (OpenMP 5.0, chapter 4) as tells a tool of regions and implicit tasks.
#include <dlfcn.h>

#include <cstdint>
#include <cstring>

#define STANDIN_RUN_TIME
#include "standin.hpp"

namespace {

using AnyFunction = void (*)();
using Lookup = AnyFunction (*)(const char* name);
struct StartToolResult {
  int (*initialize)(Lookup lookup, int device, void** tool);
  void (*finalize)(void** tool);
  void* tool;
};
constexpr int kBegin = 1;
constexpr int kEnd = 2;
constexpr int kImplicit = 2;
constexpr int kAvailable = 2;
constexpr int kAlways = 5;

void (*parallel_begin)(void**, const void*, void**, unsigned, int, const void*) = nullptr;
void (*parallel_end)(void**, void**, int, const void*) = nullptr;
void (*implicit_task)(int, void**, void**, unsigned, unsigned, int) = nullptr;

int set_callback(int event, AnyFunction callback) {
  if (event == 3) parallel_begin = reinterpret_cast<decltype(parallel_begin)>(callback);
  if (event == 4) parallel_end = reinterpret_cast<decltype(parallel_end)>(callback);
  if (event == 7) implicit_task = reinterpret_cast<decltype(implicit_task)>(callback);
  return kAlways;
}

int task_info(int, int* flags, void*** task, void**, void*** parallel, int* thread) {
  if (standin::where.team == nullptr) return 0;
  if (flags != nullptr) *flags = kImplicit;
  if (task != nullptr) *task = &standin::where.tool;
  if (parallel != nullptr) *parallel = &standin::where.team->tool;
  if (thread != nullptr) *thread = standin::where.rank;
  return kAvailable;
}

int parallel_info(int, void*** parallel, int* size) {
  if (standin::where.team == nullptr) return 0;
  *parallel = &standin::where.team->tool;
  *size = standin::where.team->size;
  return kAvailable;
}

AnyFunction look_up(const char* name) {
  if (std::strcmp(name, "ompt_set_callback") == 0) return reinterpret_cast<AnyFunction>(set_callback);
  if (std::strcmp(name, "ompt_get_task_info") == 0) return reinterpret_cast<AnyFunction>(task_info);
  if (std::strcmp(name, "ompt_get_parallel_info") == 0) return reinterpret_cast<AnyFunction>(parallel_info);
  return nullptr;
}

// Once, before the first region.
bool start_tool() {
  const auto start = reinterpret_cast<StartToolResult* (*)(unsigned, const char*)>(dlsym(RTLD_DEFAULT, "ompt_start_tool"));
  StartToolResult* result = start != nullptr ? start(201811, "stand-in") : nullptr;
  return result != nullptr && result->initialize(look_up, 0, &result->tool) != 0;
}

}  // namespace

void standin_parallel(void (*body)(void*), void* data, unsigned threads) {
  static const bool tool = start_tool();
  standin::Team team(static_cast<int>(threads));
  thread_local void* initial_task = nullptr;
  void** const task = standin::where.team != nullptr ? &standin::where.tool : &initial_task;
  if (tool) parallel_begin(task, nullptr, &team.tool, threads, 0, nullptr);
  standin::run(team, [&](standin::Team& mine) {
    const auto size = static_cast<unsigned>(mine.size);
    const auto rank = static_cast<unsigned>(standin::where.rank);
    if (tool) implicit_task(kBegin, &mine.tool, &standin::where.tool, size, rank, kImplicit);
    body(data);
    if (tool) implicit_task(kEnd, nullptr, &standin::where.tool, size, rank, kImplicit);
  });
  if (tool) parallel_end(&team.tool, task, 0, nullptr);
}

STANDIN_EXPORT void __kmpc_barrier(void*, std::int32_t) { standin::meet(); }
