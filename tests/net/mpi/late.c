/* late MILLISECONDS: the test of heterogeneous-mpi-barriers section VI. Each rank in turn is late by so much,
 * and every other rank must leave a barrier, and an allreduce, after the late rank has come. All processes
 * are on one machine and share its clock. */
#include <fermata/mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "finish.h"

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char** argv) {
  int me, size, first, wrong = 0;
  if (argc < 2) return 2;
  const long late_ns = atol(argv[1]) * 1000000L;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  fermata_team* team = NULL;
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  fermata_member* member = NULL;
  if (fermata_team_create_mpi(MPI_COMM_WORLD, &config, &team, &first) != FERMATA_OK ||
      fermata_team_join(team, first, &member) != FERMATA_OK) {
    fprintf(stderr, "%s\n", fermata_error_detail());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  fermata_member_set_timeout(member, 30);
  for (int turn = 0; turn < 2 * size; ++turn) {
    const int late = turn / 2;
    const struct timespec nap = {0, late_ns};
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == late) nanosleep(&nap, NULL);
    double entered = now(), one = 1, all = 0;
    const int status = turn % 2 == 0 ? fermata_barrier(member)
                                     : fermata_allreduce(member, &one, &all, 1, FERMATA_DOUBLE, FERMATA_SUM);
    const double left = now();
    MPI_Bcast(&entered, 1, MPI_DOUBLE, late, MPI_COMM_WORLD);
    if (status == FERMATA_OK && left >= entered) continue;
    fprintf(stderr, "rank %d, rank %d late: left %.3f ms before it came, %s\n", me, late,
            1e3 * (entered - left), fermata_error_detail());
    wrong = 1;
  }
  fermata_member_leave(member);
  fermata_team_destroy(team);
  int any = 0;
  MPI_Allreduce(&wrong, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (me == 0 && any == 0) printf("all right: each of %d ranks was seen by all\n", size);
  return finish(any);
}
