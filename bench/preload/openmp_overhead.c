/* The cost of OpenMP constructs beyond their work, by the EPCC microbenchmarks' definition: the time of many
 * constructs around a fixed delay, less the time of the delays alone, per construct. A barrier's property is
 * checked after each sample, not during it, since the check moves one more line between threads.
 *
 *   openmp_overhead [THREADS [SAMPLES]]     one line per construct: name, then each sample's overhead in ns
 */
#include "openmp_samples.h"

enum { kMostThreads = 4096 };

static struct {
  _Alignas(128) volatile int episode;
} seen[kMostThreads];
static volatile int wrong;

static double barrier(void) {
  double time = 0;
#pragma omp parallel
  {
    const int me = omp_get_thread_num(), other = (me + 1) % omp_get_num_threads();
#pragma omp barrier
    const double start = omp_get_wtime();
    for (int i = 0; i < kRepeats; ++i) {
      delay();
#pragma omp barrier
    }
#pragma omp master
    time = omp_get_wtime() - start;
    for (int i = 1; i <= kRepeats; ++i) {
      seen[me].episode = i;
#pragma omp barrier
      if (seen[other].episode < i) wrong = 1;
    }
#pragma omp barrier
    seen[me].episode = 0;
  }
  return time;
}

static double loop(void) {
  const double start = omp_get_wtime();
#pragma omp parallel
  for (int i = 0; i < kRepeats; ++i) {
#pragma omp for
    for (int t = 0; t < omp_get_num_threads(); ++t) delay();
  }
  return omp_get_wtime() - start;
}

static double dynamic_loop(void) {
  const double start = omp_get_wtime();
#pragma omp parallel
  for (int i = 0; i < kRepeats; ++i) {
#pragma omp for schedule(dynamic)
    for (int t = 0; t < omp_get_num_threads(); ++t) delay();
  }
  return omp_get_wtime() - start;
}

static double single(void) {
  const double start = omp_get_wtime();
#pragma omp parallel
  for (int i = 0; i < kRepeats; ++i) {
#pragma omp single
    delay();
  }
  return omp_get_wtime() - start;
}

static double region(void) {
  const double start = omp_get_wtime();
  for (int i = 0; i < kRepeats; ++i) {
#pragma omp parallel
    delay();
  }
  return omp_get_wtime() - start;
}

static double region_with_barrier(void) {
  const double start = omp_get_wtime();
  for (int i = 0; i < kRepeats; ++i) {
#pragma omp parallel
    {
      delay();
#pragma omp barrier
    }
  }
  return omp_get_wtime() - start;
}

static double region_reduction(void) {
  double sum = 0;
  const double start = omp_get_wtime();
  for (int i = 0; i < kRepeats; ++i) {
#pragma omp parallel reduction(+ : sum)
    {
      delay();
      sum += 1;
    }
  }
  if (sum != (double)kRepeats * omp_get_max_threads()) wrong = 1;
  return omp_get_wtime() - start;
}

/* A reduction within a region; every thread has its result afterwards. */
static double loop_reduction(void) {
  static double sum;
  sum = 0;
  const double start = omp_get_wtime();
#pragma omp parallel
  for (int i = 0; i < kRepeats; ++i) {
#pragma omp for reduction(+ : sum)
    for (int t = 0; t < omp_get_num_threads(); ++t) {
      delay();
      sum += 1;
    }
  }
  if (sum != (double)kRepeats * omp_get_max_threads()) wrong = 1;
  return omp_get_wtime() - start;
}

static const struct construct kConstructs[] = {{"barrier", barrier},
                                               {"for", loop},
                                               {"for-dynamic", dynamic_loop},
                                               {"single", single},
                                               {"for-reduction", loop_reduction},
                                               {"parallel", region},
                                               {"parallel+barrier", region_with_barrier},
                                               {"parallel-reduction", region_reduction}};

int main(int argc, char** argv) {
  const int failed = print_samples(argc, argv, kConstructs, sizeof kConstructs / sizeof kConstructs[0]);
  if (wrong) fprintf(stderr, "a barrier or a reduction was wrong\n");
  return failed || wrong;
}
