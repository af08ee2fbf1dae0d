/* The machine changes while threads meet at barriers. The CPUs that they may use shrink to one and grow
 * again, and a process that keeps CPUs busy comes and goes. The threads stay in step. */
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kMostThreads = 5, kRounds = 6, kMeetings = 60 };
static pid_t ids[kMostThreads];
static int written[kMostThreads][16];
static cpu_set_t all;

static void only_on(const cpu_set_t* cpus, int threads) {
  for (int i = 0; i < threads; ++i) sched_setaffinity(ids[i], sizeof *cpus, cpus);
}

static cpu_set_t one_of(int nth) {
  cpu_set_t one;
  nth %= CPU_COUNT(&all);
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &all) && nth-- == 0) CPU_SET(cpu, &one);
  }
  return one;
}

static pid_t burn(const cpu_set_t* where) {
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(60); /* in case the parent dies first */
    sched_setaffinity(0, sizeof *where, where);
    for (volatile unsigned long i = 0;; ++i) {
    }
  }
  return pid;
}

/* The three parts of a round run on all CPUs, one CPU, and all CPUs. From the fourth round on another process
 * keeps CPUs busy. */
static int meet(int threads) {
  int wrong = 0;
  pid_t burner = 0;
#pragma omp parallel num_threads(threads) reduction(+ : wrong)
  {
    const int rank = omp_get_thread_num(), n = omp_get_num_threads();
    ids[rank] = (pid_t)syscall(SYS_gettid);
    int episode = 0;
    for (int part = 0; part < 3 * kRounds; ++part) {
#pragma omp barrier
      if (rank == 0) {
        const cpu_set_t one = one_of(part / 3);
        if (part % 3 == 1 && part / 3 >= 3) burner = burn(&one);
        only_on(part % 3 == 1 ? &one : &all, n);
      }
      for (int i = 0; i < kMeetings; ++i) {
        written[rank][0] = ++episode;
#pragma omp barrier
        for (int other = 0; other < n; ++other) wrong += written[other][0] != episode;
#pragma omp barrier
      }
      if (rank == 0 && burner > 0 && part % 3 == 2) {
        kill(burner, SIGKILL);
        waitpid(burner, NULL, 0);
        burner = 0;
      }
    }
  }
  return wrong;
}

int main(void) {
  omp_set_dynamic(0);
  sched_getaffinity(0, sizeof all, &all);
  printf("wrong: %d with 2 threads, %d with 5\n", meet(2), meet(5));
  return 0;
}
