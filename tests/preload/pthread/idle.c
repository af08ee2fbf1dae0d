/* Threads that wait long use hardly any CPU time: three waiters wait for 1.5 s, and the whole process uses
 * less than 0.15 s. */
#include <stdatomic.h>
#include <time.h>

#include "workers.h"

static pthread_barrier_t barrier;

static double cpu_seconds(void) {
  struct timespec now;
  CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) == 0);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void* waiter(void* argument) {
  (void)argument;
  for (int i = 0; i < 3; ++i) pthread_barrier_wait(&barrier);
  return NULL;
}

int main(void) {
  const struct timespec while_ago = {0, 750000000};
  struct workers workers;
  CHECK(pthread_barrier_init(&barrier, NULL, 4) == 0);
  workers_start(&workers, 3, waiter);
  pthread_barrier_wait(&barrier); /* the start of a thread does not count as waiting */
  for (int i = 0; i < 2; ++i) {
    const double before = cpu_seconds();
    nanosleep(&while_ago, NULL);
    const double used = cpu_seconds() - before;
    CHECK(used < 0.075);
    pthread_barrier_wait(&barrier);
  }
  workers_join(&workers);
  CHECK(pthread_barrier_destroy(&barrier) == 0);
  puts("idle: ok");
  return 0;
}
