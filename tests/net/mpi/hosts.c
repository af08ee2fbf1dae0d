/* hosts MEMBERS EPISODES [uneven] [multiple] [as-mpich5]: a team over all processes, each with MEMBERS
 * members in threads (uneven: every other process has one more). Each episode checks that nobody leaves a
 * barrier before all have entered it, and that results are right, with every root. multiple: uses
 * MPI_THREAD_MULTIPLE, so any thread may drive MPI. as-mpich5: MPI must say that it is MPICH 5. If all is
 * right, rank 0 prints "all right" and the exit status is 0. */
#include <fermata/mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "finish.h"
#include "last.h"

enum { kMost = 4096 };

static fermata_team* team;
static int first, all, episodes;
/* For each episode: when the last member of this process came, and when the first one left. All processes are
 * on one machine and share its clock. */
static double came[kMost], left[kMost];
static int failures;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(const char* what, int rank, int e) {
  pthread_mutex_lock(&guard);
  if (failures++ == 0)
    fprintf(stderr, "rank %d, episode %d: %s: %s\n", rank, e, what, fermata_error_detail());
  pthread_mutex_unlock(&guard);
}

static void barrier(fermata_member* m, int rank, int e) {
  unsigned seed = (unsigned)(rank * 7919 + e);
  struct timespec late = {0, rand_r(&seed) % 4 == 0 ? rand_r(&seed) % 300000 : 0};
  if (late.tv_nsec > 0) nanosleep(&late, NULL);
  const double in = now();
  const int status = e % 3 == 0 ? fermata_arrive(m) : fermata_barrier(m);
  if (status != FERMATA_OK || (e % 3 == 0 && fermata_depart(m) != FERMATA_OK)) fail("barrier", rank, e);
  const double out = now();
  pthread_mutex_lock(&guard);
  if (in > came[e]) came[e] = in;
  if (out < left[e]) left[e] = out;
  pthread_mutex_unlock(&guard);
}

static void values(fermata_member* m, int rank, int e) {
  double mine[7], out[7];
  const int count = e % 2 == 0 ? 1 : 7, root = e % all;
  for (int i = 0; i < count; ++i) mine[i] = rank + i + e;
  if (fermata_allreduce(m, mine, out, (size_t)count, FERMATA_DOUBLE, FERMATA_SUM) != FERMATA_OK)
    fail("allreduce", rank, e);
  for (int i = 0; i < count; ++i)
    if (out[i] != all * (i + e) + all * (all - 1) / 2) fail("wrong sum", rank, e);
  memset(out, 0, sizeof out);
  if (fermata_reduce(m, mine, out, (size_t)count, FERMATA_DOUBLE, FERMATA_MAX, root) != FERMATA_OK)
    fail("reduce", rank, e);
  for (int i = 0; i < count && rank == root; ++i)
    if (out[i] != all - 1 + i + e) fail("wrong maximum", rank, e);
  memcpy(out, mine, sizeof out);
  if (fermata_broadcast(m, out, (size_t)count * 8, root) != FERMATA_OK) fail("broadcast", rank, e);
  for (int i = 0; i < count; ++i)
    if (out[i] != root + i + e) fail("wrong broadcast", rank, e);
}

enum { kLongest = 40000 };

/* Blocks on a line, in one piece, and longer than a ring buffer. */
static void blocks(fermata_member* m, int rank, int e) {
  const int counts[] = {8, 100, 3000, e % 8 == 0 ? kLongest : 2048}, count = counts[e % 4], root = e % all;
  double* in = malloc((size_t)all * kLongest * sizeof *in);
  double* out = malloc((size_t)all * kLongest * sizeof *out);
  for (int i = 0; i < count; ++i) in[i] = rank + i + e;
  if (fermata_allreduce(m, in, out, (size_t)count, FERMATA_DOUBLE, FERMATA_SUM) != FERMATA_OK)
    fail("allreduce of blocks", rank, e);
  for (int i = 0; i < count; ++i)
    if (out[i] != (double)all * (i + e) + all * (all - 1) / 2) return fail("wrong sum of blocks", rank, e);
  memcpy(out, in, (size_t)count * sizeof *in);
  if (fermata_broadcast(m, out, (size_t)count * sizeof *out, root) != FERMATA_OK)
    fail("broadcast of blocks", rank, e);
  for (int i = 0; i < count; ++i)
    if (out[i] != root + i + e) return fail("wrong broadcast of blocks", rank, e);
  if (fermata_allgather(m, in, out, (size_t)count, FERMATA_DOUBLE) != FERMATA_OK) fail("allgather", rank, e);
  for (int i = 0; i < count * all; ++i)
    if (out[i] != i / count + i % count + e) return fail("wrong allgather", rank, e);
  free(in);
  free(out);
}

