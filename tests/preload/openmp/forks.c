/* A program forks again and again while its threads have regions of many sizes. One thread also opens and
 * closes a library where the loader's list is read; it is the program itself, so the list does not change.
 * The child has none of these threads. The forking thread had no region, so the child's regions are as in a
 * new program. libomp leaves a child usable even if its parent thread had regions before. */
#include <dlfcn.h>
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kForks = 30, kInitial = 2 };
static atomic_int stop, wrong;

/* Teams of changing sizes, also nested: the pool of teams is always in use. */
static int regions(int turn, int rounds) {
  int bad = 0;
  for (int round = 0; round < rounds; ++round) {
    int cells[4] = {0};
#pragma omp parallel num_threads(2 + (turn + round) % 3) reduction(+ : bad)
    {
      const int me = omp_get_thread_num(), n = omp_get_num_threads();
      for (int k = 1; k <= 3; ++k) {
        cells[me] = k;
#pragma omp barrier
        for (int t = 0; t < n; ++t) bad += cells[t] != k;
#pragma omp barrier
      }
    }
  }
  return bad;
}

static void* keep_busy(void* argument) {
  int bad = 0;
  for (int turn = (int)(long)argument; !stop; ++turn) bad += regions(turn, 3);
  atomic_fetch_add(&wrong, bad);
  return NULL;
}

static void* open_and_close(void* argument) {
  while (!stop) dlclose(dlopen(NULL, RTLD_LAZY));
  return argument;
}

static int forked(int turn) {
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(30); /* a signal ends a child that hangs, and the parent sees it */
    _exit(regions(turn, 6) == 0 ? 5 : 6);
  }
  int status = 0;
  return pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 5;
}

int main(void) {
  omp_set_dynamic(0);
  pthread_t busy[kInitial], opener;
  int lost = 0;
  for (long i = 0; i < kInitial; ++i) pthread_create(&busy[i], NULL, keep_busy, (void*)i);
  pthread_create(&opener, NULL, open_and_close, NULL);
  for (int i = 0; i < kForks; ++i) lost += forked(i);
  stop = 1;
  for (int i = 0; i < kInitial; ++i) pthread_join(busy[i], NULL);
  pthread_join(opener, NULL);
#ifdef __clang__
  for (int i = 0; i < kForks / 3; ++i) {
    atomic_fetch_add(&wrong, regions(i, 3));
    lost += forked(i);
  }
#endif
  atomic_fetch_add(&wrong, regions(0, 6));
  printf("forks: %d children lost, %d wrong\n", lost, wrong);
  return 0;
}
