/* How both OpenMP benchmarks measure: the time of kRepeats constructs, each around a fixed delay, less the
 * time of the delays alone, per construct. For C and C++. */
#ifndef FERMATA_BENCH_PRELOAD_OPENMP_SAMPLES_H
#define FERMATA_BENCH_PRELOAD_OPENMP_SAMPLES_H

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static const int kRepeats = 2000, kDelay = 20;

struct construct {
  const char* name;
  double (*run)(void); /* seconds */
};

static void delay(void) {
  for (volatile int i = 0; i < kDelay; i = i + 1) continue;
}

static double reference(void) {
  const double start = omp_get_wtime();
  for (int i = 0; i < kRepeats; ++i) delay();
  return omp_get_wtime() - start;
}

/* The program's arguments are [THREADS [SAMPLES]]. Prints a line for each construct: its name, and then each
 * sample's overhead in ns. 0: it is done. */
static int print_samples(int argc, char** argv, const struct construct* constructs, int count) {
  omp_set_dynamic(0);
  omp_set_num_threads(argc > 1 ? atoi(argv[1]) : 2);
  const int samples = argc > 2 ? atoi(argv[2]) : 20;
  double* const times = (double*)calloc((size_t)samples * (size_t)count, sizeof *times);
  if (times == NULL) return 1;
  for (int s = -1; s < samples; ++s) { /* the first round only warms up */
    for (int c = 0; c < count; ++c) {
      const double alone = reference();
      const double ns = (constructs[c].run() - alone) / kRepeats * 1e9;
      if (s >= 0) times[s * count + c] = ns;
    }
  }
  for (int c = 0; c < count; ++c) {
    printf("%s", constructs[c].name);
    for (int s = 0; s < samples; ++s) printf(" %.1f", times[s * count + c]);
    printf("\n");
  }
  free(times);
  return 0;
}

#endif
