/* One persistent operation reduces a long vector in parts: its own callback moves it along the vector, while
 * this thread computes. */
#include <fermata/fermata.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { kMembers = 2, kParts = 16, kPart = 4096 };

static fermata_team* team;

struct walk {
  double* data;
  int part;   /* number of parts that are done */
  int status; /* the first error */
};

static void next_part(fermata_request* request, int status, void* user) {
  struct walk* walk = user;
  if (status == FERMATA_OK && ++walk->part < kParts) {
    status = fermata_request_reset(request, FERMATA_IN_PLACE, walk->data + (size_t)walk->part * kPart);
    if (status == FERMATA_OK) status = fermata_request_start(request);
  }
  if (status != FERMATA_OK) walk->status = status;
}

static void* work(void* argument) {
  const int rank = *(int*)argument;
  fermata_member* member;
  fermata_request* request = NULL;
  fermata_operation sum = FERMATA_OPERATION_INIT;
  struct walk walk = {NULL, 0, FERMATA_OK};
  double computed = 0;
  long wrong = 0;
  if (fermata_team_join(team, rank, &member) != FERMATA_OK) return "join";
  walk.data = malloc(sizeof(double) * kParts * kPart);
  if (walk.data == NULL) return "malloc";
  for (int i = 0; i < kParts * kPart; ++i) walk.data[i] = rank + i;

  sum.collective = FERMATA_ALLREDUCE;
  sum.in = FERMATA_IN_PLACE;
  sum.out = walk.data;
  sum.count = kPart;
  sum.type = FERMATA_DOUBLE;
  sum.op = FERMATA_SUM;
  if (fermata_prepare(member, &sum, &request) != FERMATA_OK) return "prepare";
  fermata_request_set_callback(request, next_part, &walk);
  if (fermata_request_start(request) != FERMATA_OK) return "start";
  while (fermata_progress(member, 5) == FERMATA_PENDING) /* alternates progress and computing */
    for (int i = 1; i < 1000; ++i) computed += 1.0 / i;

  for (int i = 0; i < kParts * kPart; ++i) wrong += walk.data[i] != 1 + 2.0 * i;
  if (rank == 0)
    printf("%d parts reduced, %ld elements wrong; computed %.1f meanwhile\n", walk.part, wrong, computed);
  fermata_request_free(request);
  fermata_member_leave(member);
  free(walk.data);
  return walk.status != FERMATA_OK || walk.part != kParts || wrong != 0 ? "wrong" : NULL;
}

int main(void) {
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  pthread_t threads[kMembers];
  int ranks[kMembers], failed = 0;
  config.members = kMembers;
  if (fermata_team_create(&config, &team) != FERMATA_OK) {
    fprintf(stderr, "create: %s\n", fermata_error_detail());
    return 1;
  }
  for (int i = 0; i < kMembers; ++i) {
    ranks[i] = i;
    pthread_create(&threads[i], NULL, work, &ranks[i]);
  }
  for (int i = 0; i < kMembers; ++i) {
    void* what = NULL;
    pthread_join(threads[i], &what);
    if (what != NULL) {
      fprintf(stderr, "rank %d: %s\n", i, (const char*)what);
      failed = 1;
    }
  }
  fermata_team_destroy(team);
  return failed;
}
