/* Arguments that init accepts or refuses, attributes, and barriers between processes. */
#include <errno.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workers.h"

static const char* name_of(int status) {
  return status == 0                               ? "0"
         : status == EINVAL                        ? "EINVAL"
         : status == PTHREAD_BARRIER_SERIAL_THREAD ? "serial"
                                                   : "other";
}

int main(void) {
  static const unsigned counts[] = {0, 1, 2, 1u << 30, (1u << 30) + 1, INT_MAX, INT_MAX + 1u, UINT_MAX};
  pthread_barrier_t barrier;
  pthread_barrierattr_t attributes;
  for (int i = 0; i < 8; ++i) {
    const int status = pthread_barrier_init(&barrier, NULL, counts[i]);
    printf("init %u: %s\n", counts[i], name_of(status));
    if (status == 0) printf("destroy: %s\n", name_of(pthread_barrier_destroy(&barrier)));
  }
  errno = 77;
  CHECK(pthread_barrierattr_init(&attributes) == 0);
  CHECK(pthread_barrier_init(&barrier, &attributes, 1) == 0);
  printf("wait: %s\n", name_of(pthread_barrier_wait(&barrier)));
  CHECK(pthread_barrier_destroy(&barrier) == 0);
  CHECK(errno == 77); /* errors are returned, errno stays untouched */

  /* Between processes. A private barrier is first made on the same bytes, so that they are not clean. */
  pthread_barrier_t* shared =
      mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(shared != MAP_FAILED);
  CHECK(pthread_barrier_init(shared, NULL, 1) == 0);
  CHECK(pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) == 0);
  CHECK(pthread_barrier_init(shared, &attributes, 2) == 0);
  fflush(stdout);
  const pid_t child = fork();
  CHECK(child >= 0);
  int serial = 0;
  for (int i = 0; i < scaled(1000); ++i) serial += pthread_barrier_wait(shared) != 0;
  if (child == 0) _exit(0);
  int status;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(serial >= 0 && serial <= scaled(1000));
  CHECK(pthread_barrier_destroy(shared) == 0);
  CHECK(pthread_barrierattr_destroy(&attributes) == 0);
  puts("shared: ok");
  return 0;
}
