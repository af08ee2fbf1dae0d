/* The time per episode of a pthread barrier with work between episodes. It does not use Fermata: run it with
 * and without the preload (scripts/bench-preload-pthread).
 *
 *   pthread_period THREADS WORK_NS SECONDS [EPISODES [LOOPS_PER_NS]]
 *   pthread_period calibrate        prints LOOPS_PER_NS, to be used for both sides of a comparison
 *
 * Each thread works for a random time, 0 to 2 x WORK_NS of its own CPU time, then waits. The work is a loop
 * of known speed, so a thread that loses the CPU still does its share. It runs for SECONDS and at least
 * EPISODES (8); the first quarter is not measured. It prints nanoseconds per episode, CPU nanoseconds per
 * episode of all threads together, episodes, and 1 if each episode had exactly one serial thread and no
 * thread left early, else 0. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kMostThreads = 1024, kLine = 128 };

struct own {
  _Alignas(kLine) long entered; /* plain: written before a wait, read by the neighbour after it */
  long serials;
  int wrong;
};

static pthread_barrier_t barrier;
static struct own* owns;
static int threads;
static double loops_per_ns, work_ns, seconds;
static long least;
static long stop_at;     /* written by the first thread, read after the next wait */
static long first, last; /* measured episodes */
static double begin_wall, end_wall, begin_cpu, end_cpu;

static double clock_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static void loop(uint64_t times) {
  for (uint64_t i = 0; i < times; ++i) __asm__ volatile("" : : "r"(i));
}

static double calibrate(void) {
  double best = 0;
  for (int i = 0; i < 20; ++i) {
    const double begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    loop(1000000);
    const double rate = 1000000 / (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin);
    if (rate > best) best = rate;
  }
  return best;
}

static uint64_t next_random(uint64_t* state) { /* Marsaglia's xorshift64 */
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

/* The first thread reads the clock between two waits. The others see its decision after the next wait. */
static void steer(long episode, double started) {
  const double now = clock_ns(CLOCK_MONOTONIC);
  if (first < 0 && episode >= least / 4 && now - started >= 0.25e9 * seconds) {
    first = episode;
    begin_wall = now;
    begin_cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  } else if (first >= 0 && stop_at < 0 && episode >= least && episode > first &&
             now - started >= 1e9 * seconds) {
    last = episode;
    end_wall = now;
    end_cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    stop_at = episode + 2;
  }
}

static void* work(void* argument) {
  const int rank = (int)(intptr_t)argument;
  struct own* mine = &owns[rank];
  const struct own* neighbour = &owns[(rank + 1) % threads];
  const double started = clock_ns(CLOCK_MONOTONIC);
  uint64_t random = 88172645463325252u + (uint64_t)rank * 7919;
  for (long episode = 0; stop_at < 0 || episode < stop_at; ++episode) {
    /* Reading a clock costs as much as a barrier: do it rarely if episodes are short. */
    if (rank == 0 && (work_ns >= 1000 || episode % 64 == 0 || episode < 64)) steer(episode, started);
    if (work_ns > 0)
      loop((uint64_t)(2 * work_ns * loops_per_ns * (double)(next_random(&random) >> 11) * 0x1p-53));
    mine->entered = episode;
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) ++mine->serials;
    if (neighbour->entered < episode) mine->wrong = 1;
  }
  return NULL;
}

int main(int argc, char** argv) {
  if (argc == 2) {
    printf("%.6f\n", calibrate());
    return 0;
  }
  threads = argc > 3 ? atoi(argv[1]) : 0;
  if (threads < 1 || threads > kMostThreads) {
    fprintf(stderr, "usage: pthread_period THREADS WORK_NS SECONDS [EPISODES [LOOPS_PER_NS]]\n");
    return 2;
  }
  work_ns = atof(argv[2]);
  seconds = atof(argv[3]);
  least = argc > 4 ? atol(argv[4]) : 8;
  loops_per_ns = argc > 5 ? atof(argv[5]) : work_ns > 0 ? calibrate() : 1;
  first = last = stop_at = -1;
  owns = aligned_alloc(kLine, sizeof *owns * (size_t)threads);
  if (owns == NULL || pthread_barrier_init(&barrier, NULL, (unsigned)threads) != 0) return 1;
  for (int i = 0; i < threads; ++i) owns[i] = (struct own){.entered = -1};
  pthread_t handles[kMostThreads];
  for (int i = 0; i < threads; ++i) {
    if (pthread_create(&handles[i], NULL, work, (void*)(intptr_t)i) != 0) return 1;
  }
  long serials = 0;
  int wrong = 0;
  for (int i = 0; i < threads; ++i) {
    pthread_join(handles[i], NULL);
    serials += owns[i].serials;
    wrong |= owns[i].wrong;
  }
  pthread_barrier_destroy(&barrier);
  const double episodes = (double)(last - first);
  printf("%.1f %.1f %ld %d\n", (end_wall - begin_wall) / episodes, (end_cpu - begin_cpu) / episodes,
         last - first, wrong || serials != stop_at ? 0 : 1);
  return 0;
}
