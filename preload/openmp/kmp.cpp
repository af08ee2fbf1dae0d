// Wraps libomp's __kmpc_fork_call, which clang emits for each region. The region's function gets all its
// arguments through a trampoline that knows the region (noted.hpp). Some regions are not noticed: those that
// the encountering thread runs alone (__kmpc_serialized_parallel), and those that libomp enters itself. Their
// level tells them apart. A league within a region has the region's level; its only barriers are those of its
// reductions.
//
// OMPT is not used. Before the first callback, any tool costs libomp 19 on Zen 5 60 ns of a region and 10 ns
// of a barrier (bench/results/README.md): it keeps frames and thread states.
//
// Cost (bench/results/README.md): 10 ns for a region, and 3 to 4 ns for a barrier, most of it to read the
// level.
#include <stdarg.h>

#include <cstdint>
#include <utility>

#include "noted.hpp"

namespace fermata::preload {
namespace {

// As many pointers as libomp hands to each thread of a region: the task, its region, the level and up to N
// arguments. The rest of them are null. In each ABI that libomp runs on (x86-64, AArch64, ELFv2, RISC-V) the
// caller removes what it passed. So the task may get more arguments than it takes. libomp's own copies carry
// all of them. A struct of Fermata's would be one more line that each thread gets, and would make a region
// slower.
template <std::size_t>
using Argument = void*;

void run(Microtask* task, std::int32_t* thread, std::int32_t* rank, auto... arguments) {
  reinterpret_cast<void (*)(std::int32_t*, std::int32_t*, decltype(arguments)...)>(task)(thread, rank,
                                                                                         arguments...);
}

template <std::size_t... I>
void enter(std::int32_t* thread, std::int32_t* rank, Microtask* task, Region* region, std::intptr_t level,
           Argument<I>... arguments) {
  if (region == nullptr) return run(task, thread, rank, arguments...);
  const Stay stay(region, static_cast<std::uint32_t>(*rank), static_cast<int>(level));
  if (*rank == 0) foresee(*region);
  run(task, thread, rank, arguments...);
  count_part(*region, static_cast<std::uint32_t>(*rank));
}

constexpr std::int32_t kMostArguments = 1024;

// clang's calls pass their place in the source, which is stored in the calling object.
const void* object_of(const void* location, const void* site) {
  return location != nullptr ? location : site;
}

template <std::size_t... I>
void fork(const Caller& caller, void* location, std::int32_t count, Microtask* task, va_list& list,
          std::index_sequence<I...>) {
  void* arguments[sizeof...(I)] = {};
  for (std::int32_t i = 0; i < count; ++i) arguments[i] = va_arg(list, void*);
  auto* const real = caller.run_time != nullptr ? caller.run_time->find(kmp::kForkCall) : nullptr;
  if (real == nullptr) {
    say_none(kmp::kForkCall.name);
    std::int32_t thread = 0, rank = 0;
    return run(task, &thread, &rank, arguments[I]...);
  }
  Region region;
  const bool noted = caller.run_time->planned;
  if (noted) {
    begin(region, caller, reinterpret_cast<const void*>(task));
    count_begin(region, false);
  }
  const std::intptr_t level = noted ? region.level() + 1 : 0;
  real(location, 3 + static_cast<std::int32_t>(sizeof...(I)), reinterpret_cast<Microtask*>(enter<I...>), task,
       noted ? &region : nullptr, level, arguments[I]...);
  if (!noted) return;
  count_end(region);
  end(region);
}

struct KmpBarrier {
  static constexpr Family kFamily = Family::kKmp;
  void* location;
  std::int32_t thread;
  const void* object(const void* site) const { return object_of(location, site); }
  void operator()(const RunTime& run_time) const {
    if (auto* real = run_time.find(kmp::kBarrier); real != nullptr) real(location, thread);
  }
};

// Many arguments take up to 8 KiB of stack, so they get a frame of their own.
[[gnu::noinline]] void fork_many(const Caller& caller, void* location, std::int32_t count, Microtask* task,
                                 va_list& list) {
  if (count <= 64) return fork(caller, location, count, task, list, std::make_index_sequence<64>());
  fork(caller, location, count, task, list, std::make_index_sequence<kMostArguments>());
}

}  // namespace
}  // namespace fermata::preload

using namespace fermata::preload;

