/* folded [THREADS...]: reductions of which libomp folds the threads' data along a tree, in an order that is
 * always the same. The output has each result's bits. With GCC, and with few threads, the order is that of
 * arrival, so no result depends on it there. */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __clang__
enum { kOrdered = 5 }; /* from so many threads on */
#else
enum { kOrdered = 1 << 20 };
#endif
enum { kRounds = 20, kCells = 40 };

/* Products of matrices do not commute. */
struct matrix {
  uint64_t a, b, c, d;
};
static const struct matrix kOne = {1, 0, 0, 1};
static struct matrix product(struct matrix x, struct matrix y) {
  return (struct matrix){x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d, x.c * y.a + x.d * y.c,
                         x.c * y.b + x.d * y.d};
}
#pragma omp declare reduction(times : struct matrix : omp_out = product(omp_out, omp_in)) \
    initializer(omp_priv = (struct matrix){1, 0, 0, 1})

static uint64_t bits_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* Sums of such values depend on the order in which they are added. */
static double uneven(int round, int i) { return 1.0 / (1 + (i * 7919 + round * 104729) % 1009); }

/* So that the threads come in changing orders. */
static void dawdle(int round) {
  const int turns = (omp_get_thread_num() * 31 + round * 17) % 5 * 400;
  for (volatile int i = 0; i < turns; ++i) {
  }
}

static void at_region_ends(int threads, int ordered) {
  for (int round = 0; round < kRounds; ++round) {
    double sum = 0.5, most = 0;
    struct matrix all = kOne;
    long cells[kCells] = {0};
#pragma omp parallel num_threads(threads) reduction(+ : sum, cells) reduction(max : most) \
    reduction(times : all)
    {
      const int me = omp_get_thread_num();
      dawdle(round);
      sum += ordered ? uneven(round, me) : me;
      most = uneven(round, me);
      all = ordered ? (struct matrix){1, me + 1, round, 3} : (struct matrix){1, me, 0, 1};
      for (int i = 0; i < kCells; ++i) cells[i] += i * me + round;
    }
    printf("%d region: %016llx %016llx %llx %llx %ld\n", round, (unsigned long long)bits_of(sum),
           (unsigned long long)bits_of(most), (unsigned long long)all.b, (unsigned long long)all.c,
           cells[kCells - 1]);
  }
}

static void in_regions(int threads, int ordered) {
  double part = 0;
  struct matrix all = kOne;
  long wrong = 0, late = 0;
  uint64_t seen[kRounds] = {0};
#pragma omp parallel num_threads(threads)
  for (int round = 0; round < kRounds; ++round) {
    dawdle(round);
    {
#pragma omp single
      part = 0.25;
#pragma omp for schedule(static) reduction(+ : part)
      for (int i = 0; i < 100; ++i) part += ordered ? uneven(round, i) : i;
      const double here = part; /* all threads have it now */
#pragma omp barrier
#pragma omp master
      seen[round] = bits_of(here);
#pragma omp barrier
      if (bits_of(here) != seen[round]) {
#pragma omp atomic
        ++wrong;
      }
    }
#pragma omp for schedule(static) reduction(times : all) nowait
    for (int i = 0; i < 50; ++i) all = product(all, ordered ? (struct matrix){1, i + 1, round, 3} : kOne);
#pragma omp for schedule(static) reduction(+ : late)
    for (int i = 0; i < 50; ++i) late += i + round;
  }
  for (int round = 0; round < kRounds; ++round)
    printf("%d loop: %016llx\n", round, (unsigned long long)seen[round]);
  printf("%llx %llx, %ld, %ld wrong\n", (unsigned long long)all.b, (unsigned long long)all.c, late, wrong);
}

/* Regions within regions, each with reductions. */
static void nested(int threads) {
  long total = 0;
  omp_set_max_active_levels(2);
#pragma omp parallel num_threads(threads)
  for (int round = 0; round < 3; ++round) {
#pragma omp for schedule(static) reduction(+ : total)
    for (int i = 0; i < 12; ++i) {
      long sum = 0;
#pragma omp parallel num_threads(6) reduction(+ : sum)
#pragma omp for
      for (int k = 0; k < 6; ++k) sum += k;
      total += sum;
    }
  }
  printf("nested: %ld\n", total);
  omp_set_max_active_levels(1);
}

int main(int argc, char** argv) {
  setvbuf(stdout, NULL, _IOLBF, 0); /* whole lines beside those of the preload */
  static const int kThreads[] = {2, 3, 4, 5, 6, 7, 8, 9, 13, 16};
  for (size_t i = 0; i < sizeof kThreads / sizeof kThreads[0]; ++i) {
    const int threads = kThreads[i];
    if (argc > 1 && atoi(argv[1]) != threads) continue;
    printf("%d threads\n", threads);
    at_region_ends(threads, threads >= kOrdered);
    in_regions(threads, threads >= kOrdered);
    if (threads < 9) nested(threads);
  }
  return 0;
}
