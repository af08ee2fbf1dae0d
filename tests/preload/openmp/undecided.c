/* Threads that wait for a region's decision keep their CPUs: every second region of two threads has a
 * barrier, so nobody foresees it, and both threads come to it at once. Counts the regions in which the
 * preload library yields: none to a few. With a yield after 256 polls there were 109 to 2,122 of 10,000. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kRegions = 10000, kMost = 50 };

static int region, yielded_in = -1, yields;

int sched_yield(void) {
  Dl_info caller;
  if (dladdr(__builtin_return_address(0), &caller) != 0 && caller.dli_fname != NULL &&
      strstr(caller.dli_fname, "libfermata-openmp") != NULL)
    __atomic_fetch_add(&yields, __atomic_exchange_n(&yielded_in, region, __ATOMIC_RELAXED) != region,
                       __ATOMIC_RELAXED);
  return (int)syscall(SYS_sched_yield);
}

int main(void) {
  int seen[2] = {0, 0}, wrong = 0;
  cpu_set_t cpus;
  for (int i = 0; i < kRegions; ++i) {
    region = i;
#pragma omp parallel num_threads(2) reduction(+ : wrong)
    {
      seen[omp_get_thread_num()] = i;
      if (i % 2 != 0) {
#pragma omp barrier
        wrong += seen[0] != i || seen[omp_get_num_threads() - 1] != i;
      }
    }
  }
  const int alone = sched_getaffinity(0, sizeof cpus, &cpus) != 0 || CPU_COUNT(&cpus) < 2;
  if (yields > kMost && !alone) printf("yields in %d of %d regions\n", yields, kRegions);
  printf("%d regions, %d wrong\n", kRegions, wrong);
  return wrong != 0;
}