// Some calls are passed on by a jump: with FERMATA_DISABLE, with a tool that sees the caller and its frames,
// or with too many arguments for fork(). A C++ function with variable arguments cannot jump, so this is
// assembly. On processors that have none here, such a tool sees this library as the caller.
#if defined(__x86_64__) || defined(__aarch64__)
#define FERMATA_FORK __attribute__((visibility("hidden"))) void fermata_openmp_fork
extern "C" {
FERMATA_FORK(void* location, std::int32_t count, Microtask* task, ...);

// The function to jump to; null: fermata_openmp_fork.
__attribute__((visibility("hidden"), used)) void* fermata_openmp_pass(const void* location,
                                                                      std::int32_t count, const void* site) {
  const RunTime* run_time = caller_of(Family::kKmp, object_of(location, site)).run_time;
  if (run_time == nullptr || (run_time->planned && count <= kMostArguments)) return nullptr;
  return reinterpret_cast<void*>(run_time->find(kmp::kForkCall));
}
}
#else
#define FERMATA_FORK __attribute__((visibility("default"))) void __kmpc_fork_call
#endif

#if defined(__x86_64__)
asm(R"(
  .text
  .globl __kmpc_fork_call
  .type __kmpc_fork_call, @function
__kmpc_fork_call:
  .cfi_startproc
  endbr64
  cmpb $0, fermata_openmp_all_planned(%rip)
  je 1f
  cmpl $1024, %esi
  jle fermata_openmp_fork
1:
  pushq %rdi
  pushq %rsi
  pushq %rdx
  pushq %rcx
  pushq %r8
  pushq %r9
  pushq %rax
  .cfi_adjust_cfa_offset 56
  movq 56(%rsp), %rdx
  call fermata_openmp_pass
  movq %rax, %r11
  popq %rax
  popq %r9
  popq %r8
  popq %rcx
  popq %rdx
  popq %rsi
  popq %rdi
  .cfi_adjust_cfa_offset -56
  testq %r11, %r11
  jz fermata_openmp_fork
  jmp *%r11
  .cfi_endproc
  .size __kmpc_fork_call, .-__kmpc_fork_call
)");
#elif defined(__aarch64__)
asm(R"(
  .text
  .globl __kmpc_fork_call
  .type __kmpc_fork_call, %function
__kmpc_fork_call:
  .cfi_startproc
  hint #34
  adrp x16, fermata_openmp_all_planned
  ldrb w16, [x16, #:lo12:fermata_openmp_all_planned]
  cbz w16, 1f
  cmp w1, #1024
  b.le 2f
1:
  stp x29, x30, [sp, #-80]!
  .cfi_def_cfa_offset 80
  .cfi_offset 29, -80
  .cfi_offset 30, -72
  stp x0, x1, [sp, #16]
  stp x2, x3, [sp, #32]
  stp x4, x5, [sp, #48]
  stp x6, x7, [sp, #64]
  mov x2, x30
  bl fermata_openmp_pass
  mov x16, x0
  ldp x0, x1, [sp, #16]
  ldp x2, x3, [sp, #32]
  ldp x4, x5, [sp, #48]
  ldp x6, x7, [sp, #64]
  ldp x29, x30, [sp], #80
  .cfi_restore 29
  .cfi_restore 30
  .cfi_def_cfa_offset 0
  cbz x16, 2f
  br x16
2:
  b fermata_openmp_fork
  .cfi_endproc
  .size __kmpc_fork_call, .-__kmpc_fork_call
)");
#endif

extern "C" FERMATA_FORK(void* location, std::int32_t count, Microtask* task, ...) {
  const Caller caller = caller_of(Family::kKmp, object_of(location, __builtin_return_address(0)));
#if !defined(__x86_64__) && !defined(__aarch64__)
  if (count > kMostArguments && caller.run_time != nullptr) {
    auto* const real = reinterpret_cast<void (*)(...)>(caller.run_time->find(kmp::kForkCall));
    __builtin_apply(real, __builtin_apply_args(), (static_cast<std::size_t>(count) + 16) * sizeof(void*));
    return;
  }
#endif
  va_list list;
  va_start(list, task);
  if (count <= 2) {
    fork(caller, location, count, task, list, std::make_index_sequence<2>());
  } else if (count <= 12) {
    fork(caller, location, count, task, list, std::make_index_sequence<12>());
  } else {
    fork_many(caller, location, count, task, list);
  }
  va_end(list);
}

FERMATA_EXPORT void __kmpc_barrier(void* location, std::int32_t thread) {
  const void* site = __builtin_return_address(0);
  at_barrier(position_in(Family::kKmp, object_of(location, site)), site, KmpBarrier{location, thread});
}

// ---- Reductions. The run-time library gets the addresses of each thread's variables and a function that
// folds one thread's into another's, but not their sizes. Threads fold with atomics if they are at most
// kFewThreads. Then the end of a `for reduction` is a barrier and nothing else. More threads fold along a
// binomial tree within a barrier of libomp's; a team of Fermata's folds in the same order, so the results
// keep their bits.

namespace {
constexpr std::uint32_t kFewThreads = 4;
constexpr std::int32_t kAlone = 1, kByAtomics = 2;  // what they return; 0: this thread has nothing to do
constexpr const char* kFolds = "folds of the threads' data";  // in statistics, in place of a barrier's plan
constexpr std::int32_t kHasAtomics = 0x10;  // of a location: the program can fold by atomics

// How this thread folds in each reduction that it has begun and not ended. The last one is in the lowest
// bits. The function that folds may have regions with reductions of their own. Reductions that are folded
// along a plan, and those of run-time libraries whose regions are not planned, are not among them.
enum Begun : std::uint32_t { kUnlike, kLibompsAtomics, kOwnAtomics };  // kUnlike: not by atomics
constexpr std::uint32_t kBegunBits = 2;
__thread std::uint32_t begun __attribute__((tls_model("initial-exec"))) = 0;
void push(Begun how) { begun = begun << kBegunBits | how; }
Begun pop() {
  const std::uint32_t how = begun & ((1u << kBegunBits) - 1);
  begun >>= kBegunBits;
  return static_cast<Begun>(how);
}

using Fold = void(void* to, void* from);
void fold_as(void* acc, const void* other, void* fold) {
  reinterpret_cast<Fold*>(fold)(acc, const_cast<void*>(other));
}

// How many reductions this thread holds: it is the first of a region, and has the folds.
__thread std::uint8_t held __attribute__((tls_model("initial-exec"))) = 0;

struct Reduction {
  void* location;
  std::int32_t thread;
  void* data;
  Fold* fold;
  void* lock;
  const void* site;
};

// At a reduction of more than a few threads. True: it is done; the region's first thread holds it.
bool fold_planned(Position position, const Reduction& r) {
  if (!position.planned || r.data == nullptr || r.fold == nullptr) return false;
  fermata_forkjoin* const folding = folding_of(*position.region);
  if (folding == nullptr) return false;
  const auto fold = [&r, position, folding] {
    return fold_into_first(position, folding, r.data, fold_as, reinterpret_cast<void*>(r.fold));
  };
  if (!(is_timed(position, r.site) ? in_planned_timed(position, r.site, fold, kFolds) : fold())) return false;
  if (position.rank == 0) {
    position.region->folded = r.lock;
    ++held;
  }
  return true;
}

// libomp would fold by atomics, too.
bool has_atomics(const void* location) {
  return location != nullptr && (static_cast<const std::int32_t*>(location)[1] & kHasAtomics) != 0 &&
         folds_as_usual();
}

// All tasks made before a barrier run before any thread goes on.
void run_tasks(Position position, const Reduction& r) {
  if (has_tasks(*position.region, position.rank))
    at_barrier_left(position, r.site, KmpBarrier{r.location, r.thread});
}

// The region of which this thread holds this reduction; null: it holds none.
Region* let_go(const void* object, const void* lock) {
  if (held == 0) [[likely]]
    return nullptr;
  const Position position = position_in(Family::kKmp, object);
  if (position.region == nullptr || position.rank != 0 || position.region->folded != lock) return nullptr;
  position.region->folded = nullptr;
  --held;
  return position.region;
}

std::int32_t leave(kmp::Reduce* real, const Reduction& r, std::int32_t count, std::size_t bytes) {
  return real(r.location, r.thread, count, bytes, r.data, r.fold, r.lock);
}

// The thread's place, if the reduction is one of the region's threads. A league within a region has the same
// nesting level, but not as many threads.
Position position_of(const Reduction& r, std::uint32_t threads) {
  if (threads < 2) return {};
  const Position position = position_in(Family::kKmp, object_of(r.location, r.site));
  return position.planned && position.region->size == threads ? position : Position{};
}

[[gnu::noinline]] std::int32_t reduce(const RunTime& run_time, kmp::Reduce* real, const Reduction& r,
                                      std::int32_t count, std::size_t bytes) {
  const Position position = position_of(r, static_cast<std::uint32_t>(run_time.num_threads()));
  if (position.planned && position.region->size <= kFewThreads) {
    if (has_atomics(r.location)) {
      push(kOwnAtomics);
      return kByAtomics;
    }
  } else if (fold_planned(position, r)) {
    if (position.rank == 0) return kAlone;
    run_tasks(position, r);
    return 0;
  }
  const std::int32_t way = leave(real, r, count, bytes);
  if (way != 0) push(way == kByAtomics && position.planned ? kLibompsAtomics : kUnlike);
  return way;
}

// Without a barrier at its end: the others may go on once their data has been read. A few threads decide
// nothing about their region's barriers here.
[[gnu::noinline]] std::int32_t reduce_nowait(const RunTime& run_time, kmp::Reduce* real, const Reduction& r,
                                             std::int32_t count, std::size_t bytes) {
  const auto threads = static_cast<std::uint32_t>(run_time.num_threads());
  const Position position = threads > kFewThreads ? position_of(r, threads) : Position{};
  if (!fold_planned(position, r)) return leave(real, r, count, bytes);
  if (position.rank != 0) return 0;
  release(*position.region);
  return kAlone;
}

}  // namespace

FERMATA_EXPORT std::int32_t __kmpc_reduce(void* location, std::int32_t thread, std::int32_t count,
                                          std::size_t bytes, void* data, Fold* fold, void* lock) {
  const void* site = __builtin_return_address(0);
  const RunTime* run_time = caller_of(Family::kKmp, object_of(location, site)).run_time;
  kmp::Reduce* const real = run_time != nullptr ? run_time->find(kmp::kReduce) : nullptr;
  if (real == nullptr) return kAlone;  // the only thread: it folds its data alone
  if (!run_time->planned) return real(location, thread, count, bytes, data, fold, lock);
  return reduce(*run_time, real, {location, thread, data, fold, lock, site}, count, bytes);
}

FERMATA_EXPORT std::int32_t __kmpc_reduce_nowait(void* location, std::int32_t thread, std::int32_t count,
                                                 std::size_t bytes, void* data, Fold* fold, void* lock) {
  const void* site = __builtin_return_address(0);
  const RunTime* run_time = caller_of(Family::kKmp, object_of(location, site)).run_time;
  kmp::Reduce* const real = run_time != nullptr ? run_time->find(kmp::kReduceNowait) : nullptr;
  if (real == nullptr) return kAlone;
  if (!run_time->planned) return real(location, thread, count, bytes, data, fold, lock);
  return reduce_nowait(*run_time, real, {location, thread, data, fold, lock, site}, count, bytes);
}

FERMATA_EXPORT void __kmpc_end_reduce(void* location, std::int32_t thread, void* lock) {
  const void* site = __builtin_return_address(0);
  const void* const object = object_of(location, site);
  const RunTime* run_time = caller_of(Family::kKmp, object).run_time;
  if (run_time == nullptr) return;
  if (Region* const region = let_go(object, lock); region != nullptr) {
    release(*region);
    return run_tasks({region, 0, true}, {location, thread, nullptr, nullptr, lock, site});
  }
  const Begun how = run_time->planned && run_time->find(kmp::kReduce) != nullptr ? pop() : kUnlike;
  const Position position = how != kUnlike ? position_in(Family::kKmp, object) : Position{};
  if (how == kOwnAtomics) return at_barrier(position, site, KmpBarrier{location, thread});
  auto* const nowait = position.planned ? run_time->find(kmp::kEndReduceNowait) : nullptr;
  if (nowait == nullptr) {
    if (auto* const end = run_time->find(kmp::kEndReduce); end != nullptr) end(location, thread, lock);
    return;
  }
  nowait(location, thread, lock);
  at_barrier(position, site, KmpBarrier{location, thread});
}

FERMATA_EXPORT void __kmpc_end_reduce_nowait(void* location, std::int32_t thread, void* lock) {
  const void* const object = object_of(location, __builtin_return_address(0));
  const RunTime* run_time = caller_of(Family::kKmp, object).run_time;
  if (run_time == nullptr) return;
  if (let_go(object, lock) != nullptr) return;
  if (auto* const end = run_time->find(kmp::kEndReduceNowait); end != nullptr) end(location, thread, lock);
}
