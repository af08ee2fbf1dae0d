/* inside [MS ROUNDS]: waits of all kinds, between trap.c's marks. Threads come in time or late, sleep, or
 * outnumber the CPUs. The barriers are Fermata's, the C library's, or between processes. Threads come MS late
 * to some. */
#include <string.h>
#include <time.h>

#include "workers.h"

void trap_enter(void) __attribute__((weak));
void trap_leave(void) __attribute__((weak));

static pthread_barrier_t barrier, copied;
static int rounds, most_rounds, late_ms;

static void meet(pthread_barrier_t* at) {
  if (trap_enter) trap_enter();
  const int status = pthread_barrier_wait(at);
  if (trap_leave) trap_leave();
  CHECK(status == 0 || status == PTHREAD_BARRIER_SERIAL_THREAD);
}

static void* work(void* argument) {
  const struct timespec late = {late_ms / 1000, late_ms % 1000 * 1000000L};
  for (int i = 0; i < rounds; ++i) {
    if (argument == NULL && i % 50 == 49) nanosleep(&late, NULL);
    meet(&barrier);
  }
  return NULL;
}

static void* work_at_copy(void* argument) {
  for (int i = 0; i < rounds; ++i) meet(&copied);
  return argument;
}

int main(int count, char** arguments) {
  static const int sizes[] = {1, 2, 3, 4, 9, 24};
  late_ms = count > 1 ? atoi(arguments[1]) : 3;
  most_rounds = count > 2 ? atoi(arguments[2]) : scaled(200);
  for (int shared = 0; shared < 2; ++shared) {
    pthread_barrierattr_t attributes;
    CHECK(pthread_barrierattr_init(&attributes) == 0);
    CHECK(pthread_barrierattr_setpshared(&attributes,
                                         shared ? PTHREAD_PROCESS_SHARED : PTHREAD_PROCESS_PRIVATE) == 0);
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
      rounds = most_rounds;
      CHECK(pthread_barrier_init(&barrier, &attributes, (unsigned)sizes[i]) == 0);
      workers_run(sizes[i], work);
      CHECK(pthread_barrier_destroy(&barrier) == 0);
    }
    CHECK(pthread_barrierattr_destroy(&attributes) == 0);
  }
  CHECK(pthread_barrier_init(&barrier, NULL, 2) == 0);
  memcpy(&copied, &barrier,
         sizeof copied); /* a barrier that was never initialized, with the C library's fields in it */
  rounds = 20;
  workers_run(2, work_at_copy);
  puts("inside: ok");
  return 0;
}
