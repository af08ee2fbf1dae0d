/* For early.c: its constructor waits at a barrier. The environment has the descriptor of the barrier's
 * memory. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

static int status = EXIT_FAILURE;
__attribute__((visibility("default"))) int early_status(void);
int early_status(void) { return status; }

__attribute__((constructor)) static void wait_early(void) {
  const char* const fd = getenv("EARLY_BARRIER");
  if (fd == NULL) return;
  pthread_barrier_t* const barrier =
      mmap(NULL, sizeof *barrier, PROT_READ | PROT_WRITE, MAP_SHARED, atoi(fd), 0);
  if (barrier == MAP_FAILED) return;
  const int waited = pthread_barrier_wait(barrier);
  if (waited == 0 || waited == PTHREAD_BARRIER_SERIAL_THREAD) status = EXIT_SUCCESS;
}
