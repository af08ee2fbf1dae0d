/* times CALLS: the time of a barrier and of an allreduce of 8 bytes over all processes, by Fermata and by the
 * MPI library. As their bounds: the one-way time from the first rank to the last (half of MPI's ping-pong),
 * and a message exchange of the hosts' first ranks, all at once. Runs back-to-back batches of ten calls in
 * turn. Prints us per call as rank 0 sees them: median, p10, p90, minimum. */
#include <fermata/mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "finish.h"

enum { kBatch = 10, kMost = 2000, kKinds = 6, kMostHosts = 64 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + 1e-3 * (double)t.tv_nsec;
}

static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static fermata_member* member;

/* Half of a ping-pong. */
static int ping_pong(void) {
  static int turn = 0;
  int me, size, byte = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int forth = turn++ % 2 == 0, from = forth ? 0 : size - 1, to = forth ? size - 1 : 0;
  if (me == from) return MPI_Send(&byte, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
  return me == to ? MPI_Recv(&byte, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE) : 0;
}

static MPI_Comm leaders = MPI_COMM_NULL;

static void find_leaders(void) {
  MPI_Comm host;
  int me, here;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, me, MPI_INFO_NULL, &host);
  MPI_Comm_rank(host, &here);
  MPI_Comm_split(MPI_COMM_WORLD, here == 0 ? 0 : MPI_UNDEFINED, me, &leaders);
  MPI_Comm_free(&host);
}

static int exchange(void) {
  MPI_Request requests[2 * kMostHosts];
  static double in[kMostHosts], out;
  int me, size, n = 0;
  if (leaders == MPI_COMM_NULL) return 0;
  MPI_Comm_rank(leaders, &me);
  MPI_Comm_size(leaders, &size);
  for (int k = 1; k < size && k < kMostHosts; ++k)
    MPI_Irecv(&in[k], 1, MPI_DOUBLE, (me + k) % size, 0, leaders, &requests[n++]);
  for (int k = 1; k < size && k < kMostHosts; ++k)
    MPI_Isend(&out, 1, MPI_DOUBLE, (me + k) % size, 0, leaders, &requests[n++]);
  MPI_Status statuses[2 * kMostHosts]; /* gcc warns about MPICH's MPI_STATUSES_IGNORE */
  return MPI_Waitall(n, requests, statuses);
}

static int call(int kind) {
  double in = 1, out = 0;
  switch (kind) {
    case 0: return fermata_barrier(member);
    case 1: return MPI_Barrier(MPI_COMM_WORLD);
    case 2: return fermata_allreduce(member, &in, &out, 1, FERMATA_DOUBLE, FERMATA_SUM);
    case 4: return ping_pong();
    case 5: return exchange();
    default: return MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
}

int main(int argc, char** argv) {
  static const char* const kNames[kKinds] = {"fermata barrier", "MPI_Barrier", "fermata allreduce",
                                             "MPI_Allreduce",   "one way",     "hosts, by hand"};
  static double times[kKinds][kMost];
  int me, first, wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  find_leaders();
  fermata_team* team = NULL;
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  const int made = fermata_team_create_mpi(MPI_COMM_WORLD, &config, &team, &first);
  if (made != FERMATA_OK || fermata_team_join(team, first, &member) != FERMATA_OK) {
    fprintf(stderr, "%s\n", fermata_error_detail());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  fermata_member_set_timeout(member, 30);
  int batches = (argc > 1 ? atoi(argv[1]) : 500) / kBatch;
  if (batches > kMost) batches = kMost;
  for (int b = -1; b < batches && wrong == 0; ++b) /* batch -1 warms up */
    for (int kind = 0; kind < kKinds; ++kind) {
      const double begin = now();
      for (int i = 0; i < kBatch; ++i) wrong |= call(kind) != 0;
      if (b >= 0) times[kind][b] = (now() - begin) / kBatch;
    }
  for (int kind = 0; kind < kKinds && me == 0; ++kind) {
    qsort(times[kind], (size_t)batches, sizeof times[kind][0], by_size);
    printf("%-18s %9.1f %9.1f %9.1f %9.1f us\n", kNames[kind], times[kind][batches / 2],
           times[kind][batches / 10], times[kind][batches * 9 / 10], times[kind][0]);
  }
  fermata_member_leave(member);
  fermata_team_destroy(team);
  if (leaders != MPI_COMM_NULL) MPI_Comm_free(&leaders);
  return finish(wrong);
}
