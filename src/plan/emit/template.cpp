#include "plan/emit/template.hpp"

namespace fermata::emit {

const char* const kUsage = R"(//
// How to use it:
//   struct NAME team;                    shared by all members; 128-byte aligned; holds no pointers, so
//                                        that processes may map it at different addresses
//   NAME_init(&team, UPPER_PARK, 2000);  once, before any member joins
//   struct NAME_member me;               one for each member
//   NAME_join(&me, &team, rank);         rank is 0..UPPER_MEMBERS - 1
//   NAME_barrier(&me);                   no member returns before all have called it
//   NAME_allreduce_sum_double(&me, values, count);
//                                        each value becomes the sum of all members' values; at most
//                                        UPPER_BYTES bytes; also prod, min and max; for double, float,
//                                        int32, int64, uint32 and uint64; NAME_allreduce() takes a function
//                                        of yours
//
// Rules:
// - All members make the same calls in the same order, each with the same type, operator and count.
// - What a member wrote before a call is seen by all members after it.
// - All members get the bitwise same result, in every run: the plan fixes the order of the operations.
// - A rank joins once. Another thread may go on with the member's struct, if the program orders the two.
// - A member waits forever for one that has died or does not call.
)";

const char* const kAtomics = R"(
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Atomic accesses: those of C11, else the builtins of GCC and Clang, because C99 and C++ have none that C can
// share. A 64-bit access must not need a lock: a lock would not work between processes.
#if defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L && !defined(__STDC_NO_ATOMICS__)
#include <stdatomic.h>
#define UPPER_LOCK_FREE_ (ATOMIC_INT_LOCK_FREE == 2 && ATOMIC_LLONG_LOCK_FREE == 2)
#define UPPER_ALIGNED_ _Alignas(128)
#define UPPER_ATOMIC_(type) _Atomic(type)
// order: as the caller says, in each of these
#define UPPER_LOAD_RELAXED_(at) atomic_load_explicit(at, memory_order_relaxed)
#define UPPER_LOAD_ACQUIRE_(at) atomic_load_explicit(at, memory_order_acquire)
#define UPPER_STORE_RELEASE_(at, value) atomic_store_explicit(at, value, memory_order_release)
#define UPPER_ADD_RELAXED_(at, value) atomic_fetch_add_explicit(at, value, memory_order_relaxed)
#define UPPER_SUB_RELAXED_(at, value) atomic_fetch_sub_explicit(at, value, memory_order_relaxed)
#define UPPER_ADD_RELEASE_(at, value) atomic_fetch_add_explicit(at, value, memory_order_release)
#define UPPER_ADD_ACQ_REL_(at, value) atomic_fetch_add_explicit(at, value, memory_order_acq_rel)
#define UPPER_FENCE_() atomic_thread_fence(memory_order_seq_cst)
#elif defined(__GNUC__)
#define UPPER_LOCK_FREE_ (__GCC_ATOMIC_INT_LOCK_FREE == 2 && __GCC_ATOMIC_LLONG_LOCK_FREE == 2)
#define UPPER_ALIGNED_ __attribute__((aligned(128)))
#define UPPER_ATOMIC_(type) type
// order: as the caller says, in each of these
#define UPPER_LOAD_RELAXED_(at) __atomic_load_n(at, __ATOMIC_RELAXED)
#define UPPER_LOAD_ACQUIRE_(at) __atomic_load_n(at, __ATOMIC_ACQUIRE)
#define UPPER_STORE_RELEASE_(at, value) __atomic_store_n(at, value, __ATOMIC_RELEASE)
#define UPPER_ADD_RELAXED_(at, value) __atomic_fetch_add(at, value, __ATOMIC_RELAXED)
#define UPPER_SUB_RELAXED_(at, value) __atomic_fetch_sub(at, value, __ATOMIC_RELAXED)
#define UPPER_ADD_RELEASE_(at, value) __atomic_fetch_add(at, value, __ATOMIC_RELEASE)
#define UPPER_ADD_ACQ_REL_(at, value) __atomic_fetch_add(at, value, __ATOMIC_ACQ_REL)
#define UPPER_FENCE_() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#else
#error "NAME needs atomics: compile it as C11, or with GCC or Clang as C99 or C++"
#endif
#if !UPPER_LOCK_FREE_
#error "NAME needs 32-bit and 64-bit atomics without locks, which this processor or -march does not have"
#endif

