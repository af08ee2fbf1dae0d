/* Threads that wait long at a barrier use hardly any CPU time. All but the last one wait for half a second
 * and use less than a tenth of it, with as many threads as CPUs, or more. Natively this holds with
 * OMP_WAIT_POLICY=passive. */
#define _GNU_SOURCE
#include <omp.h>
#include <stdio.h>
#include <time.h>

static double cpu_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int wait_long(int threads) {
  int burnt = 0;
#pragma omp parallel num_threads(threads) reduction(+ : burnt)
  {
    const struct timespec while_ago = {0, 250000000};
    const double before = cpu_seconds();
    for (int i = 0; i < 2; ++i) {
      if (omp_get_thread_num() == omp_get_num_threads() - 1) nanosleep(&while_ago, NULL);
      for (int k = 0; k < 20; ++k) {
#pragma omp barrier
      }
    }
    burnt += cpu_seconds() - before > 0.05;
  }
  return burnt;
}

int main(void) {
  omp_set_dynamic(0);
  printf("threads that burnt the CPU: %d of 2, %d of 9\n", wait_long(2), wait_long(9));
  return 0;
}
