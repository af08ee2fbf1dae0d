/* times FLAT_CACHE CALLS FROM TO: times broadcasts of FROM to TO bytes, and allreduces, over all processes.
 * Ways: composed plans, flat plans (FLAT_CACHE, made by plans.cpp), MPI's collectives, and each level of the
 * composed plans alone: among the first ranks of the hosts, and within each host. Prints a row for each size:
 * for each way the microseconds per call of each batch. A batch has calls with each rank as root in turn,
 * then a barrier. */
#include <fermata/mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../tests/net/mpi/finish.h"

enum { kTeams = 4, kBatches = 15, kMostBytes = 8 << 20 };
enum { kComposed, kFlat, kLeaders, kWithin, kLibrary, kWays };

struct way {
  fermata_team* team;
  fermata_member* member;
  int size;
};
static struct way ways[kTeams];
static char *in, *out;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + 1e-3 * (double)t.tv_nsec;
}

static void make(struct way* w, MPI_Comm comm, const char* cache) {
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  int first = 0;
  if (comm == MPI_COMM_NULL) return;
  setenv("XDG_CACHE_HOME", cache, 1);
  int status = fermata_team_create_mpi(comm, &config, &w->team, &first);
  if (status == FERMATA_OK) status = fermata_team_join(w->team, first, &w->member);
  if (status != FERMATA_OK) {
    fprintf(stderr, "%s: %s\n", fermata_status_string(status), fermata_error_detail());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  fermata_member_set_timeout(w->member, 60);
  w->size = fermata_team_size(w->team);
}

/* The next root is on another host, if each host has two ranks. */
static int root_of(int call, int size) { return call * 3 % size; }

static int one(int which, int allreduce, size_t bytes, int call) {
  const size_t count = bytes / 8;
  if (which == kLibrary) {
    if (allreduce) return MPI_Allreduce(in, out, (int)count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return MPI_Bcast(in, (int)bytes, MPI_BYTE, root_of(call, ways[kComposed].size), MPI_COMM_WORLD);
  }
  const struct way* w = &ways[which];
  if (allreduce) return fermata_allreduce(w->member, in, out, count, FERMATA_DOUBLE, FERMATA_SUM);
  return fermata_broadcast(w->member, in, bytes, root_of(call, w->size));
}

/* The time of one batch, of its slowest rank. */
static double batch(int which, int allreduce, size_t bytes, int calls, int* wrong) {
  double took = 0, worst = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (which == kLibrary || ways[which].member != NULL) {
    const double begin = now();
    for (int i = 0; i < calls; ++i) *wrong |= one(which, allreduce, bytes, i) != 0;
    *wrong |= which == kLibrary ? MPI_Barrier(MPI_COMM_WORLD) != 0 : fermata_barrier(ways[which].member) != 0;
    took = (now() - begin) / calls;
  }
  MPI_Allreduce(&took, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return worst;
}

static void row(int allreduce, size_t bytes, int calls, int me) {
  static double times[kWays][kBatches];
  const int batches = bytes <= 65536 ? kBatches : bytes <= 1048576 ? 7 : 3;
  int wrong = 0;
  for (int b = -1; b < batches; ++b) /* the first warms up */
    for (int which = 0; which < kWays; ++which) {
      const double t = batch(which, allreduce, bytes, calls, &wrong);
      if (b >= 0) times[which][b] = t;
    }
  if (wrong) MPI_Abort(MPI_COMM_WORLD, 1);
  if (me != 0) return;
  printf("%s %zu", allreduce ? "allreduce" : "broadcast", bytes);
  for (int which = 0; which < kWays; ++which)
    for (int b = 0; b < batches; ++b) printf("%c%.1f", b == 0 ? ' ' : ',', times[which][b]);
  printf("\n");
  fflush(stdout);
}

int main(int argc, char** argv) {
  int me;
  if (argc < 5) return 2;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  in = calloc(1, kMostBytes);
  out = calloc(1, kMostBytes);
  MPI_Comm here, leaders;
  int local;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, me, MPI_INFO_NULL, &here);
  MPI_Comm_rank(here, &local);
  MPI_Comm_split(MPI_COMM_WORLD, local == 0 ? 0 : MPI_UNDEFINED, me, &leaders);
  char none[4096];
  snprintf(none, sizeof none, "%s/none", argv[1]);
  make(&ways[kComposed], MPI_COMM_WORLD, none);
  make(&ways[kFlat], MPI_COMM_WORLD, argv[1]);
  make(&ways[kLeaders], leaders, none);
  make(&ways[kWithin], here, none);
  const int calls = atoi(argv[2]);
  const size_t from = (size_t)atol(argv[3]), to = (size_t)atol(argv[4]);
  static const size_t kOnLines[] = {8, 56};
  row(0, 1024, calls, -1); /* opens the connections, which then learn their rates */
  for (int allreduce = 0; allreduce < 2; ++allreduce)
    for (int i = 0; i < 2; ++i)
      if (kOnLines[i] >= from) row(allreduce, kOnLines[i], calls, me);
  for (size_t bytes = 1024; bytes <= to; bytes *= 2)
    if (bytes >= from) row(0, bytes, bytes <= 16384 ? calls : ways[kComposed].size, me);
  for (int t = 0; t < kTeams; ++t) {
    fermata_member_leave(ways[t].member);
    fermata_team_destroy(ways[t].team);
  }
  return finish(0);
}
