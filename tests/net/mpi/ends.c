/* ends kill|return|mismatch|cut: a team over hosts when a process is killed, when one leaves early, when
 * hosts have different plans, or when links are cut (while $FERMATA_TEST_CHANGE exists). */
#include <fermata/mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "finish.h"

static int check(int right, const char* what, int status) {
  if (!right) fprintf(stderr, "%s: %d, %s\n", what, status, fermata_error_detail());
  return right ? 0 : 1;
}

static void touch(const char* path, int rank) {
  char name[256];
  snprintf(name, sizeof name, rank < 0 ? "%s" : "%s.%d", path, rank);
  FILE* file = fopen(name, "w");
  if (file != NULL) fclose(file);
}

/* Nobody hangs: every rank gets an error within its timeout, and records it in a file, since messages no
 * longer pass. Never returns. */
static void cut(fermata_member* member, int me, int size) {
  const char* change = getenv("FERMATA_TEST_CHANGE");
  const struct timespec nap = {0, 20000000};
  int status = FERMATA_OK, all = 0;
  if (change == NULL) _exit(2);
  fermata_member_set_timeout(member, 1.5);
  for (int i = 0; i < 10000000 && status == FERMATA_OK; ++i) {
    if (me == 0 && i == 10) touch(change, -1); /* here no rank is in an MPI call, which would wait forever */
    status = fermata_barrier(member);
  }
  fprintf(stderr, "rank %d: %s: %s\n", me, fermata_status_string(status), fermata_error_detail());
  const int named = strstr(fermata_error_detail(), "rank ") != NULL;
  if (named && (status == FERMATA_ERR_TIMEOUT || status == FERMATA_ERR_MEMBER_LOST)) touch(change, me);
  for (int n = 0; n < 750 && all < size; ++n) {
    char name[256];
    snprintf(name, sizeof name, "%s.%d", change, all);
    if (access(name, F_OK) == 0) ++all;
    else nanosleep(&nap, NULL);
  }
  /* The launcher ends all ranks when it sees the first one end, so none ends before rank 0 has reported. */
  char said[256];
  snprintf(said, sizeof said, "%s.said", change);
  if (me == 0 && all == size) printf("all told\n");
  fflush(NULL);
  if (me == 0) touch(said, -1);
  for (int n = 0; n < 250 && access(said, F_OK) != 0; ++n) nanosleep(&nap, NULL);
  for (int n = 0; n < 25; ++n) nanosleep(&nap, NULL); /* time for the launcher to read it */
  _exit(3);
}

int main(int argc, char** argv) {
  int me, size, first = -1, status;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  fermata_team* team = NULL;
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  if (argc < 2) MPI_Abort(MPI_COMM_WORLD, 2);
  int wrong = 0;
  if (strcmp(argv[1], "mismatch") == 0) {
    /* The last host's barriers have tags, the others' have none: different programs. Without members: an
     * invalid argument. */
    config.tagged = me >= size / 2;
    status = fermata_team_create_mpi(MPI_COMM_WORLD, &config, &team, &first);
    wrong += check(status == FERMATA_ERR_MISMATCH && team == NULL, "hosts with other plans", status);
    config.members = me == 1 ? 0 : 1;
    status = fermata_team_create_mpi(MPI_COMM_WORLD, &config, &team, &first);
    wrong += check(status == FERMATA_ERR_ARGUMENT && team == NULL, "a process without members", status);
    return finish(wrong);
  }
  status = fermata_team_create_mpi(MPI_COMM_WORLD, &config, &team, &first);
  wrong += check(status == FERMATA_OK && first == me, "create", status);
  fermata_member* member = NULL;
  status = fermata_team_join(team, first, &member);
  wrong += check(status == FERMATA_OK, "join", status);
  fermata_member_set_timeout(member, 20);
  MPI_Comm others;
  MPI_Comm_split(MPI_COMM_WORLD, me == 1, me, &others);
  for (int i = 0; i < 100 && status == FERMATA_OK; ++i) status = fermata_barrier(member);
  wrong += check(status == FERMATA_OK, "barriers", status);
  if (strcmp(argv[1], "cut") == 0) cut(member, me, size);
  if (me == 1) {
    if (strcmp(argv[1], "kill") == 0) raise(SIGKILL);
  } else {
    /* A member that misses rank 1 breaks the team, also for members that are still in earlier barriers. */
    if (strcmp(argv[1], "return") == 0) MPI_Barrier(others);
    status = fermata_barrier(member);
    wrong += check(status == FERMATA_ERR_MEMBER_LOST, "a barrier without rank 1", status);
    wrong += check(strstr(fermata_error_detail(), "rank 1") != NULL, "rank 1 is named", status);
  }
  fermata_member_leave(member);
  fermata_team_destroy(team);
  return finish(wrong);
}
