/* n threads meet at two call sites of one pthread barrier. The program exits with the status given, or by a
 * signal. The second thread comes so many microseconds late. A fifth argument: shared, the barrier is
 * PTHREAD_PROCESS_SHARED; fork, a child does the same; told, the second thread waits for a byte of the input.
 * Where the second is late, they meet at one call site, so that it never waits. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../come-late.h"

static pthread_barrier_t barrier;
static int episodes;
static useconds_t late;
static int told, once; /* once: there is no second call site */

/* Out of line, so that the loop keeps its two call sites. */
static __attribute__((noinline)) void come_late(const void* who) {
  if (who == &late && late > 0) come_later_than_first(late);
  if (who == &late && told) getchar();
}

static void* meet(void* who) {
  for (int i = 0; i < episodes; ++i) {
    come_late(who);
    pthread_barrier_wait(&barrier);
    if (i % 2 == 0 && !once) pthread_barrier_wait(&barrier);
  }
  return NULL;
}

int main(int argc, char** argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 2;
  episodes = argc > 2 ? atoi(argv[2]) : 1000;
  const int status = argc > 3 ? atoi(argv[3]) : 0;
  late = argc > 4 ? (useconds_t)atoi(argv[4]) : 0;
  pthread_t threads[64];
  pthread_barrierattr_t attributes;
  pthread_barrierattr_init(&attributes);
  const char* const how = argc > 5 ? argv[5] : "";
  told = strcmp(how, "told") == 0;
  once = told || late > 0;
  if (strcmp(how, "shared") == 0) pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  const pid_t child = strcmp(how, "fork") == 0 ? fork() : -1;
  if (n < 1 || n > 64 || pthread_barrier_init(&barrier, &attributes, (unsigned)n) != 0) return 99;
  for (int i = 1; i < n; ++i)
    if (pthread_create(&threads[i], NULL, meet, i == 1 ? &late : NULL) != 0) return 98;
  meet(NULL);
  for (int i = 1; i < n; ++i) pthread_join(threads[i], NULL);
  pthread_barrier_destroy(&barrier);
  if (child > 0 && waitpid(child, NULL, 0) != child) return 97;
  int seen = 0;
  if (scanf("%d", &seen) == 1) printf("read %d\n", seen);
  fflush(stdout);
  if (status < 0) raise(-status);
  return status;
}
