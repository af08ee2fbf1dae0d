/* Does a thread that waits at a barrier sleep? The program counts how often it blocks, which a yield is
 * not. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>

#include "workers.h"

static pthread_barrier_t barrier;
static long slept;
static atomic_int comes;

static long sleeps(void) {
  struct rusage usage;
  CHECK(getrusage(RUSAGE_THREAD, &usage) == 0);
  return usage.ru_nvcsw;
}

static void* waiter(void* argument) {
  (void)argument;
  pthread_barrier_wait(&barrier); /* the first wait also looks up settings */
  const long before = sleeps();
  comes = 1;
  pthread_barrier_wait(&barrier);
  slept = sleeps() - before;
  return NULL;
}

int main(void) {
  const struct timespec while_ago = {0, 200000000};
  struct workers workers;
  CHECK(pthread_barrier_init(&barrier, NULL, 2) == 0);
  workers_start(&workers, 1, waiter);
  pthread_barrier_wait(&barrier);
  while (!comes) sched_yield();
  nanosleep(&while_ago, NULL);
  pthread_barrier_wait(&barrier);
  workers_join(&workers);
  puts(slept > 0 ? "slept" : "awake");
  return 0;
}
