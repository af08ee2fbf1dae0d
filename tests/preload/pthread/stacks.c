/* Threads with small stacks: each thread's static memory of a library takes space from them. Natively all of
 * this works. */
#include <limits.h>
#include <stdatomic.h>
#include <time.h>

#include "workers.h"

static pthread_barrier_t barrier;

static void* nothing(void* argument) { return argument; }

/* Some waits are long, so that the library looks at the other threads and may report. */
static void* waits(void* argument) {
  static atomic_flag late = ATOMIC_FLAG_INIT;
  const struct timespec moment = {0, 60000000};
  for (int i = 0; i < 100; ++i) {
    if (i % 20 == 19 && !atomic_flag_test_and_set(&late)) nanosleep(&moment, NULL);
    pthread_barrier_wait(&barrier);
    if (i % 20 == 0) atomic_flag_clear(&late);
  }
  return argument;
}

/* Uses 8 KiB of a 20 KiB stack, which also holds the guard page and the C library's own data. */
static void* uses(void* argument) {
  volatile char here[8192];
  for (size_t i = 0; i < sizeof here; i += 64) here[i] = 1;
  return argument;
}

static int start(size_t bytes, void* (*work)(void*), pthread_t* thread) {
  pthread_attr_t attributes;
  CHECK(pthread_attr_init(&attributes) == 0);
  CHECK(pthread_attr_setstacksize(&attributes, bytes) == 0);
  const int status = pthread_create(thread, &attributes, work, NULL);
  pthread_attr_destroy(&attributes);
  return status;
}

int main(void) {
  const size_t least = (size_t)sysconf(_SC_THREAD_STACK_MIN);
  pthread_t threads[4];
  for (size_t bytes = least; bytes <= 8 * least; bytes += 4096) {
    CHECK(start(bytes, nothing, &threads[0]) == 0);
    CHECK(pthread_join(threads[0], NULL) == 0);
  }
  CHECK(start(20480, uses, &threads[0]) == 0);
  CHECK(pthread_join(threads[0], NULL) == 0);
  CHECK(pthread_barrier_init(&barrier, NULL, 4) == 0);
  for (int i = 0; i < 4; ++i) CHECK(start(least, waits, &threads[i]) == 0);
  for (int i = 0; i < 4; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK(pthread_barrier_destroy(&barrier) == 0);
  puts("stacks: ok");
  return 0;
}