// How a wait gives up its CPU, and how it sleeps: by Linux's futex, except in the x32 ABI, which has another
// struct timespec.
#if defined(_WIN32)
#ifdef __cplusplus
extern "C"
#endif
__declspec(dllimport) int __stdcall SwitchToThread(void);  // as <windows.h> has it, without its macros
#else
#include <sched.h>
#endif
#if defined(__linux__) && !(defined(__x86_64__) && defined(__ILP32__))
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifdef SYS_futex
#define UPPER_CAN_PARK_
#ifndef __cplusplus
extern long syscall(long number, ...);  // strict C does not get it from <unistd.h>; C++ does
#endif
#endif
#endif

#ifdef __GNUC__
#define UPPER_COLD_ __attribute__((cold, noinline, unused))  // keeps the code of a call short
#else
#define UPPER_COLD_ inline
#endif
#ifdef __cplusplus
#define UPPER_CAST_(type, value) static_cast<type>(value)
#define UPPER_ADDRESS_(at) reinterpret_cast<uintptr_t>(at)
#else
#define UPPER_CAST_(type, value) ((type)(value))
#define UPPER_ADDRESS_(at) ((uintptr_t)(at))
#endif
)";

const char* const kTeam = R"(
// What a member does while it waits, after the spins that NAME_init() was given.
enum NAME_wait {
  UPPER_SPIN,   // goes on spinning: for a CPU of its own for each member
  UPPER_YIELD,  // gives up its CPU: for more members than CPUs
  UPPER_PARK    // sleeps until it is woken: for long waits; yields where there is no futex
};

// 8 bytes of shared memory: what stands there is fixed for each place.
union NAME_cell {
  UPPER_ATOMIC_(uint64_t) word;  // an episode's number, or a count of arrivals; both only grow
  uint64_t payload;              // after a slot's word, which orders it
  struct NAME_door {              // where a member, or all that poll a word, park
    UPPER_ATOMIC_(uint32_t) armed;  // how many are about to park or are parked
    UPPER_ATOMIC_(uint32_t) bell;   // counts the rings; the futex sleeps on it
  } door;
};

struct NAME {
  UPPER_ALIGNED_ uint32_t wait;
  uint32_t spins;
  UPPER_ALIGNED_ union NAME_cell doors[16 * UPPER_MEMBERS];  // a line for each member
  UPPER_ALIGNED_ union NAME_cell barrier[UPPER_BARRIER_CELLS_];
  UPPER_ALIGNED_ union NAME_cell allreduce[UPPER_ALLREDUCE_CELLS_];
};

struct NAME_member {
  struct NAME* team;
  uint32_t rank, wait, spins;
  uint64_t barrier, allreduce;  // how many of each this member has called
};

// spins: how many pauses of the CPU a wait makes before it yields or parks. Use 0 if members outnumber CPUs.
// The program orders this call before each NAME_join(), for example by starting the threads afterwards.
// Returns 0, or -1 if the team is not 128-byte aligned or `wait` is unknown.
static inline int NAME_init(struct NAME* team, enum NAME_wait wait, unsigned spins) {
  if (UPPER_ADDRESS_(team) % 128 != 0) return -1;
  if (wait != UPPER_SPIN && wait != UPPER_YIELD && wait != UPPER_PARK) return -1;
  memset(team, 0, sizeof *team);  // all atomics are lock-free: no state but their value
  team->wait = wait;
  team->spins = spins;
  return 0;
}

// Returns 0, or -1 if there is no such rank.
static inline int NAME_join(struct NAME_member* me, struct NAME* team, unsigned rank) {
  if (rank >= UPPER_MEMBERS) return -1;
  me->team = team;
  me->rank = rank;
  me->wait = team->wait;
  me->spins = team->spins;
  me->barrier = me->allreduce = 0;
  return 0;
}
)";

const char* const kWaits = R"(
static inline void NAME_pause_(unsigned times) {
  for (; times > 0; --times) {
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
    __builtin_ia32_pause();
#elif defined(__GNUC__) && defined(__aarch64__)
    __asm__ __volatile__("isb");  // on most cores yield does nothing; isb takes about as long as x86's pause
#elif defined(__GNUC__) && defined(__powerpc64__)
    __asm__ __volatile__("or 1,1,1; or 2,2,2" ::: "memory");  // low SMT priority, then medium again
#endif
  }
}

