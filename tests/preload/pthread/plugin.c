/* A library that is opened at run time, uses a barrier, and is closed again. */
#include <stdatomic.h>

#include "workers.h"

static pthread_barrier_t barrier;
static atomic_int serial;

static void* work(void* argument) {
  (void)argument;
  for (int i = 0; i < 50; ++i) {
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) atomic_fetch_add(&serial, 1);
  }
  return NULL;
}

__attribute__((visibility("default"))) int plugin_run(int destroy) {
  serial = 0;
  CHECK(pthread_barrier_init(&barrier, NULL, 3) == 0);
  workers_run(3, work);
  if (destroy)
    CHECK(pthread_barrier_destroy(&barrier) == 0); /* otherwise its memory is unmapped with the
                                                    * library */
  return serial;
}
