/* A library of regions with barriers; with -DTASKS also with tasks. */
#include <omp.h>

__attribute__((visibility("default"))) long plugin_run(void) {
  long sum = 0;
#pragma omp parallel num_threads(3) reduction(+ : sum)
  for (int round = 0; round < 100; ++round) {
    static int value;
#ifdef TASKS
#pragma omp single
    {
#pragma omp task
      value = round;
    }
#else
#pragma omp single
    value = round;
#endif
#pragma omp barrier
    sum += value;
#pragma omp barrier
  }
  return sum;
}
