/* long MEMBERS [multiple|alone]: collectives on long blocks in a team over all processes, each with MEMBERS
 * members in threads. The ends of such blocks are MPI messages of their own. multiple: any thread may call
 * MPI. alone: rank 0 makes a call that nobody else makes; after it the team and MPI still end. If all is
 * right, rank 0 prints "all right" and the exit status is 0. */
#include <fermata/mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "finish.h"
#include "last.h"

enum { kCount = 100000, kRounds = 4, kMost = 16 };

static fermata_team* team;
static int first, all, alone, failures;

static void expect(int right, const char* what, int rank) {
  if (right) return;
  pthread_mutex_lock(&guard);
  if (failures++ == 0) fprintf(stderr, "rank %d: %s: %s\n", rank, what, fermata_error_detail());
  pthread_mutex_unlock(&guard);
}

/* out[k] must be base + step * k, for k < count. */
static void expect_row(const double* out, int count, double base, double step, const char* what, int rank) {
  int wrong = 0;
  for (int k = 0; k < count; ++k) wrong += out[k] != base + step * k;
  expect(wrong == 0, what, rank);
}

static void round_of_calls(fermata_member* m, int rank, int round, double* in, double* out) {
  const int root = round % all;
  for (int k = 0; k < all * kCount; ++k) in[k] = rank * 3 + k % kCount + round;
  expect(fermata_allreduce(m, in, out, kCount, FERMATA_DOUBLE, FERMATA_SUM) == FERMATA_OK, "allreduce", rank);
  expect_row(out, kCount, all * round + 3 * all * (all - 1) / 2, all, "a wrong sum", rank);
  expect(fermata_reduce(m, in, out, kCount, FERMATA_DOUBLE, FERMATA_MAX, root) == FERMATA_OK, "reduce", rank);
  if (rank == root) expect_row(out, kCount, 3 * (all - 1) + round, 1, "a wrong maximum", rank);
  expect(fermata_gather(m, in, out, kCount, FERMATA_DOUBLE, root) == FERMATA_OK, "gather", rank);
  for (int r = 0; r < all && rank == root; ++r)
    expect_row(out + (size_t)r * kCount, kCount, r * 3 + round, 1, "a wrong block of a gather", rank);
  expect(fermata_alltoall(m, in, out, kCount, FERMATA_DOUBLE) == FERMATA_OK, "alltoall", rank);
  for (int r = 0; r < all; ++r)
    expect_row(out + (size_t)r * kCount, kCount, r * 3 + round, 1, "a wrong block of an alltoall", rank);
  expect(fermata_scan(m, in, out, kCount, FERMATA_DOUBLE, FERMATA_SUM) == FERMATA_OK, "scan", rank);
  expect_row(out, kCount, (rank + 1) * round + 3 * rank * (rank + 1) / 2, rank + 1, "a wrong scan", rank);
  expect(fermata_broadcast(m, in, kCount * sizeof *in, root) == FERMATA_OK, "broadcast", rank);
  expect_row(in, kCount, root * 3 + round, 1, "a wrong broadcast", rank);
}

static void* member(void* argument) {
  const int rank = first + (int)(size_t)argument;
  fermata_member* m = NULL;
  double* const in = malloc(sizeof *in * kCount * (size_t)all);
  double* const out = malloc(sizeof *out * kCount * (size_t)all);
  expect(fermata_team_join(team, rank, &m) == FERMATA_OK, "join", rank);
  for (int round = 0; round < kRounds && in != NULL && out != NULL; ++round)
    round_of_calls(m, rank, round, in, out);
  if (alone && rank == 0) {
    fermata_member_set_timeout(m, 0.2);
    const int status = fermata_broadcast(m, out, kCount * sizeof *out, 0);
    expect(status == FERMATA_ERR_TIMEOUT || status == FERMATA_ERR_MEMBER_LOST, "a call of one rank", rank);
  }
  leave(m, rank == first);
  free(in);
  free(out);
  return NULL;
}

int main(int argc, char** argv) {
  int level = MPI_THREAD_FUNNELED, me;
  if (argc < 2) return 2;
  if (argc > 2 && strcmp(argv[2], "multiple") == 0) level = MPI_THREAD_MULTIPLE;
  alone = argc > 2 && strcmp(argv[2], "alone") == 0;
  MPI_Init_thread(&argc, &argv, level, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  config.members = atoi(argv[1]);
  if (fermata_team_create_mpi(MPI_COMM_WORLD, &config, &team, &first) != FERMATA_OK) {
    fprintf(stderr, "%s\n", fermata_error_detail());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  all = fermata_team_size(team);
  running = config.members;
  pthread_t workers[kMost];
  for (int i = 1; i < config.members; ++i) pthread_create(&workers[i], NULL, member, (void*)(size_t)i);
  member((void*)0);
  for (int i = 1; i < config.members; ++i) pthread_join(workers[i], NULL);
  fermata_team_destroy(team);
  int wrong = 0;
  MPI_Allreduce(&failures, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (me == 0 && wrong == 0) printf("all right\n");
  return finish(wrong != 0);
}
