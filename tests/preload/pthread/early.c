/* A barrier between processes. One process waits in main, the other one in the constructor of a library
 * (early_library.c), which runs before a preload's constructor. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/wait.h>

#include "workers.h"

int early_status(void);

int main(int count, char** arguments) {
  if (getenv("EARLY_BARRIER") != NULL) return early_status();
  const int fd = memfd_create("barrier", 0);
  CHECK(fd >= 0 && count == 1 && ftruncate(fd, sizeof(pthread_barrier_t)) == 0);
  pthread_barrier_t* const barrier = mmap(NULL, sizeof *barrier, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  CHECK(barrier != MAP_FAILED);
  pthread_barrierattr_t attributes;
  CHECK(pthread_barrierattr_init(&attributes) == 0);
  CHECK(pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) == 0);
  CHECK(pthread_barrier_init(barrier, &attributes, 2) == 0);
  const pid_t child = fork();
  if (child == 0) {
    char number[16];
    snprintf(number, sizeof number, "%d", fd);
    setenv("EARLY_BARRIER", number, 1);
    execv("/proc/self/exe", arguments);
    _exit(127);
  }
  alarm(10); /* ends a process that waits alone */
  const int status = pthread_barrier_wait(barrier);
  CHECK(status == 0 || status == PTHREAD_BARRIER_SERIAL_THREAD);
  int ended = 0;
  CHECK(waitpid(child, &ended, 0) == child && WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
  puts("early: ok");
  return 0;
}
