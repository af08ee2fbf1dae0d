/* A C99 program against the installed package: two threads sum their ranks. */
#define _POSIX_C_SOURCE 200809L
#include <fermata/fermata.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static fermata_team* team;

static void* work(void* argument) {
  const int rank = (int)(size_t)argument;
  fermata_member* member = NULL;
  double mine = rank + 1, sum = 0;
  int status = fermata_team_join(team, rank, &member);
  if (!status) status = fermata_barrier(member);
  if (!status) status = fermata_allreduce(member, &mine, &sum, 1, FERMATA_DOUBLE, FERMATA_SUM);
  if (status)
    fprintf(stderr, "rank %d: %s: %s\n", rank, fermata_status_string(status), fermata_error_detail());
  if (!status) status = fermata_barrier(member);
  fermata_member_leave(member);
  return !status && sum == 3.0 ? NULL : argument;
}

int main(void) {
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  pthread_t threads[2];
  int failed = 0;
  config.members = 2;
  if (strcmp(fermata_version(), "0.2.0") != 0) return 1;
  if (fermata_team_create(&config, &team)) {
    fprintf(stderr, "create: %s\n", fermata_error_detail());
    return 1;
  }
  for (size_t rank = 0; rank < 2; ++rank) {
    if (pthread_create(&threads[rank], NULL, work, (void*)rank)) return 1;
  }
  for (int rank = 0; rank < 2; ++rank) {
    void* result = NULL;
    pthread_join(threads[rank], &result);
    failed |= result != NULL;
  }
  fermata_team_destroy(team);
  puts(failed ? "failed" : "1 + 2 = 3");
  return failed;
}
