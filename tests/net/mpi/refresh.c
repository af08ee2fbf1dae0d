/* refresh SECONDS [EXTRA_US]: a team over all processes whose profile is refreshed every SECONDS; each
 * episode checks its values. With EXTRA_US, a link is slower by so much while the file $FERMATA_TEST_CHANGE
 * exists: the plans must avoid the link, and use it again afterwards. All ranks count the same refreshes and
 * changes. Prints the time of a barrier in us: the median of batches, and the minimum. */
#include <fermata/hosts.h>
#include <fermata/mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "finish.h"

enum { kBatch = 10, kBatches = 15, kText = 20000 };

static fermata_team* team;
static fermata_member* member;
static int me, size, episodes, wrong;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + 1e-3 * (double)t.tv_nsec;
}

static int check(int right, const char* what) {
  if (!right && wrong++ == 0)
    fprintf(stderr, "rank %d, episode %d: %s: %s\n", me, episodes, what, fermata_error_detail());
  return right;
}

static uint64_t refreshes(void) {
  uint64_t n = 0;
  fermata_team_refreshes(team, &n, NULL, NULL, NULL);
  return n;
}

static uint64_t changes(void) {
  uint64_t n = 0;
  fermata_team_refreshes(team, NULL, &n, NULL, NULL);
  return n;
}

/* Returns whether to continue. */
static int episode(int enough) {
  double value[3] = {me, me + episodes, enough}, sum[3];
  int root = episodes % size, said = me == root ? episodes : -1;
  if (!check(fermata_barrier(member) == FERMATA_OK, "barrier")) return 0;
  if (!check(fermata_allreduce(member, value, sum, 3, FERMATA_DOUBLE, FERMATA_SUM) == FERMATA_OK,
             "allreduce"))
    return 0;
  check(sum[0] == size * (size - 1) / 2 && sum[1] == sum[0] + (double)size * episodes, "wrong sum");
  if (!check(fermata_broadcast(member, &said, sizeof said, root) == FERMATA_OK, "broadcast")) return 0;
  check(said == episodes, "wrong broadcast");
  if (episodes % 50 == 0) {
    static double in[500], out[500];
    for (int i = 0; i < 500; ++i) in[i] = me + i;
    if (!check(fermata_allreduce(member, in, out, 500, FERMATA_DOUBLE, FERMATA_SUM) == FERMATA_OK, "blocks"))
      return 0;
    for (int i = 0; i < 500; ++i) check(out[i] == size * i + sum[0], "wrong sum of blocks");
  }
  ++episodes;
  return sum[2] == 0;
}

/* Runs until rank 0 has seen `many`, or for `seconds`. */
static void run(uint64_t (*seen)(void), uint64_t many, double seconds) {
  const double end = now() + seconds * 1e6;
  while (episode(me == 0 && (seen() >= many || now() > end)));
}

static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double barriers(const char* when) {
  double times[kBatches];
  for (int b = 0; b < kBatches; ++b) {
    const double begin = now();
    for (int i = 0; i < kBatch; ++i) check(fermata_barrier(member) == FERMATA_OK, "barrier");
    times[b] = (now() - begin) / kBatch;
  }
  qsort(times, kBatches, sizeof times[0], by_size);
  if (me == 0) printf("%-36s %8.0f %8.0f us\n", when, times[kBatches / 2], times[0]);
  return times[0];
}

static void change_link(const char* file, double extra) {
  barriers("before");
  if (me == 0) fclose(fopen(file, "w"));
  barriers("a link is slow");
  const uint64_t had = changes();
  run(changes, had > 0 ? had : 1, 25);
  /* A busy machine hides the gain in some tries. */
  double round_it = extra;
  for (int tries = 0; tries < 10 && round_it >= extra; ++tries) {
    round_it = barriers("and the plans go round it");
    MPI_Bcast(&round_it, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  }
  const uint64_t slow = changes();
  check(slow > 0, "no change of plans");
  check(round_it < extra, "a barrier takes as long as the link");
  if (me == 0) remove(file);
  run(changes, slow + 1, 25);
  barriers("the link is fast again");
  check(changes() > slow, "no change back");
}

int main(int argc, char** argv) {
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  const char* file = getenv("FERMATA_TEST_CHANGE");
  int first;
  if (argc < 2) return 2;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  config.refresh_seconds = atof(argv[1]);
  const int made = fermata_team_create_mpi(MPI_COMM_WORLD, &config, &team, &first);
  if (made != FERMATA_OK || fermata_team_join(team, first, &member) != FERMATA_OK) {
    fprintf(stderr, "%s: %s\n", fermata_status_string(made), fermata_error_detail());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  fermata_member_set_timeout(member, 30);
  size = fermata_member_count(member);
  run(refreshes, 4, 10);
  if (argc > 2 && file != NULL) change_link(file, atof(argv[2]));
  if (argc <= 2) check(refreshes() >= 4, "no refreshes");
  unsigned long long mine[2] = {refreshes(), changes()}, all[2];
  MPI_Allreduce(mine, all, 2, MPI_UNSIGNED_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
  check(mine[0] == all[0] && mine[1] == all[1], "other counts than another rank's");
  static char text[kText];
  size_t length = sizeof text;
  fermata_team_refreshes(team, NULL, NULL, text, &length);
  if (me == 0) printf("%d episodes, %s", episodes, text);
  fermata_member_leave(member);
  fermata_team_destroy(team);
  return finish(wrong != 0);
}
