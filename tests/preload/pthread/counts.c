/* Every count from 1 to 64, on static, stack and heap memory. No thread leaves before all have entered, data
 * written before are seen after, and exactly one thread per phase is the serial one. */
#include <stdatomic.h>
#include <string.h>

#include "workers.h"

static pthread_barrier_t fixed;
static pthread_barrier_t* barrier;
static int count, episodes;
static int written[64]; /* plain: the barrier orders them */
static atomic_int serials[4096];

static void* work(void* argument) {
  const int rank = (int)(long)argument;
  for (int episode = 0; episode < episodes; ++episode) {
    written[rank] = episode + 1;
    int status = pthread_barrier_wait(barrier);
    CHECK(status == 0 || status == PTHREAD_BARRIER_SERIAL_THREAD);
    if (status != 0) atomic_fetch_add(&serials[2 * episode], 1);
    for (int i = 0; i < count; ++i) CHECK(written[i] == episode + 1);
    status = pthread_barrier_wait(barrier); /* before any thread writes the next value */
    if (status != 0) atomic_fetch_add(&serials[2 * episode + 1], 1);
  }
  return NULL;
}

static void run(pthread_barrier_t* place) {
  barrier = place;
  memset(serials, 0, sizeof serials);
  CHECK(pthread_barrier_init(place, NULL, (unsigned)count) == 0);
  workers_run(count, work);
  CHECK(pthread_barrier_destroy(place) == 0);
  for (int i = 0; i < 2 * episodes; ++i) CHECK(serials[i] == 1);
}

int main(void) {
  for (count = 1; count <= 64; ++count) {
    pthread_barrier_t local;
    pthread_barrier_t* heap = malloc(sizeof *heap);
    episodes = scaled(count <= 4 ? 1000 : 100);
    run(count % 3 == 0 ? &fixed : count % 3 == 1 ? &local : heap);
    free(heap);
  }
  puts("counts 1..64: all in step");
  return 0;
}
