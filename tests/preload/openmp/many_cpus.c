/* Preloaded, it answers that the process may run on 64 CPUs. */
#define _GNU_SOURCE
#include <sched.h>
#include <string.h>

int sched_getaffinity(pid_t process, size_t bytes, cpu_set_t* set) {
  (void)process;
  memset(set, 0, bytes);
  for (int cpu = 0; cpu < 64; ++cpu) CPU_SET_S(cpu, bytes, set);
  return 0;
}
