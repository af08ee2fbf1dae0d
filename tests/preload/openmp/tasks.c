/* Threads make tasks while others already wait in a barrier. The barrier must run the tasks, and they are
 * done after it. */
#include <omp.h>
#include <stdio.h>
#include <unistd.h>

int main(void) {
  enum { kTasks = 200 };
  static int done[kTasks];
  long wrong = 0;
#pragma omp parallel num_threads(4) reduction(+ : wrong)
  for (int round = 1; round <= 20; ++round) {
#pragma omp single nowait
    {
      usleep(500);
      for (int i = 0; i < kTasks; ++i) {
#pragma omp task firstprivate(i)
        done[i] = round;
      }
    }
#pragma omp barrier
    for (int i = 0; i < kTasks; ++i) wrong += done[i] != round;
#pragma omp barrier
  }
  int sum = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
#pragma omp taskloop
  for (int i = 0; i < 100; ++i) {
#pragma omp atomic
    sum += i;
  }
  printf("tasks: %ld wrong, %d\n", wrong, sum);
  return 0;
}
