// exercise threads|processes spin|yield|park SPINS EPISODES: every member of a team calls all that an emitted
// header offers, and checks what it gets. C99 and later, C++11 and later.
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "made.h"

#define COUNT (MADE_BYTES / 8)
#define LAST (MADE_MEMBERS - 1)
#define EXPECT(what)                                     \
  do {                                                   \
    if (!(what)) return failed(__LINE__, rank, episode); \
  } while (0)

struct shared {
  struct made team;
  long entered[MADE_MEMBERS][16], written[MADE_MEMBERS][16];  // plain: the collectives order them
};

static int failed(int line, unsigned rank, long episode) {
  fprintf(stderr, "exercise.c:%d: rank %u, episode %ld\n", line, rank, episode);
  return 1;
}

static void xor_bytes(void* left, const void* right, size_t bytes) {
  unsigned char a[MADE_BYTES], b[MADE_BYTES];
  size_t i;
  memcpy(a, left, bytes);
  memcpy(b, right, bytes);
  for (i = 0; i < bytes; ++i) a[i] ^= b[i];
  memcpy(left, a, bytes);
}

static int integers(struct made_member* me, unsigned rank, long episode) {
  int32_t small = 0x7fffffff, least = -(int32_t)rank;
  int64_t product = (int64_t)rank + 1, factorial = 1, largest = episode - (int64_t)rank;
  uint32_t mask = 0xfffffff0u + rank;
  uint64_t top = UINT64_MAX - rank;
  unsigned m;
  for (m = 1; m <= MADE_MEMBERS; ++m) factorial *= m;
  EXPECT(made_allreduce_sum_int32(me, &small, 1) == 0);
  EXPECT((uint32_t)small == 0x7fffffffu * MADE_MEMBERS);
  EXPECT(made_allreduce_min_int32(me, &least, 1) == 0 && least == -LAST);
  EXPECT(made_allreduce_prod_int64(me, &product, 1) == 0 && product == factorial);
  EXPECT(made_allreduce_max_int64(me, &largest, 1) == 0 && largest == episode);
  EXPECT(made_allreduce_min_uint32(me, &mask, 1) == 0 && mask == 0xfffffff0u);
  EXPECT(made_allreduce_max_uint64(me, &top, 1) == 0 && top == UINT64_MAX);
  return 0;
}

static int numbers(struct made_member* me, unsigned rank, long episode) {
  double sums[COUNT], one = (double)(rank + 1);
  float powers[2 * COUNT];
  int i;
  for (i = 0; i < COUNT; ++i) sums[i] = (double)(rank + 1) * (double)(episode + i);
  EXPECT(made_allreduce_sum_double(me, sums, COUNT) == 0);
  for (i = 0; i < COUNT; ++i)
    EXPECT(sums[i] == (double)(MADE_MEMBERS * (MADE_MEMBERS + 1) / 2) * (double)(episode + i));
  EXPECT(made_allreduce_max_double(me, &one, 1) == 0 && one == MADE_MEMBERS);
  for (i = 0; i < 2 * COUNT; ++i) powers[i] = i % 2 == 0 ? 2 : 1;
  EXPECT(made_allreduce_prod_float(me, powers, 2 * COUNT - 1) == 0);  // the last word is half full
  for (i = 0; i < 2 * COUNT - 1; ++i) EXPECT(powers[i] == (float)(i % 2 == 0 ? 1 << MADE_MEMBERS : 1));
  EXPECT(powers[2 * COUNT - 1] == 1);
  return 0;
}

// All members must get the same bits, whichever operand comes first. A team of one folds nothing.
static int special_numbers(struct made_member* me, unsigned rank, long episode) {
  const double nan = NAN, zero = 0, minus = -zero;
  double value = LAST == 0 ? nan : rank == LAST ? -nan : 1;
  EXPECT(made_allreduce_sum_double(me, &value, 1) == 0 && memcmp(&value, &nan, sizeof nan) == 0);
  value = rank == 0 ? nan : 1;
  EXPECT(made_allreduce_min_double(me, &value, 1) == 0 && memcmp(&value, &nan, sizeof nan) == 0);
  value = rank == LAST ? nan : 1;
  EXPECT(made_allreduce_max_double(me, &value, 1) == 0 && memcmp(&value, &nan, sizeof nan) == 0);
  value = rank == LAST ? minus : zero;
  EXPECT(made_allreduce_min_double(me, &value, 1) == 0 && memcmp(&value, &minus, sizeof zero) == 0);
  value = rank == 0 ? zero : minus;
  EXPECT(made_allreduce_max_double(me, &value, 1) == 0 && memcmp(&value, &zero, sizeof zero) == 0);
  return 0;
}

