/* Barriers between processes that map them at different addresses. Many episodes run one after the other.
 * Then the serial process destroys the barrier at once, while others still leave it, overwrites it, and
 * initializes it again. All of this ends in time even with more processes than CPUs. */
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "workers.h"

enum { kSize = 4096, kMost = 16, kRounds = 40, kEpisodes = 200, kGarbage = 0xEE };

struct table {
  pthread_barrier_t rounds; /* separates the lives of the other barrier */
  pthread_barrier_t barrier;
  _Atomic long serials;
  long entered[kMost]; /* plain: written before a wait, read after it */
};

static void fill(pthread_barrier_t* barrier, unsigned count) {
  pthread_barrierattr_t attributes;
  CHECK(pthread_barrierattr_init(&attributes) == 0);
  CHECK(pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) == 0);
  CHECK(pthread_barrier_init(barrier, &attributes, count) == 0);
  CHECK(pthread_barrierattr_destroy(&attributes) == 0);
}

static void give_up(pthread_barrier_t* barrier) {
  CHECK(pthread_barrier_destroy(barrier) == 0);
  memset(barrier, kGarbage, sizeof *barrier);
}

static int is_untouched(const pthread_barrier_t* barrier) {
  for (size_t i = 0; i < sizeof *barrier; ++i) {
    if (((const unsigned char*)barrier)[i] != kGarbage) return 0;
  }
  return 1;
}

static void member(struct table* table, int rank, int count) {
  const int episodes = count > 4 ? kEpisodes / 10 : kEpisodes;
  long episode = 0;
  for (int round = 0; round < scaled(kRounds); ++round) {
    int last = 0;
    for (int i = 0; i < episodes; ++i) {
      table->entered[rank] = ++episode;
      const int status = pthread_barrier_wait(&table->barrier);
      CHECK(status == 0 || status == PTHREAD_BARRIER_SERIAL_THREAD);
      last = status != 0;
      if (last) ++table->serials;
      for (int other = 0; other < count; ++other) CHECK(table->entered[other] >= episode);
      if (i + 1 < episodes) continue;
      if (last) give_up(&table->barrier);
    }
    pthread_barrier_wait(&table->rounds);
    CHECK(is_untouched(&table->barrier));
    CHECK(table->serials == (long)(round + 1) * episodes);
    pthread_barrier_wait(&table->rounds);
    if (last) fill(&table->barrier, (unsigned)count);
    pthread_barrier_wait(&table->rounds);
  }
}

static void* map(int descriptor) {
  void* memory = mmap(NULL, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  CHECK(memory != MAP_FAILED);
  return memory;
}

static void meet(int count) {
  FILE* file = tmpfile();
  CHECK(file != NULL && ftruncate(fileno(file), kSize) == 0);
  struct table* table = map(fileno(file));
  fill(&table->rounds, (unsigned)count);
  fill(&table->barrier, (unsigned)count);
  pid_t children[kMost];
  for (int rank = 0; rank < count; ++rank) {
    children[rank] = fork();
    CHECK(children[rank] >= 0);
    if (children[rank] != 0) continue;
    struct table* mine = table;
    for (int i = 0; i <= rank; ++i)
      mine = map(fileno(file)); /* earlier mappings stay: each child gets an address of its own */
    CHECK(munmap(table, kSize) == 0);
    member(mine, rank, count);
    _exit(0);
  }
  for (int rank = 0; rank < count; ++rank) {
    int status;
    CHECK(waitpid(children[rank], &status, 0) == children[rank] && status == 0);
  }
  give_up(&table->barrier);
  give_up(&table->rounds);
  CHECK(munmap(table, kSize) == 0);
  fclose(file);
}

/* Threads of one process may use such a barrier as well, in memory that no other process has. */
static pthread_barrier_t among_threads;
static void* thread(void* argument) {
  long serials = 0;
  for (int i = 0; i < scaled(3000); ++i) serials += pthread_barrier_wait(&among_threads) != 0;
  *(long*)argument = serials;
  return NULL;
}

static void meet_in_one(void) {
  pthread_t threads[3];
  long serials[3], sum = 0;
  fill(&among_threads, 3);
  for (int i = 0; i < 3; ++i) CHECK(pthread_create(&threads[i], NULL, thread, &serials[i]) == 0);
  for (int i = 0; i < 3; ++i) {
    CHECK(pthread_join(threads[i], NULL) == 0);
    sum += serials[i];
  }
  CHECK(sum == scaled(3000));
  CHECK(pthread_barrier_destroy(&among_threads) == 0);
  CHECK(pthread_barrier_init(&among_threads, NULL, 1) == 0); /* a private barrier from here on */
  CHECK(pthread_barrier_wait(&among_threads) == PTHREAD_BARRIER_SERIAL_THREAD);
  CHECK(pthread_barrier_destroy(&among_threads) == 0);
}

int main(void) {
  static const int counts[] = {1, 2, 3, 4, kMost};
  for (int i = 0; i < 5; ++i) meet(counts[i]);
  meet_in_one();
  puts("processes: ok");
  return 0;
}
