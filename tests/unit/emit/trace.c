// Prints what emitted code does to the memory that its members share: each atomic access with its order and
// what it read or wrote, each plain write before the next access, each fold, and what becomes of the values.
// Nothing is shared here: atomic accesses have no effect, and what they read is decided below. Each line of
// the standard input asks for a call:
//
//   barrier|allreduce RANK EPISODE MODE WORDS ADDS VALUE...
//
// MODE says how long an awaited word takes: it has come (e), it counts up from 0 at each read while the
// member spins (l) or yields (y), or the member parks for it (p). WORDS are the 8-byte values of the call,
// and VALUE... what the next ADDS adds find.
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t traced_load(const volatile void* at, size_t size, int order);
static void traced_store(const volatile void* at, uint64_t value, int order);
static uint64_t traced_add(const volatile void* at, size_t size, const char* name, uint64_t value, int order);
static void traced_fence(int order);
int traced_yield(void);
long traced_syscall(long number, ...);

#if __STDC_VERSION__ >= 201112L
#include <stdatomic.h>
#undef atomic_load_explicit
#undef atomic_store_explicit
#undef atomic_fetch_add_explicit
#undef atomic_fetch_sub_explicit
#undef atomic_thread_fence
#define atomic_load_explicit(at, order) traced_load(at, sizeof *(at), order)
#define atomic_store_explicit(at, value, order) traced_store(at, value, order)
#define atomic_fetch_add_explicit(at, value, order) traced_add(at, sizeof *(at), "add", value, order)
#define atomic_fetch_sub_explicit(at, value, order) traced_add(at, sizeof *(at), "sub", value, order)
#define atomic_thread_fence(order) traced_fence(order)
#else
#define __atomic_load_n(at, order) traced_load(at, sizeof *(at), order)
#define __atomic_store_n(at, value, order) traced_store(at, value, order)
#define __atomic_fetch_add(at, value, order) traced_add(at, sizeof *(at), "add", value, order)
#define __atomic_fetch_sub(at, value, order) traced_add(at, sizeof *(at), "sub", value, order)
#define __atomic_thread_fence(order) traced_fence(order)
#endif
#define sched_yield traced_yield
#define syscall traced_syscall
#include "made.h"

#define COME ((uint64_t)1 << 40)
#define MOST_ADDS 64
#define MOST_LOADS 10000

static struct made team;
static uint64_t before[sizeof team / 8];  // the team as it was at the last access
static char mode;
static size_t words;
static uint64_t answers[MOST_ADDS];
static unsigned adds, given, loads, reads, folds, rings, parks;
static const volatile void* polled;  // the word that was read last
static uint64_t polls;               // how often, one read after the other
static int is_late;                  // the next read of an awaited word finds it

static const char* name_of(int order) {
  switch (order) {
    case __ATOMIC_RELAXED: return "relaxed";
    case __ATOMIC_ACQUIRE: return "acquire";
    case __ATOMIC_RELEASE: return "release";
    case __ATOMIC_ACQ_REL: return "acq_rel";
    case __ATOMIC_SEQ_CST: return "seq_cst";
    default: return "another order";
  }
}

static void print_place(const char* what, size_t offset) {
  if (offset >= offsetof(struct made, allreduce))
    printf("%s allreduce %zu", what, offset - offsetof(struct made, allreduce));
  else if (offset >= offsetof(struct made, barrier))
    printf("%s barrier %zu", what, offset - offsetof(struct made, barrier));
  else printf("%s doors %zd", what, (ptrdiff_t)offset - (ptrdiff_t)offsetof(struct made, doors));
}

static size_t offset_of(const volatile void* at) {
  return (size_t)((const volatile unsigned char*)at - (const volatile unsigned char*)&team);
}

static void print_writes(void) {
  uint64_t now[sizeof team / 8];
  size_t i;
  memcpy(now, &team, sizeof team);
  for (i = 0; i < sizeof team / 8; ++i) {
    if (now[i] == before[i]) continue;
    print_place("write", 8 * i);
    printf(": %llu\n", (unsigned long long)now[i]);
  }
  memcpy(before, now, sizeof now);
}

static void print_access(const char* what, const volatile void* at) {
  print_writes();
  print_place(what, offset_of(at));
}

// What comes with a word is not the same at two reads.
static void fill_payload(const volatile void* word) {
  const size_t cell = offset_of(word) / 8;
  size_t i;
  ++reads;
  for (i = 0; i < words && cell + 1 + i < sizeof team / 8; ++i) before[cell + 1 + i] = 1000 * reads + i;
  memcpy(&team, before, sizeof team);
}

static uint64_t value_of(const volatile void* word, int order) {
  if (mode == 'e') return COME;
  if (mode == 'p') {
    if (order == __ATOMIC_RELAXED) return parks++ % 2 == 0 ? 0 : COME;  // the parker's second look
    is_late = !is_late;
    return is_late ? 0 : COME;
  }
  if (word != polled) polls = 0;
  polled = word;
  return polls++;
}

