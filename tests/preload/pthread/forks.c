/* A program forks while its threads wait at one barrier and make and destroy others. The child has one
 * thread. Barriers that it initializes work, also on the bytes of a barrier that had waiters in the
 * parent. */
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workers.h"

static pthread_barrier_t common, blocked, childs;
static atomic_int stop, arrived;

static void* meet(void* argument) {
  (void)argument;
  /* Both leave after the same phase: they read the word between two waits. */
  for (;;) {
    const int last = stop;
    pthread_barrier_wait(&common);
    if (argument == (void*)0) atomic_store(&arrived, last);
    pthread_barrier_wait(&common);
    if (atomic_load(&arrived)) return NULL;
  }
}

static void* churn(void* argument) {
  (void)argument;
  while (!stop) {
    pthread_barrier_t local;
    CHECK(pthread_barrier_init(&local, NULL, 1) == 0);
    CHECK(pthread_barrier_wait(&local) == PTHREAD_BARRIER_SERIAL_THREAD);
    CHECK(pthread_barrier_destroy(&local) == 0);
  }
  return NULL;
}

static void* wait_blocked(void* argument) {
  (void)argument;
  pthread_barrier_wait(&blocked);
  return NULL;
}

static void* in_child(void* argument) {
  (void)argument;
  for (int i = 0; i < 20; ++i) pthread_barrier_wait(&childs);
  return NULL;
}

static void* in_child_blocked(void* argument) {
  (void)argument;
  for (int i = 0; i < 20; ++i) pthread_barrier_wait(&blocked);
  return NULL;
}

static void child(void) {
  alarm(30); /* a signal ends a child that hangs, and the parent sees it */
  CHECK(pthread_barrier_init(&childs, NULL, 3) == 0);
  workers_run(3, in_child);
  CHECK(pthread_barrier_destroy(&childs) == 0);
  CHECK(pthread_barrier_init(&blocked, NULL, 2) == 0); /* the parent's two waiters do not exist in the
                                                        * child */
  workers_run(2, in_child_blocked);
  CHECK(pthread_barrier_destroy(&blocked) == 0);
  _exit(5);
}

int main(void) {
  struct workers meeting, churning, waiting;
  CHECK(pthread_barrier_init(&common, NULL, 2) == 0);
  CHECK(pthread_barrier_init(&blocked, NULL, 3) == 0);
  workers_start(&meeting, 2, meet);
  workers_start(&churning, 2, churn);
  workers_start(&waiting, 2, wait_blocked);
  for (int i = 0; i < scaled(60); ++i) {
    const pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) child();
    int status;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 5);
  }
  stop = 1;
  workers_join(&meeting);
  workers_join(&churning);
  pthread_barrier_wait(&blocked);
  workers_join(&waiting);
  CHECK(pthread_barrier_destroy(&common) == 0);
  CHECK(pthread_barrier_destroy(&blocked) == 0);
  puts("forks: ok");
  return 0;
}