/* Two teams over the hosts, of the ranks of each parity, work at the same time. */
static void split(fermata_member* m, int rank) {
  fermata_member* part = NULL;
  const int odd = rank % 2, size = (all + 1 - odd) / 2;
  if (fermata_team_split(m, odd, -rank, &part) != FERMATA_OK) return fail("split", rank, 0);
  if (fermata_member_rank(part) != size - 1 - rank / 2) fail("rank in a split team", rank, 0);
  for (int e = 0; e < 20; ++e) {
    double mine[200], out[200];
    const int count = e % 2 == 0 ? 1 : 200;
    for (int i = 0; i < count; ++i) mine[i] = rank + e * i;
    const int status = fermata_allreduce(part, mine, out, (size_t)count, FERMATA_DOUBLE, FERMATA_SUM);
    if (status != FERMATA_OK) return fail("allreduce of a split team", rank, e);
    for (int i = 0; i < count; ++i)
      if (out[i] != size * (e * i + odd) + size * (size - 1))
        return fail("wrong sum of a split team", rank, e);
  }
  if (fermata_barrier(part) != FERMATA_OK || fermata_barrier(m) != FERMATA_OK)
    fail("barrier after a split", rank, 0);
  fermata_member_leave(part);
}

static void* member(void* which) {
  const int rank = first + (int)(size_t)which;
  fermata_member* m = NULL;
  if (fermata_team_join(team, rank, &m) != FERMATA_OK) {
    fail("join", rank, 0);
    exit(3);
  }
  fermata_member_set_timeout(m, 30);
  if (all > 1) split(m, rank);
  for (int e = 0; e < episodes && failures == 0; ++e) {
    barrier(m, rank, e);
    values(m, rank, e);
    if (e % 5 == 0) blocks(m, rank, e / 5);
  }
  if (failures != 0) fermata_team_abort(team);
  leave(m, rank == first);
  return NULL;
}

/* Whether that MPI library, or what stands for it (as_mpich5.c), gets this program's calls of PMPI_
 * functions. */
static int is_loaded(const char* version) {
  static char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  return PMPI_Get_library_version(text, &length) == MPI_SUCCESS && strstr(text, version) == text;
}

int main(int argc, char** argv) {
  int uneven = 0, as_mpich5 = 0, level = MPI_THREAD_FUNNELED, me, size;
  for (int i = 3; i < argc; ++i) {
    if (strcmp(argv[i], "uneven") == 0) uneven = 1;
    if (strcmp(argv[i], "multiple") == 0) level = MPI_THREAD_MULTIPLE;
    if (strcmp(argv[i], "as-mpich5") == 0) as_mpich5 = 1;
  }
  if (argc < 3) return 2;
  if (as_mpich5 && !is_loaded("MPICH Version: 5")) return 5;
  MPI_Init_thread(&argc, &argv, level, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int here = atoi(argv[1]) + (uneven ? me % 2 : 0);
  episodes = atoi(argv[2]);
  if (episodes > kMost) episodes = kMost;
  for (int e = 0; e < episodes; ++e) left[e] = 1e300;
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  config.members = here;
  const int status = fermata_team_create_mpi(MPI_COMM_WORLD, &config, &team, &first);
  if (status != FERMATA_OK) {
    fprintf(stderr, "%s: %s\n", fermata_status_string(status), fermata_error_detail());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  all = fermata_team_size(team);
  running = here;
  pthread_t workers[64];
  for (int i = 1; i < here; ++i) pthread_create(&workers[i], NULL, member, (void*)(size_t)i);
  member((void*)0);
  for (int i = 1; i < here; ++i) pthread_join(workers[i], NULL);
  fermata_team_destroy(team);
  static double last[kMost], early[kMost];
  MPI_Reduce(came, last, episodes, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(left, early, episodes, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
  for (int e = 0; e < episodes && me == 0; ++e)
    if (early[e] < last[e]) fail("somebody left before all were in", 0, e);
  int wrong = 0;
  MPI_Allreduce(&failures, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (me == 0 && wrong == 0) printf("all right: %d members\n", all);
  return finish(wrong != 0);
}
