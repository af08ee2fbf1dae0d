/* Several threads of the program, each with regions of its own at the same time. */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>

enum { kInitial = 4, kRounds = 40 };
static long cells[kInitial][8][16];
static long wrong[kInitial];

static void* run(void* argument) {
  const long self = (long)argument;
  long mine = 0;
  for (int round = 1; round <= kRounds; ++round) {
    const int size = 2 + (int)(self + round) % 3;
#pragma omp parallel num_threads(size) reduction(+ : mine)
    {
      const long me = omp_get_thread_num(), n = omp_get_num_threads();
      for (int k = 1; k <= 10; ++k) {
        cells[self][me][0] = k * (me + 1) + self;
#pragma omp barrier
        long sum = 0;
        for (int t = 0; t < n; ++t) sum += cells[self][t][0];
        mine += sum != k * n * (n + 1) / 2 + self * n;
#pragma omp barrier
      }
    }
  }
  wrong[self] = mine;
  return NULL;
}

int main(void) {
  omp_set_dynamic(0);
  pthread_t threads[kInitial];
  for (int turn = 0; turn < 3; ++turn) { /* new threads each time */
    for (long i = 0; i < kInitial; ++i) pthread_create(&threads[i], NULL, run, (void*)i);
    for (int i = 0; i < kInitial; ++i) pthread_join(threads[i], NULL);
    for (int i = 0; i < kInitial; ++i) printf("%ld ", wrong[i]);
  }
  printf("wrong\n");
  return 0;
}
