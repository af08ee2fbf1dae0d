/* placements BATCHES CASE...: barriers of the first ranks of the job in some order, by given plans and by the
 * MPI library. CASE: NAME:RANK,RANK,...:PLAN[:PLAN...], with files of `fermata plan --json`. Each plan and
 * MPI_Barrier in turn run batches of ten calls back to back. Rank 0 of each case prints "NAME PLAN
 * nanoseconds...", one number for each batch. Ranks outside a case sleep. */
#include <fermata/mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "finish.h"

enum { kBatch = 10, kMostPlans = 8, kMostBatches = 1000 };

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void rest(void) {
  MPI_Request all;
  const struct timespec nap = {0, 1000000};
  int over = 0;
  MPI_Ibarrier(MPI_COMM_WORLD, &all);
  for (MPI_Test(&all, &over, MPI_STATUS_IGNORE); !over; MPI_Test(&all, &over, MPI_STATUS_IGNORE))
    nanosleep(&nap, NULL);
}

static void die(const char* what) {
  fprintf(stderr, "%s: %s\n", what, fermata_error_detail());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

struct subject {
  const char* file; /* NULL: MPI_Barrier */
  fermata_team* team;
  fermata_member* member;
  double ns[kMostBatches];
};

static void run(const char* name, MPI_Comm comm, struct subject* subjects, int count, int batches) {
  int me, first;
  MPI_Comm_rank(comm, &me);
  for (int s = 0; s < count; ++s) {
    if (subjects[s].file == NULL) continue;
    fermata_plan* plan = NULL;
    if (fermata_plan_load(subjects[s].file, &plan) != FERMATA_OK) die(subjects[s].file);
    const fermata_plan* const plans[] = {plan};
    fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
    config.plans = plans;
    config.plan_count = 1;
    if (fermata_team_create_mpi(comm, &config, &subjects[s].team, &first) != FERMATA_OK)
      die(subjects[s].file);
    if (fermata_team_join(subjects[s].team, first, &subjects[s].member) != FERMATA_OK) die("join");
    fermata_member_set_timeout(subjects[s].member, 30);
    fermata_plan_destroy(plan);
  }
  for (int b = -1; b < batches; ++b) /* batch -1 warms up */
    for (int s = 0; s < count; ++s) {
      const double begin = now_ns();
      for (int i = 0; i < kBatch; ++i) {
        if (subjects[s].member == NULL) MPI_Barrier(comm);
        else if (fermata_barrier(subjects[s].member) != FERMATA_OK) die("barrier");
      }
      if (b >= 0) subjects[s].ns[b] = (now_ns() - begin) / kBatch;
    }
  for (int s = 0; s < count; ++s) {
    if (me == 0) {
      printf("%s %s", name, subjects[s].file == NULL ? "library" : subjects[s].file);
      for (int b = 0; b < batches; ++b) printf(" %.0f", subjects[s].ns[b]);
      printf("\n");
      fflush(stdout);
    }
    fermata_member_leave(subjects[s].member);
    fermata_team_destroy(subjects[s].team);
  }
}

int main(int argc, char** argv) {
  static struct subject subjects[kMostPlans + 1];
  int me;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  int batches = argc > 1 ? atoi(argv[1]) : 0;
  if (batches > kMostBatches) batches = kMostBatches;
  for (int c = 2; c < argc; ++c) {
    const char* const name = strtok(argv[c], ":");
    char* const ranks = strtok(NULL, ":");
    if (ranks == NULL) MPI_Abort(MPI_COMM_WORLD, 2);
    memset(subjects, 0, sizeof subjects);
    int count = 0, place = -1, k = 0;
    for (const char* file = strtok(NULL, ":"); file != NULL && count < kMostPlans; file = strtok(NULL, ":"))
      subjects[count++].file = file;
    ++count; /* MPI_Barrier */
    for (const char* rank = strtok(ranks, ","); rank != NULL; rank = strtok(NULL, ","), ++k)
      if (atoi(rank) == me) place = k;
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, place >= 0 ? 0 : MPI_UNDEFINED, place, &comm);
    if (place >= 0) {
      run(name, comm, subjects, count, batches);
      MPI_Comm_free(&comm);
    }
    rest();
  }
  return finish(0);
}
