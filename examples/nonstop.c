/* A barrier in two phases. Between arrive and depart a member does work that needs no other member. A late
 * member costs the others nothing as long as they have such work. */
#include <fermata/fermata.h>
#include <pthread.h>
#include <stdio.h>

enum { kMembers = 2, kSteps = 200, kCells = 64 };
static fermata_team* team;
static double border[2][kMembers]; /* for this step and the next one */
static long done_early[kMembers];
static int wrong[kMembers];

/* One piece of inner work, which needs no border. */
static double inner(double x) {
  for (int i = 0; i < kCells; ++i) x = 0.5 * x + 1.0;
  return x;
}

static void* work(void* argument) {
  const int rank = *(int*)argument;
  fermata_member* member;
  double x = rank;
  if (fermata_team_join(team, rank, &member) < 0) {
    wrong[rank] = 1;
    return NULL;
  }
  for (int step = 0; step < kSteps; ++step) {
    border[step % 2][rank] = step + rank;
    wrong[rank] |= fermata_arrive(member) < 0; /* my border of this step is written */
    for (int piece = 0; piece < 4; ++piece) x = inner(x);
    done_early[rank] += fermata_test(member) == FERMATA_OK; /* would depart wait? */
    wrong[rank] |= fermata_depart(member) < 0;              /* all borders are written */
    wrong[rank] |= border[step % 2][1 - rank] != step + 1 - rank;
  }
  fermata_member_leave(member);
  return x > 0 ? NULL : argument;
}

int main(void) {
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  pthread_t threads[kMembers];
  int ranks[kMembers], failed = 0;
  config.members = kMembers;
  if (fermata_team_create(&config, &team) < 0) {
    fprintf(stderr, "create: %s\n", fermata_error_detail());
    return 1;
  }
  for (int rank = 0; rank < kMembers; ++rank) {
    ranks[rank] = rank;
    if (pthread_create(&threads[rank], NULL, work, &ranks[rank])) return 1;
  }
  for (int rank = 0; rank < kMembers; ++rank) {
    pthread_join(threads[rank], NULL);
    failed |= wrong[rank];
    printf("rank %d: in %ld of %d steps all had arrived before its work was done\n", rank, done_early[rank],
           kSteps);
  }
  fermata_team_destroy(team);
  return failed;
}
