/* A barrier with a tag, as UPC has it: all members find out if they are at different places of the program.
 * */
#include <fermata/fermata.h>
#include <pthread.h>
#include <stdio.h>

enum { kMembers = 3 };
static fermata_team* team;
static int wrong[kMembers];

static void* work(void* argument) {
  const int rank = *(int*)argument;
  fermata_member* member;
  int status = fermata_team_join(team, rank, &member);
  if (status < 0) {
    wrong[rank] = 1;
    return NULL;
  }
  /* Rank 2 is at another place. */
  status = fermata_barrier_tagged(member, rank == 2 ? 200 : 100);
  if (rank == 0) printf("100, 100 and 200: %s (%s)\n", fermata_status_string(status), fermata_error_detail());
  wrong[rank] |= status != FERMATA_ERR_MISMATCH;
  /* The team still works; a barrier without a tag matches any. */
  status = rank == 2 ? fermata_barrier(member) : fermata_barrier_tagged(member, 300);
  if (rank == 0) printf("300, 300 and none: %s\n", fermata_status_string(status));
  wrong[rank] |= status != FERMATA_OK;
  fermata_member_leave(member);
  return NULL;
}

int main(void) {
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  pthread_t threads[kMembers];
  int ranks[kMembers], failed = 0;
  config.members = kMembers;
  config.tagged = 1; /* the team's barrier carries tags */
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
  }
  fermata_team_destroy(team);
  return failed;
}
