/* More threads than the count: any threads complete a phase. There are as many serial threads as phases. */
#include <stdatomic.h>

#include "workers.h"

static pthread_barrier_t barrier;
static atomic_int tickets, serial, others;

static void* work(void* argument) {
  (void)argument;
  while (atomic_fetch_sub(&tickets, 1) > 0) {
    const int status = pthread_barrier_wait(&barrier);
    CHECK(status == 0 || status == PTHREAD_BARRIER_SERIAL_THREAD);
    atomic_fetch_add(status != 0 ? &serial : &others, 1);
  }
  return NULL;
}

int main(void) {
  static const int counts[] = {1, 2, 3, 7}, threads[] = {4, 5, 16};
  for (int c = 0; c < 4; ++c) {
    for (int t = 0; t < 3; ++t) {
      const int phases = scaled(500);
      if (threads[t] < counts[c]) continue; /* too few threads to complete a phase */
      tickets = phases * counts[c];
      serial = others = 0;
      CHECK(pthread_barrier_init(&barrier, NULL, (unsigned)counts[c]) == 0);
      workers_run(threads[t], work);
      CHECK(pthread_barrier_destroy(&barrier) == 0);
      CHECK(serial == phases && others == phases * (counts[c] - 1));
      printf("count %d, %d threads: ok\n", counts[c], threads[t]);
    }
  }
  return 0;
}
