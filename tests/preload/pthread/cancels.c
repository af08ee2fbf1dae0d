/* pthread_barrier_wait is no cancellation point: a cancelled waiter waits on, returns, and ends at the next
 * cancellation point. */
#include <stdatomic.h>
#include <time.h>

#include "workers.h"

static pthread_barrier_t barrier;
static atomic_int started, passed, survived;

static void* waiter(void* argument) {
  (void)argument;
  atomic_fetch_add(&started, 1);
  pthread_barrier_wait(&barrier);
  atomic_fetch_add(&passed, 1);
  pthread_testcancel();
  atomic_fetch_add(&survived, 1);
  return NULL;
}

int main(void) {
  for (int count = 2; count <= 5; ++count) {
    struct workers workers;
    const struct timespec moment = {0, 30000000};
    started = passed = survived = 0;
    CHECK(pthread_barrier_init(&barrier, NULL, (unsigned)count) == 0);
    workers_start(&workers, count - 1, waiter);
    while (started < count - 1) nanosleep(&moment, NULL);
    if (count % 2) nanosleep(&moment, NULL); /* asleep by now; in the other rounds perhaps not */
    for (int i = 0; i < count - 1; ++i) CHECK(pthread_cancel(workers.threads[i]) == 0);
    nanosleep(&moment, NULL);
    CHECK(passed == 0);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < count - 1; ++i) {
      void* result;
      CHECK(pthread_join(workers.threads[i], &result) == 0);
      CHECK(result == PTHREAD_CANCELED);
    }
    CHECK(passed == count - 1 && survived == 0);
    CHECK(pthread_barrier_destroy(&barrier) == 0);
  }
  puts("cancels: ok");
  return 0;
}
