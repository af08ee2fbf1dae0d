/* The machine changes while threads meet. The CPUs that they may use shrink to one and grow again, and a
 * process that keeps CPUs busy comes and goes. The threads stay in step and finish within the test's time. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>

#include "workers.h"

enum { kThreads = 6 };
static pthread_barrier_t barrier;
static atomic_int stop, leave;
static int written[kThreads];
static atomic_long episodes;

static void* work(void* argument) {
  const int rank = (int)(long)argument;
  for (int episode = 1;; ++episode) {
    written[rank] = episode;
    if (rank == 0) atomic_store(&leave, stop);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < kThreads; ++i) CHECK(written[i] == episode);
    const int last = leave;
    pthread_barrier_wait(&barrier);
    if (rank == 0) episodes = episode;
    if (last) return NULL;
  }
}

static void only(const struct workers* workers, const cpu_set_t* cpus) {
  for (int i = 0; i < kThreads; ++i)
    CHECK(pthread_setaffinity_np(workers->threads[i], sizeof *cpus, cpus) == 0);
}

static pid_t burn(void) {
  const pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    alarm(60); /* in case the parent dies first */
    for (volatile unsigned long i = 0;; ++i) {
    }
  }
  return pid;
}

int main(void) {
  const struct timespec while_ago = {0, 100000000};
  cpu_set_t all, one;
  struct workers workers;
  CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
  CHECK(pthread_barrier_init(&barrier, NULL, kThreads) == 0);
  workers_start(&workers, kThreads, work);
  int cpu = 0;
  for (int i = 0; i < 8 || (i < 300 && episodes <= 16); ++i) {
    const pid_t burner = i >= 4 ? burn() : 0;
    do cpu = (cpu + 1) % CPU_SETSIZE;
    while (!CPU_ISSET(cpu, &all));
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    only(&workers, &one);
    nanosleep(&while_ago, NULL);
    only(&workers, &all);
    nanosleep(&while_ago, NULL);
    if (burner != 0) {
      CHECK(kill(burner, SIGKILL) == 0);
      CHECK(waitpid(burner, NULL, 0) == burner);
    }
  }
  stop = 1;
  workers_join(&workers);
  CHECK(episodes > 16);
  CHECK(pthread_barrier_destroy(&barrier) == 0);
  puts("crowds: ok");
  return 0;
}