static inline void NAME_yield_(void) {
#if defined(_WIN32)
  SwitchToThread();
#else
  sched_yield();
#endif
}

#ifdef UPPER_CAN_PARK_
// FUTEX_WAIT is 0 and FUTEX_WAKE is 1, both between processes. The limit bounds what a lost wake-up would
// cost; the protocol below loses none.
static inline void NAME_futex_(UPPER_ATOMIC_(uint32_t)* bell, int wake, uint32_t value) {
  const long limit[2] = {0, 20000000};  // struct timespec: 20 ms
  const int kept = errno;
  syscall(SYS_futex, bell, wake, value, limit, NULL, 0);
  errno = kept;
}
#endif

// Sleeps until the door is rung, unless `at` has reached `value`.
static UPPER_COLD_ void NAME_park_(union NAME_cell* door, union NAME_cell* at, uint64_t value) {
#ifdef UPPER_CAN_PARK_
  uint32_t seen;
  // order: relaxed: the fence below orders it before the read of `at`. Pairs with the read in NAME_wake_().
  UPPER_ADD_RELAXED_(&door->door.armed, 1);
  // order: store-load, as kDoorFence: between arming and the read of `at`. Pairs with NAME_wake_().
  UPPER_FENCE_();
  // order: acquire, as kBellRead: if a ring came before, the read of `at` sees what was signalled. Pairs with
  // NAME_wake_().
  seen = UPPER_LOAD_ACQUIRE_(&door->door.bell);
  // order: relaxed: the fence and the acquire come before; NAME_await_() reads again after it.
  if (UPPER_LOAD_RELAXED_(&at->word) < value) NAME_futex_(&door->door.bell, 0, seen);
  // order: relaxed: a sender that still sees this member armed rings once too often, which is harmless.
  UPPER_SUB_RELAXED_(&door->door.armed, 1);
#else
  (void)door, (void)at, (void)value;
  NAME_yield_();
#endif
}

// After a signal: wakes those that park for it.
static UPPER_COLD_ void NAME_wake_(union NAME_cell* door) {
#ifdef UPPER_CAN_PARK_
  // order: store-load, as kRingFence: between the signal and the read of `armed`. Pairs with NAME_park_().
  UPPER_FENCE_();
  // order: relaxed: the fences on both sides order it after the signal. Pairs with NAME_park_().
  if (UPPER_LOAD_RELAXED_(&door->door.armed) == 0) return;
  // order: release, as kBellRing: whoever reads the new number sees the signal. Pairs with NAME_park_().
  UPPER_ADD_RELEASE_(&door->door.bell, 1);
  NAME_futex_(&door->door.bell, 1, 0x7fffffff);
#else
  (void)door;
#endif
}

// Members that do not park neither read the door nor fence.
static inline void NAME_ring_(const struct NAME_member* me, union NAME_cell* door) {
  if (me->wait == UPPER_PARK) NAME_wake_(door);
}

// Returns when `at` has reached `value`.
static inline void NAME_await_(const struct NAME_member* me, union NAME_cell* at, uint64_t value,
                               unsigned pauses, union NAME_cell* door) {
  unsigned spun = 0;
  // order: acquire, as kSlotAwait, and as kWordPoll and kCreditAwait: what the sender did before is over.
  // Pairs with NAME_post_() and NAME_add_().
  while (UPPER_LOAD_ACQUIRE_(&at->word) < value) {
    if (me->wait == UPPER_SPIN || spun < me->spins) {
      NAME_pause_(pauses);
      spun += pauses;
    } else if (me->wait == UPPER_PARK) {
      NAME_park_(door, at, value);
    } else {
      NAME_yield_();
    }
  }
}

static inline void NAME_post_(const struct NAME_member* me, union NAME_cell* at, uint64_t value,
                              union NAME_cell* door) {
  // order: release, as kSlotPublish, and as kWordFlip and kCreditGive: after all that this member wrote or
  // read. Pairs with NAME_await_().
  UPPER_STORE_RELEASE_(&at->word, value);
  NAME_ring_(me, door);
}