static uint64_t traced_load(const volatile void* at, size_t size, int order) {
  uint64_t value;
  print_access("load", at);
  if (++loads == MOST_LOADS) {
    printf(": it waits for ever\n");
    exit(0);
  }
  if (size == 8) value = value_of(at, order);
  else value = offset_of(at) % 8 == 0 ? rings++ % 2 : 77;  // armed, or the bell
  printf(" %s %llu\n", name_of(order), (unsigned long long)value);
  if (size == 8 && offset_of(at) >= offsetof(struct made, allreduce)) fill_payload(at);
  return value;
}

static void traced_store(const volatile void* at, uint64_t value, int order) {
  print_access("store", at);
  printf(" %llu %s\n", (unsigned long long)value, name_of(order));
  polled = NULL;
}

static uint64_t traced_add(const volatile void* at, size_t size, const char* name, uint64_t value,
                           int order) {
  print_access(name, at);
  printf(" %llu %s\n", (unsigned long long)value, name_of(order));
  if (size == 4) return 0;
  polled = NULL;
  if (adds < given) return answers[adds++];
  printf("an add too many\n");
  return 0;
}

static void traced_fence(int order) {
  print_writes();
  printf("fence %s\n", name_of(order));
}

int traced_yield(void) {
  print_writes();
  printf("yield\n");
  return 0;
}

long traced_syscall(long number, ...) {
  const volatile void* at;
  const long* limit;
  unsigned value;
  int wakes;
  va_list list;
  va_start(list, number);
  at = va_arg(list, const volatile void*);
  wakes = va_arg(list, int);
  value = va_arg(list, unsigned);
  limit = va_arg(list, const long*);
  va_end(list);
  print_access(number != SYS_futex ? "another system call"
               : wakes == 1        ? "wake"
               : wakes == 0        ? "sleep"
                                   : "?",
               at);
  if (wakes) printf(" %u\n", value);
  else if (limit == NULL) printf(" %u, for ever\n", value);
  else printf(" %u, %ld s %ld ns\n", value, limit[0], limit[1]);
  return 0;
}

static void fold(void* left, const void* right, size_t bytes) {
  uint64_t a[MADE_BYTES / 8], b[MADE_BYTES / 8];
  size_t i;
  print_writes();
  printf("fold");
  memcpy(a, left, bytes);
  memcpy(b, right, bytes);
  for (i = 0; i < bytes / 8; ++i) printf(" %llu:%llu", (unsigned long long)a[i], (unsigned long long)b[i]);
  printf("\n");
  ++folds;
  for (i = 0; i < bytes / 8; ++i) a[i] = 500000 + 100 * folds + i;
  memcpy(left, a, bytes);
}

// Each cell of a region begins with a value of its own.
static void begin(void) {
  union made_cell* cell;
  adds = loads = reads = folds = rings = parks = 0;
  polled = NULL;
  is_late = 0;
  memset(team.doors, 0, sizeof team.doors);
  for (cell = team.barrier; cell != team.barrier + MADE_BARRIER_CELLS_; ++cell)
    cell->payload = 900000000 + 8 * (uint64_t)(cell - team.barrier);
  for (cell = team.allreduce; cell != team.allreduce + MADE_ALLREDUCE_CELLS_; ++cell)
    cell->payload = 900000000 + 8 * (uint64_t)(cell - team.allreduce);
  memcpy(before, &team, sizeof team);
}

static void call(int is_barrier, unsigned rank, unsigned long long episode) {
  struct made_member me;
  uint64_t values[MADE_BYTES / 8];
  size_t i;
  begin();
  if (made_join(&me, &team, rank) != 0) printf("no such rank\n");
  me.barrier = me.allreduce = episode - 1;
  me.wait = mode == 'p' ? MADE_PARK : mode == 'y' ? MADE_YIELD : MADE_SPIN;
  me.spins = mode == 'y' ? 3 : 0;
  for (i = 0; i < words; ++i) values[i] = 7000 + i;
  if (is_barrier) made_barrier(&me);
  else printf("returns %d\n", made_allreduce(&me, values, 8 * words, fold));
  print_writes();
  printf("ends with");
  for (i = 0; i < words; ++i) printf(" %llu", (unsigned long long)values[i]);
  printf("\n");
}

int main(void) {
  char what[16];
  unsigned rank, many, i;
  unsigned long long episode, value;
  while (scanf("%15s %u %llu %c %u %u", what, &rank, &episode, &mode, &many, &given) == 6) {
    if (many > MADE_BYTES / 8 || given > MOST_ADDS) return 1;
    for (i = 0; i < given; ++i) {
      if (scanf("%llu", &value) != 1) return 1;
      answers[i] = value;
    }
    words = many;
    printf("%s, rank %u, episode %llu, mode %c\n", what, rank, episode, mode);
    call(what[0] == 'b', rank, episode);
  }
  return 0;
}