static int own_function(struct made_member* me, unsigned rank, long episode) {
  unsigned char bits[3], expected[3] = {0, 0, 0};
  unsigned m;
  for (m = 0; m < MADE_MEMBERS; ++m) {
    bits[0] = (unsigned char)(1u << m);
    bits[1] = (unsigned char)(episode + m);
    bits[2] = (unsigned char)m;
    xor_bytes(expected, bits, sizeof bits);
  }
  bits[0] = (unsigned char)(1u << rank);
  bits[1] = (unsigned char)(episode + rank);
  bits[2] = (unsigned char)rank;
  EXPECT(made_allreduce(me, bits, sizeof bits, xor_bytes) == 0 && memcmp(bits, expected, sizeof bits) == 0);
  return 0;
}

static int refusals(struct made_member* me, unsigned rank, long episode) {
  double many[COUNT + 1] = {0};
  EXPECT(made_allreduce_sum_double(me, many, COUNT + 1) == -1);
  EXPECT(made_allreduce_sum_double(me, many, SIZE_MAX / 4) == -1);
  EXPECT(made_allreduce(me, many, MADE_BYTES + 1, xor_bytes) == -1);
  return 0;
}

static int work(struct shared* shared, unsigned rank, long episodes) {
  struct made_member me;
  long episode = 0;
  unsigned m;
  EXPECT(made_join(&me, &shared->team, MADE_MEMBERS) == -1);
  EXPECT(made_join(&me, &shared->team, rank) == 0);
  for (episode = 1; episode <= episodes; ++episode) {
    double one = 1;
    if ((episode * 7 + rank) % 5 == 0) sched_yield();  // now one is late, now another
    shared->entered[rank][0] = episode;
    made_barrier(&me);
    for (m = 0; m < MADE_MEMBERS; ++m) EXPECT(shared->entered[m][0] == episode);
    shared->written[rank][0] = episode;
    EXPECT(made_allreduce_sum_double(&me, &one, 1) == 0 && one == MADE_MEMBERS);
    for (m = 0; m < MADE_MEMBERS; ++m) EXPECT(shared->written[m][0] == episode);
    if (integers(&me, rank, episode) || numbers(&me, rank, episode) || special_numbers(&me, rank, episode) ||
        own_function(&me, rank, episode) || refusals(&me, rank, episode))
      return 1;
    made_barrier(&me);
    made_barrier(&me);
  }
  return 0;
}

struct part {
  struct shared* shared;
  unsigned rank;
  long episodes;
  int status;
};

static void* run(void* argument) {
  struct part* part = (struct part*)argument;
  part->status = work(part->shared, part->rank, part->episodes);
  return NULL;
}

static int threads(struct shared* shared, long episodes) {
  struct part parts[MADE_MEMBERS];
  pthread_t started[MADE_MEMBERS];
  int wrong = 0;
  unsigned r;
  for (r = 0; r < MADE_MEMBERS; ++r) {
    parts[r].shared = shared;
    parts[r].rank = r;
    parts[r].episodes = episodes;
    if (pthread_create(&started[r], NULL, run, &parts[r]) != 0) return 1;
  }
  for (r = 0; r < MADE_MEMBERS; ++r) {
    pthread_join(started[r], NULL);
    wrong |= parts[r].status;
  }
  return wrong;
}

static struct shared* map(int file) {
  void* const at = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return at == MAP_FAILED ? NULL : (struct shared*)at;
}

// Each child has the team at an address that differs from its parent's.
static int processes(int file, struct shared* shared, long episodes) {
  int wrong = 0, status;
  unsigned r;
  for (r = 0; r < MADE_MEMBERS; ++r)
    if (fork() == 0) {
      struct shared* const own = map(file);
      _exit(own == NULL || own == shared || work(own, r, episodes) != 0);
    }
  while (wait(&status) > 0) wrong |= status;
  return wrong;
}

int main(int argc, char** argv) {
  FILE* const file = tmpfile();
  const enum made_wait waits[3] = {MADE_SPIN, MADE_YIELD, MADE_PARK};
  struct shared* shared;
  enum made_wait how;
  if (argc != 5 || file == NULL || ftruncate(fileno(file), sizeof *shared) != 0) return 2;
  shared = map(fileno(file));
  how = waits[argv[2][0] == 's' ? 0 : argv[2][0] == 'y' ? 1 : 2];
  if (shared == NULL || made_init(&shared->team, how, (unsigned)atoi(argv[3])) != 0) return 2;
  return argv[1][0] == 't' ? threads(shared, atol(argv[4])) : processes(fileno(file), shared, atol(argv[4]));
}
