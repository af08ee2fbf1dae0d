/* A region that is offloaded, or run by the host where there is no device, between other regions. */
#include <omp.h>
#include <stdio.h>

enum { kThreads = 4 };

static long meet(long (*cells)[16], int round) {
  const int me = omp_get_thread_num();
  cells[me][0] = round + me;
#pragma omp barrier
  long sum = 0;
  for (int t = 0; t < kThreads; ++t) sum += cells[t][0];
#pragma omp barrier
  return sum;
}

int main(void) {
  omp_set_dynamic(0);
  static long cells[kThreads][16];
  long here = 0, there[kThreads] = {0};
  for (int round = 0; round < 50; ++round) {
#pragma omp target map(tofrom : there)
    {
#pragma omp parallel num_threads(4)
      {
        const int me = omp_get_thread_num();
        there[me] = round + me;
#pragma omp barrier
        const long sum = there[0] + there[1] + there[2] + there[3];
#pragma omp barrier
        there[me] = sum;
      }
    }
#pragma omp parallel num_threads(kThreads) reduction(+ : here)
    here += meet(cells, round);
    for (int t = 0; t < kThreads; ++t) here -= there[t];
  }
  printf("offload: %ld\n", here);
  return 0;
}
