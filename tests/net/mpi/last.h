/* The thread that drives MPI leaves its team last, and moves the other threads' messages until then. */
#ifndef FERMATA_TESTS_NET_LAST_H
#define FERMATA_TESTS_NET_LAST_H

#include <fermata/fermata.h>
#include <pthread.h>
#include <time.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int running; /* threads of this process that have not called leave(); guarded */

static void leave(fermata_member* m, int drives) {
  const struct timespec nap = {0, 50000};
  pthread_mutex_lock(&guard);
  int others = --running;
  pthread_mutex_unlock(&guard);
  for (; drives && others > 0; nanosleep(&nap, NULL)) {
    fermata_progress(m, 0);
    pthread_mutex_lock(&guard);
    others = running;
    pthread_mutex_unlock(&guard);
  }
  fermata_member_leave(m);
}

#endif
