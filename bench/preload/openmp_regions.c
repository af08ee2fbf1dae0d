/* What parallel regions cost that follow each other, with a serial phase before each.
 *
 *   openmp_regions THREADS SERIAL_US SECONDS [hand]
 *
 * One line for each kind of region: its name, then the time of each of kWindows windows, in ns a region, less
 * the time of the serial phases. `hand`: threads of this program do the work of parallel-for instead, by a
 * fork and a join written for nothing else: one line for the work, and one for each thread's answer. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef _OPENMP
#include <omp.h>
#endif

enum { kElements = 256, kArray = 59, kWindows = 5, kMostThreads = 256, kPauses = 2000 };

static double elements[kElements];
static int threads;
static double serial_ns;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void pause_once(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static void add(int from, int to) {
  for (int i = from; i < to; ++i) elements[i] += 1;
}

static void parallel(void) {
#pragma omp parallel
  __asm__ volatile("");
}

static void parallel_for(void) {
#pragma omp parallel for
  for (int i = 0; i < kElements; ++i) elements[i] += 1;
}

/* Monotonic, since libomp 19 aborts in some of its own loops that are not: "Assertion failure at
 * kmp_dispatch.cpp(1618)" in 14 of 40 plain runs of 20,000 loops by eight threads on two CPUs. */
static void parallel_for_dynamic(void) {
#pragma omp parallel for schedule(monotonic : dynamic, 32)
  for (int i = 0; i < kElements; ++i) elements[i] += 1;
}

static void parallel_reduction(void) {
  double sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (int i = 0; i < kElements; ++i) sum += elements[i];
  if (sum < 0) abort();
}

static void parallel_reduction_of_four(void) {
  double a = 0, b = 0, c = 0, d = 0;
#pragma omp parallel for reduction(+ : a, b, c, d)
  for (int i = 0; i < kElements; i += 4)
    a += elements[i], b += elements[i + 1], c += elements[i + 2], d += elements[i + 3];
  if (a + b + c + d < 0) abort();
}

static void parallel_array(void) {
  double array[kArray];
  memset(array, 0, sizeof array);
#pragma omp parallel firstprivate(array)
  __asm__ volatile("" ::"r"(array) : "memory");
}

static void parallel_with_inner_for(void) {
#pragma omp parallel
  {
#pragma omp for
    for (int i = 0; i < kElements; ++i) elements[i] += 1;
#pragma omp for
    for (int i = 0; i < kElements; ++i) elements[i] -= 1;
  }
}

/* ---- By hand */

struct line {
  _Alignas(128) atomic_uint number;
  void (*work)(int, int);
};
static struct line given, taken[kMostThreads];
static int crowded;

static void await(atomic_uint* number, unsigned wanted) {
  for (unsigned n = 0; atomic_load_explicit(number, memory_order_acquire) != wanted; ++n) {
    if (crowded ? n > 50 : n > kPauses) sched_yield();
    else pause_once();
  }
}

static void part(int rank) { given.work(kElements * rank / threads, kElements * (rank + 1) / threads); }

static void* other(void* argument) {
  const int rank = (int)(long)argument;
  for (unsigned number = 1;; ++number) {
    await(&given.number, number);
    if (given.work == NULL) return NULL;
    part(rank);
    atomic_store_explicit(&taken[rank].number, number, memory_order_release);
  }
}

static unsigned last;
static void fork_to(void (*work)(int, int)) {
  given.work = work;
  atomic_store_explicit(&given.number, ++last, memory_order_release);
}

static void by_hand(void) {
  fork_to(add);
  part(0);
  for (int rank = 1; rank < threads; ++rank) await(&taken[rank].number, last);
}

/* ---- */

static void measure(const char* name, void (*region)(void), double seconds) {
  const double warm = now();
  for (int i = 0; i < 30; ++i) region();
  /* regions between two looks at the clock */
  const int batch = serial_ns > 0 || now() - warm > 30 * 20e3 ? 1 : 100;
  printf("%s", name);
  for (int w = 0; w < kWindows; ++w) {
    const double begin = now();
    double end = begin, alone = 0;
    long regions = 0;
    while (end - begin < seconds * 1e9) {
      for (int i = batch; i > 0; --i, ++regions) {
        if (serial_ns > 0) {
          const double from = now();
          double to = from;
          while (to - from < serial_ns) to = now();
          alone += to - from;
        }
        region();
      }
      end = now();
    }
    printf(" %.1f", (end - begin - alone) / (double)regions);
  }
  printf("\n");
  fflush(stdout);
}

int main(int argc, char** argv) {
  threads = argc > 1 ? atoi(argv[1]) : 2;
  serial_ns = argc > 2 ? atof(argv[2]) * 1e3 : 0;
  const double seconds = argc > 3 ? atof(argv[3]) : 0.03;
  if (threads < 1 || threads > kMostThreads) return 2;
  if (argc > 4) {
    cpu_set_t cpus;
    crowded = sched_getaffinity(0, sizeof cpus, &cpus) == 0 && CPU_COUNT(&cpus) < threads;
    pthread_t made[kMostThreads];
    for (int rank = 1; rank < threads; ++rank)
      if (pthread_create(&made[rank], NULL, other, (void*)(long)rank) != 0) return 1;
    measure("parallel-for", by_hand, seconds);
    fork_to(NULL);
    for (int rank = 1; rank < threads; ++rank) pthread_join(made[rank], NULL);
    return 0;
  }
#ifdef _OPENMP
  omp_set_dynamic(0);
  omp_set_num_threads(threads);
#endif
  measure("parallel", parallel, seconds);
  measure("parallel-for", parallel_for, seconds);
  measure("parallel-for-dynamic", parallel_for_dynamic, seconds);
  measure("parallel-for-reduction", parallel_reduction, seconds);
  measure("parallel-for-reduction-4", parallel_reduction_of_four, seconds);
  measure("parallel-firstprivate-array", parallel_array, seconds);
  measure("parallel-with-two-for", parallel_with_inner_for, seconds);
  return 0;
}
