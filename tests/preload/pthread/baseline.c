/* Ten thousand barriers are made, used and destroyed. They leave no descriptor and no memory behind. */
#include <dirent.h>
#include <unistd.h>

#include "workers.h"

static int descriptors(void) {
  int number = 0;
  DIR* folder = opendir("/proc/self/fd");
  CHECK(folder != NULL);
  while (readdir(folder) != NULL) ++number;
  closedir(folder);
  return number;
}

static long pages(void) {
  long size, resident;
  FILE* file = fopen("/proc/self/statm", "r");
  CHECK(file != NULL);
  CHECK(fscanf(file, "%ld %ld", &size, &resident) == 2);
  fclose(file);
  return resident;
}

static pthread_barrier_t* barrier;
static void* work(void* argument) {
  (void)argument;
  pthread_barrier_wait(barrier);
  return NULL;
}

static void rounds(int times) {
  for (int i = 0; i < times; ++i) {
    const int count = i % 100 == 0 ? 3 : 1;
    pthread_barrier_t place[3]; /* several at a time, at changing addresses */
    for (int j = 0; j < 3; ++j) CHECK(pthread_barrier_init(&place[j], NULL, (unsigned)count) == 0);
    barrier = &place[i % 3];
    if (count == 1) CHECK(pthread_barrier_wait(barrier) == PTHREAD_BARRIER_SERIAL_THREAD);
    else workers_run(count, work);
    for (int j = 0; j < 3; ++j) CHECK(pthread_barrier_destroy(&place[2 - j]) == 0);
    pthread_barrier_t* heap = malloc(64 + (size_t)(i % 64) * 16);
    CHECK(pthread_barrier_init(heap, NULL, (unsigned)(i % 64 + 1)) == 0);
    CHECK(pthread_barrier_destroy(heap) == 0);
    free(heap);
  }
}

int main(void) {
  rounds(200);
  const int before = descriptors();
  const long resident = pages();
  rounds(scaled(10000));
  CHECK(descriptors() == before);
  if (pages() > resident + 64) printf("grew by %ld pages\n", pages() - resident);
  puts("baseline: ok");
  return 0;
}
