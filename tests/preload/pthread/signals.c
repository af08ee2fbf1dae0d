/* A waiter that signals keep interrupting runs their handlers, goes on waiting, and returns when all have
 * arrived. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "workers.h"

static pthread_barrier_t barrier;
static atomic_int handled, returned, started;

static void handler(int number) {
  (void)number;
  atomic_fetch_add(&handled, 1);
}

static void* waiter(void* argument) {
  (void)argument;
  atomic_fetch_add(&started, 1);
  errno = 42;
  const int status = pthread_barrier_wait(&barrier);
  CHECK(status == 0 || status == PTHREAD_BARRIER_SERIAL_THREAD);
  CHECK(errno == 42);
  atomic_fetch_add(&returned, 1);
  return NULL;
}

static void pause_for(long us) {
  const struct timespec time = {0, us * 1000};
  nanosleep(&time, NULL);
}

int main(void) {
  for (int flags = 0; flags < 2; ++flags) {
    struct workers workers;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = flags ? SA_RESTART : 0;
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    handled = returned = started = 0;
    CHECK(pthread_barrier_init(&barrier, NULL, 4) == 0);
    workers_start(&workers, 3, waiter);
    while (started < 3) pause_for(100);
    for (int i = 0; i < 200; ++i) { /* spinning at first, asleep later */
      CHECK(pthread_kill(workers.threads[i % 3], SIGUSR1) == 0);
      pause_for(i < 100 ? 50 : 1000);
      CHECK(returned == 0);
    }
    CHECK(handled > 0); /* handlers run at once, not when the wait ends; equal pending signals merge into
                         * one */
    const int status = pthread_barrier_wait(&barrier);
    CHECK(status == 0 || status == PTHREAD_BARRIER_SERIAL_THREAD);
    workers_join(&workers);
    CHECK(returned == 3);
    CHECK(pthread_barrier_destroy(&barrier) == 0);
  }
  puts("signals: ok");
  return 0;
}
