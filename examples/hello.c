/* Four threads sum their ranks; every thread gets bitwise the same sum. */
#include <fermata/fermata.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { kMembers = 4 };
static fermata_team* team;

static void check(int status) {
  if (status >= 0) return;
  fprintf(stderr, "%s: %s\n", fermata_status_string(status), fermata_error_detail());
  exit(1);
}

static void* work(void* argument) { /* one of kMembers threads */
  const int rank = *(int*)argument;
  fermata_member* member;
  double mine = rank, sum = 0;
  check(fermata_team_join(team, rank, &member));
  check(fermata_allreduce(member, &mine, &sum, 1, FERMATA_DOUBLE, FERMATA_SUM));
  check(fermata_barrier(member));
  if (rank == 0) printf("0 + 1 + 2 + 3 = %g\n", sum);
  fermata_member_leave(member);
  return sum == 6 ? NULL : argument;
}

int main(void) {
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  pthread_t threads[kMembers];
  int ranks[kMembers], failed = 0;
  config.members = kMembers;
  check(fermata_team_create(&config, &team));
  for (int rank = 0; rank < kMembers; ++rank) {
    ranks[rank] = rank;
    if (pthread_create(&threads[rank], NULL, work, &ranks[rank])) return 1;
  }
  for (int rank = 0; rank < kMembers; ++rank) {
    void* wrong;
    pthread_join(threads[rank], &wrong);
    failed |= wrong != NULL;
  }
  fermata_team_destroy(team);
  return failed;
}
