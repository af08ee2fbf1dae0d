/* Collectives in a loop, similar to the OSU benchmarks: mpi_loop SECONDS KIND:BYTES...
 * For each argument rank 0 prints KIND:BYTES and two times of a call in ns, medians over windows:
 * - the mean over all ranks of each rank's own window;
 * - the window of all ranks, from the begin of the first to the end of the last. If ranks share a CPU, a rank
 *   may finish its window in one time slice while others have not begun: only the second time counts that.
 * BYTES: the contribution of one rank. KIND: bcast, ibcast (nonblocking, then a wait), bcast_init
 * (persistent: start and wait) and so on. KINDs of setup: init (MPI_Init, once), comm_new (communicators that
 * stay, with two orders of ranks alternately), comm_again (each freed at once); each has a barrier; the
 * median over all. With MPI_LOOP_PIN each rank stays on one CPU: rank r on the r-th one, in turn.
 * With MPI_LOOP_TOGETHER=S the ranks begin each window at one time, S seconds after rank 0 has broadcast it.
 * They need one clock. Else a rank begins when it leaves a barrier. Over hosts that may be so late that all
 * its data are there: then its time, and the mean, depend on the barrier. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int rank, size;
static char *in, *out;
static int n;                               /* elements in a block */
static int same[1024], displacements[1024]; /* n for each rank */
static int counts[1024]; /* for the v kinds and reduce_scatter: the last block has one element more */
static MPI_Request persistent = MPI_REQUEST_NULL; /* of a persistent kind */

#define WORLD MPI_COMM_WORLD
#define TYPE MPI_DOUBLE
#define KINDS(X)                                                                                \
  X(barrier, Barrier, WORLD)                                                                    \
  X(bcast, Bcast, in, n, TYPE, 0, WORLD)                                                        \
  X(reduce, Reduce, in, out, n, TYPE, MPI_SUM, 0, WORLD)                                        \
  X(allreduce, Allreduce, in, out, n, TYPE, MPI_SUM, WORLD)                                     \
  X(gather, Gather, in, n, TYPE, out, n, TYPE, 0, WORLD)                                        \
  X(scatter, Scatter, in, n, TYPE, out, n, TYPE, 0, WORLD)                                      \
  X(allgather, Allgather, in, n, TYPE, out, n, TYPE, WORLD)                                     \
  X(alltoall, Alltoall, in, n, TYPE, out, n, TYPE, WORLD)                                       \
  X(reduce_scatter_block, Reduce_scatter_block, in, out, n, TYPE, MPI_SUM, WORLD)               \
  X(scan, Scan, in, out, n, TYPE, MPI_SUM, WORLD)                                               \
  X(exscan, Exscan, in, out, n, TYPE, MPI_SUM, WORLD)                                           \
  X(gatherv, Gatherv, in, counts[rank], TYPE, out, counts, displacements, TYPE, 0, WORLD)       \
  X(scatterv, Scatterv, in, counts, displacements, TYPE, out, counts[rank], TYPE, 0, WORLD)     \
  X(allgatherv, Allgatherv, in, counts[rank], TYPE, out, counts, displacements, TYPE, WORLD)    \
  X(alltoallv, Alltoallv, in, same, displacements, TYPE, out, same, displacements, TYPE, WORLD) \
  X(reduce_scatter, Reduce_scatter, in, out, counts, TYPE, MPI_SUM, WORLD)

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define PREPARE(name, Name, ...) \
  static void prepare_##name(void) { MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, &persistent); }
#else
#define PREPARE(name, Name, ...) \
  static void prepare_##name(void) {}
#endif
#define CALLS(name, Name, ...)                               \
  static void call_##name(void) { MPI_##Name(__VA_ARGS__); } \
  static void begin_##name(void) {                           \
    MPI_Request request;                                     \
    MPI_I##name(__VA_ARGS__, &request);                      \
    MPI_Wait(&request, MPI_STATUS_IGNORE);                   \
  }                                                          \
  PREPARE(name, Name, __VA_ARGS__)
KINDS(CALLS)

static void start_again(void) {
  MPI_Start(&persistent);
  MPI_Wait(&persistent, MPI_STATUS_IGNORE);
}

static const struct {
  const char* name;
  void (*call)(void);
  void (*begin)(void);
  void (*prepare)(void);
} kinds[] = {
#define ROW(name, Name, ...) {#name, call_##name, begin_##name, prepare_##name},
    KINDS(ROW)};

/* The function that the loop calls; makes persistent requests. Null: there is none. */
static void (*find(const char* kind))(void) {
  for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; ++k) {
    const size_t length = strlen(kinds[k].name);
    if (strcmp(kind, kinds[k].name) == 0) return kinds[k].call;
    if (kind[0] == 'i' && strcmp(kind + 1, kinds[k].name) == 0) return kinds[k].begin;
    if (strncmp(kind, kinds[k].name, length) != 0 || strcmp(kind + length, "_init") != 0) continue;
    kinds[k].prepare();
    return persistent != MPI_REQUEST_NULL ? start_again : NULL;
  }
  return NULL;
}

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* All processes of a host share this clock; MPI_Wtime need not have this property. */
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double together; /* MPI_LOOP_TOGETHER; 0: not set */

