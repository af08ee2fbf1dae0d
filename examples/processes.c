/* A team of processes: created before fork, joined after it. It leaves nothing behind, however a process
 * ends. */
#define _POSIX_C_SOURCE 200809L
#include <fermata/fermata.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kMembers = 3 };

static int check(int status) {
  if (status < 0) fprintf(stderr, "%s: %s\n", fermata_status_string(status), fermata_error_detail());
  return status;
}

static int member_process(fermata_team* team, int rank) {
  fermata_member* member;
  int64_t mine = 1 << rank, all = 0;
  int32_t word = rank == 1 ? 42 : 0;
  int status = check(fermata_team_join(team, rank, &member));
  if (!status) status = check(fermata_allreduce(member, &mine, &all, 1, FERMATA_INT64, FERMATA_OR));
  if (!status) status = check(fermata_broadcast(member, &word, sizeof word, 1));
  if (!status) status = check(fermata_barrier(member));
  if (!status && rank == 0) printf("ranks seen: %#llx, rank 1 says %d\n", (unsigned long long)all, (int)word);
  if (!status) fermata_member_leave(member);
  return status || all != 7 || word != 42;
}

int main(void) {
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  fermata_team* team;
  pid_t children[kMembers];
  int failed;
  config.members = kMembers;
  config.engine = FERMATA_PROCESSES; /* its segment is a memfd, which children inherit */
  if (check(fermata_team_create(&config, &team))) return 1;
  for (int rank = 1; rank < kMembers; ++rank) {
    children[rank] = fork();
    if (children[rank] < 0) return 1;
    if (children[rank] == 0) _exit(member_process(team, rank));
  }
  failed = member_process(team, 0);
  for (int rank = 1; rank < kMembers; ++rank) {
    int status = 0;
    failed |= waitpid(children[rank], &status, 0) < 0 || status != 0;
  }
  fermata_team_destroy(team);
  return failed;
}
