/* A library whose constructor meets a thread of its own while it holds the loader's lock. With OpenMP they
 * meet in a region. */
#ifdef _OPENMP
#include <omp.h>
__attribute__((constructor)) static void load(void) {
#pragma omp parallel num_threads(3)
  for (int i = 0; i < 50; ++i) {
#pragma omp barrier
  }
#pragma omp parallel num_threads(2)
  for (int i = 0; i < 50; ++i) {
#pragma omp for
    for (int j = 0; j < 2; ++j) {
    }
#pragma omp barrier
  }
}
#else
#include <pthread.h>

static pthread_barrier_t barrier;

static void* meet(void* argument) {
  for (int i = 0; i < 100; ++i) pthread_barrier_wait(&barrier);
  return argument;
}

__attribute__((constructor)) static void load(void) {
  pthread_t thread;
  pthread_barrier_init(&barrier, 0, 2);
  pthread_create(&thread, 0, meet, 0);
  meet(0);
  pthread_join(thread, 0);
  pthread_barrier_destroy(&barrier);
}
#endif
