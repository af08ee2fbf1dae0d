/* The first thread that returns destroys the barrier while the others still leave it. It then unmaps its
 * page, initializes it again, or makes a quite different barrier. */
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "workers.h"

enum { kSize = 4096, kThreads = 5 };
static pthread_barrier_t rounds; /* between the tries */
static pthread_barrier_t* _Atomic barrier;
static atomic_int claimed;
static int mode;

static void* fresh(void) {
  void* page = mmap(NULL, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(page != MAP_FAILED);
  return page;
}

static void* work(void* argument) {
  const int rank = (int)(long)argument;
  for (int i = 0; i < scaled(2000); ++i) {
    pthread_barrier_t* mine = barrier;
    pthread_barrier_wait(mine);
    if (atomic_exchange(&claimed, 1) == 0) {
      CHECK(pthread_barrier_destroy(mine) == 0);
      memset(mine, 0xEE, sizeof *mine);
      if (mode == 0) {
        CHECK(munmap(mine, kSize) == 0);
        mine = fresh();
      }
      if (mode == 2) { /* makes another barrier, which never completes, from the memory of the first */
        pthread_barrier_t other;
        CHECK(pthread_barrier_init(&other, NULL, 1000003) == 0);
        pthread_barrier_wait(&rounds);
        CHECK(pthread_barrier_destroy(&other) == 0);
      }
      CHECK(pthread_barrier_init(mine, NULL, kThreads) == 0);
      barrier = mine;
    } else if (mode == 2) {
      pthread_barrier_wait(&rounds);
    }
    pthread_barrier_wait(&rounds);
    if (rank == 0) claimed = 0;
    pthread_barrier_wait(&rounds);
  }
  return NULL;
}

int main(void) {
  CHECK(pthread_barrier_init(&rounds, NULL, kThreads) == 0);
  for (mode = 0; mode < 3; ++mode) {
    barrier = fresh();
    CHECK(pthread_barrier_init(barrier, NULL, kThreads) == 0);
    workers_run(kThreads, work);
  }
  puts("unmaps: ok");
  return 0;
}
