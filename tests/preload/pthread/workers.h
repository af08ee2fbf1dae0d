/* Shared by the programs here: threads that run one function, and checks that end the program with a
 * message. */
#ifndef FERMATA_TESTS_PRELOAD_PTHREAD_WORKERS_H
#define FERMATA_TESTS_PRELOAD_PTHREAD_WORKERS_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef FERMATA_TEST_SCALE
#define FERMATA_TEST_SCALE 1
#endif

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      fflush(stderr);                                                         \
      _exit(9);                                                               \
    }                                                                         \
  } while (0)

/* The number of repetitions, divided where everything is slow, at least 1. */
static inline int scaled(int times) {
  return times / FERMATA_TEST_SCALE > 0 ? times / FERMATA_TEST_SCALE : 1;
}

struct workers {
  int size;
  void* (*work)(void*);
  pthread_t threads[256];
};

/* Starts `size` threads and passes each its number as the argument. */
static inline void workers_start(struct workers* workers, int size, void* (*work)(void*)) {
  workers->size = size;
  workers->work = work;
  for (int i = 0; i < size; ++i) CHECK(pthread_create(&workers->threads[i], NULL, work, (void*)(long)i) == 0);
}

static inline void workers_join(struct workers* workers) {
  for (int i = 0; i < workers->size; ++i) CHECK(pthread_join(workers->threads[i], NULL) == 0);
}

static inline void workers_run(int size, void* (*work)(void*)) {
  struct workers workers;
  workers_start(&workers, size, work);
  workers_join(&workers);
}

#endif
