// dlopen is not wrapped: called from here, it would search this library's run path instead of its caller's.
// The loader's count of objects ever loaded serves as well. Reading it takes 60 ns, once per region that has
// a barrier.
#include "imports.hpp"

#include <string.h>

#include <atomic>

#include "notice.hpp"
#include "objects.hpp"

namespace fermata::preload {
namespace {

constexpr const char* kTasking[] = {"GOMP_task", "GOMP_target", "__kmpc_omp_task", "__kmpc_taskloop",
                                    "__tgt_target"};

bool is_tasking(const char* name) {
  if (name[0] != 'G' && name[0] != '_') return false;
  for (const char* prefix : kTasking)
    if (strncmp(name, prefix, strlen(prefix)) == 0) return true;
  return false;
}

std::atomic<bool> found{false};
std::atomic<unsigned long long> looked_at{0};  // objects ever loaded, at the last search

}  // namespace

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
