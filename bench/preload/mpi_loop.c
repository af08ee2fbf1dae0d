/* Collectives in a loop, in the manner of the OSU benchmarks: mpi_loop SECONDS KIND:BYTES... For each rank 0 prints KIND:BYTES and the time
 * of a call in ns, the median over windows, two ways: the mean over all ranks of what each one's window took it; and what the window took
 * them all, from the first rank's begin to the last one's end. Where ranks share a CPU a rank may have its window in one turn, while
 * others wait to begin theirs: the second one counts that. BYTES: what one rank contributes. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int rank, size;
static char *in, *out;
static MPI_Request persistent = MPI_REQUEST_NULL; /* of a kind that is started again and again */

static void call(const char* kind, int bytes) {
  const int n = bytes / 8;
  MPI_Request request;
  if (strcmp(kind, "barrier") == 0)
    MPI_Barrier(MPI_COMM_WORLD);
  else if (strcmp(kind, "bcast") == 0)
    MPI_Bcast(in, n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  else if (strcmp(kind, "reduce") == 0)
    MPI_Reduce(in, out, n, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  else if (strcmp(kind, "allreduce") == 0)
    MPI_Allreduce(in, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  else if (strcmp(kind, "gather") == 0)
    MPI_Gather(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  else if (strcmp(kind, "scatter") == 0)
    MPI_Scatter(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  else if (strcmp(kind, "allgather") == 0)
    MPI_Allgather(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, MPI_COMM_WORLD);
  else if (strcmp(kind, "alltoall") == 0)
    MPI_Alltoall(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, MPI_COMM_WORLD);
  else if (strcmp(kind, "reduce_scatter") == 0)
    MPI_Reduce_scatter_block(in, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  else if (strcmp(kind, "scan") == 0)
    MPI_Scan(in, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  else if (strcmp(kind, "exscan") == 0)
    MPI_Exscan(in, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  else if (strcmp(kind, "ibarrier") == 0) {
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (strcmp(kind, "iallreduce") == 0) {
    MPI_Iallreduce(in, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (strcmp(kind, "ibcast") == 0) {
    MPI_Ibcast(in, n, MPI_DOUBLE, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (persistent != MPI_REQUEST_NULL) {
    MPI_Start(&persistent);
    MPI_Wait(&persistent, MPI_STATUS_IGNORE);
  } else {
    fprintf(stderr, "mpi_loop: no collective '%s'\n", kind);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
}

/* The same clock in all processes of a host, which MPI_Wtime need not be. */
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* Kinds that are made before they are timed; not with MPI libraries that have none. */
static void prepare(const char* kind, int bytes) {
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
  const int n = bytes / 8;
  if (strcmp(kind, "barrier_init") == 0) MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &persistent);
  if (strcmp(kind, "bcast_init") == 0) MPI_Bcast_init(in, n, MPI_DOUBLE, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &persistent);
  if (strcmp(kind, "allreduce_init") == 0)
    MPI_Allreduce_init(in, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &persistent);
#else
  (void)kind, (void)bytes;
#endif
}

struct Times {
  double own, whole;
};

static struct Times measure(const char* kind, int bytes, double seconds) {
  enum { kWindows = 11 };
  double own[kWindows], whole[kWindows];
  long calls = 1;
  for (int i = 0; i < 8; ++i) call(kind, bytes); /* the first ones choose, connect and allocate */
  for (;;) { /* how many calls fill a window, agreed by all */
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = now();
    for (long i = 0; i < calls; ++i) call(kind, bytes);
    double took = now() - begin;
    MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (took > seconds / kWindows / 4 || calls > 100000000) {
      calls = (long)((double)calls * seconds / kWindows / (took > 0 ? took : 1)) + 1;
      break;
    }
    calls *= 2;
  }
  for (int w = 0; w < kWindows; ++w) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = now();
    for (long i = 0; i < calls; ++i) call(kind, bytes);
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

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 3) {
    if (rank == 0) fprintf(stderr, "mpi_loop SECONDS KIND:BYTES...\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  for (int a = 2; a < argc; ++a) {
    char kind[32] = "";
    int bytes = 0;
    if (sscanf(argv[a], "%31[^:]:%d", kind, &bytes) != 2 || bytes < 8) {
      fprintf(stderr, "mpi_loop: KIND:BYTES, not '%s'\n", argv[a]);
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const size_t whole = (size_t)bytes * (size_t)size;
    in = malloc(whole);
    out = malloc(whole);
    memset(in, 0, whole);
    memset(out, 0, whole);
    prepare(kind, bytes);
    const struct Times ns = measure(kind, bytes, atof(argv[1]));
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