// Adds 1. Returns 1 to the member whose add makes it `last`.
static inline int NAME_add_(const struct NAME_member* me, union NAME_cell* at, uint64_t last,
                            union NAME_cell* door) {
  // order: acq_rel, as kWordAdd: releases what this member knew; the last one acquires what all knew. Pairs
  // with itself and with NAME_await_().
  if (UPPER_ADD_ACQ_REL_(&at->word, 1) + 1 != last) return 0;
  if (door != NULL) NAME_ring_(me, door);
  return 1;
}

static inline void NAME_send_(const struct NAME_member* me, union NAME_cell* at, uint64_t episode,
                              union NAME_cell* door, const uint64_t* values, size_t words) {
  size_t i;
  for (i = 0; i < words; ++i) at[1 + i].payload = values[i];
  NAME_post_(me, at, episode, door);
}

static inline void NAME_take_(const struct NAME_member* me, union NAME_cell* at, uint64_t episode,
                              unsigned pauses, union NAME_cell* door, uint64_t* values, size_t words) {
  size_t i;
  NAME_await_(me, at, episode, pauses, door);
  for (i = 0; i < words; ++i) values[i] = at[1 + i].payload;
}

)";

// A sum or product of a NaN, and the least and largest of equal zeros, do not depend on the operands' order:
// members may fold in mirrored order.
const char* const kFolds = R"(
// The same for common types and operators. Sums and products of integers wrap around. A floating-point result
// is NAN if a value is a NaN; -0 is less than 0. Compile without -ffast-math.
#define UPPER_FOLD_(op, name, type, result) \
  static inline void NAME_##op##_##name(void* left, const void* right, size_t bytes) { \
    unsigned char* const to = UPPER_CAST_(unsigned char*, left); \
    const unsigned char* const from = UPPER_CAST_(const unsigned char*, right); \
    size_t i; \
    type a, b; \
    for (i = 0; i < bytes; i += sizeof(type)) { \
      memcpy(&a, to + i, sizeof a); \
      memcpy(&b, from + i, sizeof b); \
      a = UPPER_CAST_(type, result); \
      memcpy(to + i, &a, sizeof a); \
    } \
  } \
  static inline int NAME_allreduce_##op##_##name(struct NAME_member* me, type* values, size_t count) { \
    if (count > UPPER_BYTES / sizeof(type)) return -1; \
    return NAME_allreduce(me, values, count * sizeof(type), NAME_##op##_##name); \
  }
#define UPPER_INTEGER_(name, type, wide) \
  UPPER_FOLD_(sum, name, type, UPPER_CAST_(wide, a) + UPPER_CAST_(wide, b)) \
  UPPER_FOLD_(prod, name, type, UPPER_CAST_(wide, a) * UPPER_CAST_(wide, b)) \
  UPPER_FOLD_(min, name, type, a < b ? a : b) \
  UPPER_FOLD_(max, name, type, a < b ? b : a)
#define UPPER_EQUAL_(type, zeros) (a != b ? UPPER_CAST_(type, NAN) : a != 0 ? a : zeros)
#define UPPER_FLOAT_(name, type) \
  UPPER_FOLD_(sum, name, type, a + b == a + b ? a + b : UPPER_CAST_(type, NAN)) \
  UPPER_FOLD_(prod, name, type, a * b == a * b ? a * b : UPPER_CAST_(type, NAN)) \
  UPPER_FOLD_(min, name, type, a < b ? a : b < a ? b : UPPER_EQUAL_(type, -(-a - b))) \
  UPPER_FOLD_(max, name, type, a < b ? b : b < a ? a : UPPER_EQUAL_(type, a + b))
UPPER_FLOAT_(double, double)
UPPER_FLOAT_(float, float)
UPPER_INTEGER_(int32, int32_t, uint32_t)
UPPER_INTEGER_(int64, int64_t, uint64_t)
UPPER_INTEGER_(uint32, uint32_t, uint32_t)
UPPER_INTEGER_(uint64, uint64_t, uint64_t)
#undef UPPER_FOLD_
#undef UPPER_INTEGER_
#undef UPPER_EQUAL_
#undef UPPER_FLOAT_
)";

}  // namespace fermata::emit
