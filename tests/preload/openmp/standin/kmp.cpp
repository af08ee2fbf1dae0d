// The stand-in with those entry points of libomp that the driver uses.
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <utility>

#define STANDIN_RUN_TIME
#include "standin.hpp"

namespace {

using Task = void();
constexpr std::size_t kMost = 1100;

template <std::size_t>
using Argument = void*;

template <std::size_t... I>
void call(Task* task, std::int32_t* thread, std::int32_t* rank, void* const* arguments,
          std::index_sequence<I...>) {
  reinterpret_cast<void (*)(std::int32_t*, std::int32_t*, Argument<I>...)>(task)(thread, rank,
                                                                                 arguments[I]...);
}

// Passes exactly `count` arguments, one of the counts that are possible.
template <std::size_t... Counts>
void call_with(std::size_t count, Task* task, std::int32_t* thread, std::int32_t* rank,
               void* const* arguments, std::index_sequence<Counts...>) {
  const bool known =
      ((count == Counts && (call(task, thread, rank, arguments, std::make_index_sequence<Counts>()), true)) ||
       ...);
  if (!known) std::abort();
}

}  // namespace

STANDIN_EXPORT void __kmpc_fork_call(void*, std::int32_t count, Task* task, ...) {
  if (count < 0 || static_cast<std::size_t>(count) > kMost) std::abort();
  void* arguments[kMost] = {};
  va_list list;
  va_start(list, task);
  for (std::int32_t i = 0; i < count; ++i) arguments[i] = va_arg(list, void*);
  va_end(list);
  standin::Team team(standin::take_threads());
  standin::run(team, [&](standin::Team&) {
    std::int32_t thread = 0;
    std::int32_t rank = standin::where.rank;
    call_with(static_cast<std::size_t>(count), task, &thread, &rank, arguments,
              std::index_sequence<5, 15, 67, 1027>());
  });
}

STANDIN_EXPORT void __kmpc_push_num_threads(void*, std::int32_t, std::int32_t threads) {
  standin::next_threads = threads;
}
STANDIN_EXPORT void __kmpc_barrier(void*, std::int32_t) { standin::meet(); }
