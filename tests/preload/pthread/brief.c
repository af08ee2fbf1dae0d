/* A short program that ends in several ways. Usage: brief WAY. */
#include <signal.h>
#include <string.h>
#include <time.h>

#include "workers.h"

static pthread_barrier_t barrier;

static void* meet(void* argument) {
  (void)argument;
  for (int i = 0; i < 10; ++i) pthread_barrier_wait(&barrier);
  return NULL;
}

static void* leave(void* argument) {
  (void)argument;
  exit(4);
}

int main(int argc, char** argv) {
  const int way = argc > 1 ? atoi(argv[1]) : 0;
  struct workers workers;
  if (way == 0) return 0; /* no barrier at all */
  CHECK(pthread_barrier_init(&barrier, NULL, 2) == 0);
  workers_start(&workers, way == 1 ? 2 : 1, meet);
  if (way == 1) workers_join(&workers);
  if (way == 2) return 7; /* ends while a thread waits */
  if (way == 3) raise(SIGKILL);
  if (way == 4) {
    pthread_t last;
    CHECK(pthread_create(&last, NULL, leave, NULL) == 0);
    pthread_barrier_wait(&barrier);
    pthread_join(last, NULL);
  }
  if (way == 5) { /* another program replaces this one */
    char next[] = "1";
    char* const arguments[] = {argv[0], next, NULL};
    execv("/proc/self/exe", arguments);
    return 99;
  }
  return 3;
}
