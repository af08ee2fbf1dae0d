/* Cancelled regions and loops, with and without OMP_CANCELLATION=true. */
#include <omp.h>
#include <stdio.h>

static void orphaned(void) {
#pragma omp barrier
}

int main(void) {
  int regions = 0, loops = 0, wrong = 0;
  for (int round = 0; round < 100; ++round) {
    int reached = 0;
#pragma omp parallel num_threads(4)
    {
      if (omp_get_thread_num() == round % 4) {
#pragma omp cancel parallel
      }
#pragma omp barrier
#pragma omp cancellation point parallel
#pragma omp atomic
      ++reached;
    }
    regions += omp_get_cancellation() ? reached < 4 : reached == 4;
    int found = -1;
#pragma omp parallel num_threads(4)
    {
#pragma omp for
      for (int i = 0; i < 1000; ++i) {
        if (i == 500) {
#pragma omp atomic write
          found = i;
#pragma omp cancel for
        }
#pragma omp cancellation point for
      }
      orphaned();
#pragma omp critical
      wrong += found != 500;
    }
    loops += found == 500;
  }
  printf("cancels: %d %d %d, cancellation %d\n", regions, loops, wrong, omp_get_cancellation());
  return 0;
}
