/* Two threads meet a hundred times at one call site and then once at another, which the statistics do not
 * time. */
#include <pthread.h>

static pthread_barrier_t barrier;

static void* meet(void* unused) {
  for (int i = 0; i < 100; ++i) pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  return unused;
}

int main(void) {
  pthread_t other;
  if (pthread_barrier_init(&barrier, NULL, 2) != 0 || pthread_create(&other, NULL, meet, NULL) != 0) return 1;
  meet(NULL);
  return pthread_join(other, NULL);
}