/* Returns when this rank begins its window. */
static double begin_window(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (together == 0) return now();
  double at = now() + together;
  MPI_Bcast(&at, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  const struct timespec until = {(time_t)at, (long)((at - (double)(time_t)at) * 1e9)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0) {
  }
  return now();
}

struct Times {
  double own, whole;
};

static struct Times measure(void (*call)(void), double seconds) {
  enum { kWindows = 11 };
  double own[kWindows], whole[kWindows];
  long calls = 1;
  int tries = 0;
  double least = 0;
  for (int i = 0; i < 8; ++i) call(); /* first calls choose algorithms, connect and allocate */
  for (;;) {                          /* all ranks agree on the number of calls in a window */
    const double begin = begin_window();
    for (long i = 0; i < calls; ++i) call();
    double took = now() - begin;
    MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (tries == 0 || took < least) least = took;
    if (least <= seconds / kWindows / 4 && calls <= 100000000) {
      calls *= 2;
      tries = 0;
    } else if (++tries == 3) { /* another program's time slice can disturb one try; a window of few calls is
                                  mostly its ends */
      calls = (long)((double)calls * seconds / kWindows / (least > 0 ? least : 1)) + 1;
      break;
    }
  }
  for (int w = 0; w < kWindows; ++w) {
    const double begin = begin_window();
    for (long i = 0; i < calls; ++i) call();
    const double end = now(), took = end - begin, ends[2] = {-begin, end};
    double sum = 0, last[2] = {0, 0};
    MPI_Allreduce(&took, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(ends, last, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    own[w] = sum / size / (double)calls * 1e9;
    whole[w] = (last[0] + last[1]) / (double)calls * 1e9;
  }
  qsort(own, kWindows, sizeof own[0], by_value);
  qsort(whole, kWindows, sizeof whole[0], by_value);
  return (struct Times){own[kWindows / 2], whole[kWindows / 2]};
}

/* Before MPI_Init, so that the library's threads and its view of the machine are those of a pinned rank. */
static void pin(void) {
  const char* given = getenv("OMPI_COMM_WORLD_RANK");
  if (given == NULL) given = getenv("PMI_RANK");
  if (given == NULL || getenv("MPI_LOOP_PIN") == NULL) return;
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(atol(given) % sysconf(_SC_NPROCESSORS_ONLN), &cpus);
  sched_setaffinity(0, sizeof cpus, &cpus);
}

static double init_took;

/* The mean over the ranks of the median over communicators. */
static int measure_set_up(const char* kind, struct Times* ns) {
  enum { kMade = 100 };
  MPI_Comm made[kMade];
  double took[kMade], sum = 0;
  const int again = strcmp(kind, "comm_again") == 0;
  if (strcmp(kind, "init") == 0) {
    took[kMade / 2] = init_took;
  } else if (again || strcmp(kind, "comm_new") == 0) {
    for (int i = 0; i < kMade; ++i) {
      MPI_Barrier(MPI_COMM_WORLD);
      const double begin = now();
      MPI_Comm_split(MPI_COMM_WORLD, 0, again || i % 2 == 0 ? rank : -rank, &made[i]);
      MPI_Barrier(made[i]);
      if (again) MPI_Comm_free(&made[i]);
      took[i] = now() - begin;
    }
    for (int i = 0; !again && i < kMade; ++i) MPI_Comm_free(&made[i]);
    qsort(took, kMade, sizeof took[0], by_value);
  } else {
    return 0;
  }
  MPI_Allreduce(&took[kMade / 2], &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  ns->own = ns->whole = sum / size * 1e9;
  return 1;
}

int main(int argc, char** argv) {
  pin();
  if (getenv("MPI_LOOP_TOGETHER") != NULL) together = atof(getenv("MPI_LOOP_TOGETHER"));
  const double begin = now();
  MPI_Init(&argc, &argv);
  init_took = now() - begin;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 3 || size > 1024) {
    if (rank == 0) fprintf(stderr, "mpi_loop SECONDS KIND:BYTES..., at most 1024 ranks\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  for (int a = 2; a < argc; ++a) {
    char kind[32] = "";
    int bytes = 0;
    if (sscanf(argv[a], "%31[^:]:%d", kind, &bytes) != 2 || bytes < 8) {
      fprintf(stderr, "mpi_loop: KIND:BYTES, not '%s'\n", argv[a]);
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const size_t whole = ((size_t)bytes + 8) * (size_t)size;
    in = malloc(whole);
    out = malloc(whole);
    memset(in, 0, whole);
    memset(out, 0, whole);
    n = bytes / 8;
    for (int r = 0; r < size; ++r) {
      counts[r] = n + (r == size - 1);
      displacements[r] = r * n;
      same[r] = n;
    }
    struct Times ns;
    const int set_up = measure_set_up(kind, &ns);
    void (*const call)(void) = set_up ? NULL : find(kind);
    if (call == NULL && !set_up) {
      fprintf(stderr, "mpi_loop: no collective '%s'\n", kind);
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (!set_up) ns = measure(call, atof(argv[1]));
    if (persistent != MPI_REQUEST_NULL) MPI_Request_free(&persistent);
    if (rank == 0) {
      printf("%s %.1f %.1f\n", argv[a], ns.own, ns.whole);
      fflush(stdout);
    }
    free(in);
    free(out);
  }
  MPI_Finalize();
  return 0;
}
