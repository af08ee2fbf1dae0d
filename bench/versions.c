/* Times barriers and allreduces of two builds of libfermata in one process, with batches of both in
 * alternation.
 *
 *   versions OLD.so NEW.so threads|processes MEMBERS PAIRS SECONDS
 *
 * MEMBERS threads, each on a CPU of its own, are members of a team of each build. A pair is a batch of each
 * build, in alternating order. Prints a line for each pair: collective, ns per episode of the old build, and
 * of the new build. Exits with 1 if a sum was wrong. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fermata/fermata.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kMostMembers = 64, kWarmUp = 2000 };
enum { kBarrier, kInteger, kDouble, kLine, kCollectives };
static const char* const kNames[kCollectives] = {"barrier", "int64 sum", "double sum", "7 doubles"};

typedef struct {
  int (*create)(const fermata_team_config*, fermata_team**);
  int (*join)(fermata_team*, int, fermata_member**);
  int (*barrier)(fermata_member*);
  int (*allreduce)(fermata_member*, const void*, void*, size_t, int, int);
  fermata_team* team;
} build_t;

static build_t builds[2];
static int members, pairs;
static double seconds;
static pthread_barrier_t gate; /* between batches; its time is not counted */
static long episodes[kCollectives];
static double results[kCollectives][2];
static atomic_int wrong;

static void* symbol(void* library, const char* name) {
  void* found = dlsym(library, name);
  if (found == NULL) {
    fprintf(stderr, "versions: %s\n", dlerror());
    exit(2);
  }
  return found;
}

static void load(build_t* build, const char* path, int engine) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "versions: %s\n", dlerror());
    exit(2);
  }
  build->create = (int (*)(const fermata_team_config*, fermata_team**))symbol(library, "fermata_team_create");
  build->join = (int (*)(fermata_team*, int, fermata_member**))symbol(library, "fermata_team_join");
  build->barrier = (int (*)(fermata_member*))symbol(library, "fermata_barrier");
  build->allreduce =
      (int (*)(fermata_member*, const void*, void*, size_t, int, int))symbol(library, "fermata_allreduce");
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  config.members = members;
  config.engine = engine;
  const int status = build->create(&config, &build->team);
  if (status != FERMATA_OK) {
    fprintf(stderr, "versions: %s: no team: status %d\n", path, status);
    exit(2);
  }
}

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static int sums(const build_t* build, fermata_member* member, int count) {
  double ones[7] = {1, 1, 1, 1, 1, 1, 1}, totals[7];
  return build->allreduce(member, ones, totals, (size_t)count, FERMATA_DOUBLE, FERMATA_SUM) == FERMATA_OK &&
         totals[0] == members && totals[count - 1] == members;
}

static int sums_integer(const build_t* build, fermata_member* member) {
  int64_t one = 1, sum = 0;
  return build->allreduce(member, &one, &sum, 1, FERMATA_INT64, FERMATA_SUM) == FERMATA_OK && sum == members;
}

static void batch(const build_t* build, fermata_member* member, int collective, long count) {
  int good = 1;
  switch (collective) {
    case kBarrier:
      for (long i = 0; i < count; ++i) good &= build->barrier(member) == FERMATA_OK;
      break;
    case kInteger:
      for (long i = 0; i < count; ++i) good &= sums_integer(build, member);
      break;
    case kDouble:
      for (long i = 0; i < count; ++i) good &= sums(build, member, 1);
      break;
    default:
      for (long i = 0; i < count; ++i) good &= sums(build, member, 7);
  }
  if (!good) atomic_store(&wrong, 1);
}

static double timed(const build_t* build, fermata_member* member, int collective, long count) {
  pthread_barrier_wait(&gate);
  batch(build, member, collective, kWarmUp);
  const double begin = now_ns();
  batch(build, member, collective, count);
  return (now_ns() - begin) / (double)count;
}

static void* work(void* argument) {
  const int rank = (int)(long)argument;
  cpu_set_t here;
  CPU_ZERO(&here);
  CPU_SET(rank, &here);
  pthread_setaffinity_np(pthread_self(), sizeof here, &here);
  fermata_member* member[2];
  for (int b = 0; b < 2; ++b)
    if (builds[b].join(builds[b].team, rank, &member[b]) != FERMATA_OK) exit(2);
  for (int c = 0; c < kCollectives; ++c) {
    const double each = timed(&builds[0], member[0], c, 10 * kWarmUp);
    if (rank == 0) episodes[c] = (long)(seconds * 1e9 / each) + 1;
  }
  for (int p = 0; p < pairs; ++p) {
    for (int c = 0; c < kCollectives; ++c) {
      for (int turn = 0; turn < 2; ++turn) {
        const int b = (p + turn) % 2;
        pthread_barrier_wait(&gate);
        const double each = timed(&builds[b], member[b], c, episodes[c]);
        if (rank == 0) results[c][b] = each;
      }
      if (rank == 0) printf("%s,%.3f,%.3f\n", kNames[c], results[c][0], results[c][1]);
    }
  }
  return NULL;
}

int main(int count, char** values) {
  if (count != 7 || (members = atoi(values[4])) < 1 || members > kMostMembers ||
      (pairs = atoi(values[5])) < 1) {
    fprintf(stderr, "usage: versions OLD.so NEW.so threads|processes MEMBERS PAIRS SECONDS\n");
    return 2;
  }
  seconds = atof(values[6]);
  const int engine = strcmp(values[3], "processes") == 0 ? FERMATA_PROCESSES : FERMATA_THREADS;
  for (int b = 0; b < 2; ++b) load(&builds[b], values[1 + b], engine);
  pthread_barrier_init(&gate, NULL, (unsigned)members);
  pthread_t threads[kMostMembers];
  for (long rank = 0; rank < members; ++rank) pthread_create(&threads[rank], NULL, work, (void*)rank);
  for (int rank = 0; rank < members; ++rank) pthread_join(threads[rank], NULL);
  return atomic_load(&wrong);
}
