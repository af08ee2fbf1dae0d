/* A library of regions with barriers; with -DTASKS also with tasks, with -DORDERED of ordered loops. */
#include <omp.h>
#ifdef ORDERED
#include <unistd.h>

/* Returns how many iterations are out of order. A loop without iterations must not change the next one. */
static long ordered_loop(int n) {
  int at = 0;
  long wrong = 0;
#pragma omp parallel for ordered schedule(static, 1) num_threads(3)
  for (int i = 0; i < n; ++i) {
    if (i % 3 != 0) usleep(1000);
#pragma omp ordered
    {
      int now;
#pragma omp atomic capture
      now = at++;
#pragma omp atomic
      wrong += now != i;
    }
  }
  return wrong;
}

__attribute__((visibility("default"))) long plugin_run(void) {
  long wrong = 0;
  for (int r = 0; r < 12; ++r) wrong += ordered_loop(0) + ordered_loop(7);
  return wrong;
}
#else

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
#endif
