/* The cost of creating and leaving sub-teams: all members split in halves again and again; each half reduces
 * a vector and leaves. subteams [threads|processes] [members] [splits] */
#define _POSIX_C_SOURCE 200809L
#include <fermata/fermata.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kMost = 64, kValues = 1000 };

static fermata_team* team;
static int members = 4, splits = 20;

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* The median, since the machine also runs other programs. */
static double middle(double* times, int count) {
  qsort(times, (size_t)count, sizeof *times, compare);
  return times[count / 2];
}

static int half_of_the_work(fermata_member* half, int colour) {
  double in[kValues], out[kValues];
  int status;
  for (int i = 0; i < kValues; ++i) in[i] = i + colour;
  status = fermata_allreduce(half, in, out, kValues, FERMATA_DOUBLE, FERMATA_MAX);
  for (int i = 0; status == FERMATA_OK && i < kValues; ++i)
    if (out[i] != in[i]) return 1;
  return status;
}

static int member_main(int rank) {
  fermata_member* member;
  double* made = malloc(sizeof(double) * (size_t)splits);
  double* first = malloc(sizeof(double) * (size_t)splits);
  double* left = malloc(sizeof(double) * (size_t)splits);
  const int colour = 2 * rank / members;
  int status = fermata_team_join(team, rank, &member);
  if (status != FERMATA_OK || made == NULL || first == NULL || left == NULL) return 1;
  for (int i = 0; i < splits && status == FERMATA_OK; ++i) {
    fermata_member* half = NULL;
    status = fermata_barrier(member);
    if (status != FERMATA_OK) break;
    made[i] = now_us();
    status = fermata_team_split(member, colour, rank, &half);
    if (status != FERMATA_OK) break;
    first[i] = now_us();
    status = half_of_the_work(half, colour);
    left[i] = now_us();
    fermata_member_leave(half);
    made[i] = first[i] - made[i];
    first[i] = left[i] - first[i];
    left[i] = now_us() - left[i];
  }
  if (status < 0)
    fprintf(stderr, "rank %d: %s: %s\n", rank, fermata_status_string(status), fermata_error_detail());
  if (status == FERMATA_OK && rank == 0)
    printf(
        "%d members, %d splits in halves: created and joined in %.0f us, first allreduce of %d doubles "
        "%.0f us, left in %.0f us\n",
        members, splits, middle(made, splits), kValues, middle(first, splits), middle(left, splits));
  fermata_member_leave(member);
  free(made);
  free(first);
  free(left);
  return status;
}

static void* thread_main(void* argument) {
  int* rank = argument;
  *rank = member_main(*rank);
  return NULL;
}

static int run_threads(void) {
  pthread_t threads[kMost];
  int ranks[kMost], failed = 0;
  for (int r = 0; r < members; ++r) {
    ranks[r] = r;
    pthread_create(&threads[r], NULL, thread_main, &ranks[r]);
  }
  for (int r = 0; r < members; ++r) {
    pthread_join(threads[r], NULL);
    failed |= ranks[r] != 0;
  }
  return failed;
}

static int run_processes(void) {
  pid_t children[kMost];
  int failed = 0;
  fflush(stdout);
  for (int r = 0; r < members; ++r) {
    children[r] = fork();
    if (children[r] == 0) {
      const int status = member_main(r);
      fflush(stdout);
      _exit(status != 0);
    }
  }
  for (int r = 0; r < members; ++r) {
    int status = 0;
    failed |= children[r] < 0 || waitpid(children[r], &status, 0) < 0 || status != 0;
  }
  return failed;
}

int main(int count, char** arguments) {
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  const int processes = count > 1 && strcmp(arguments[1], "processes") == 0;
  double start, created;
  int failed;
  if (count > 2) members = atoi(arguments[2]);
  if (count > 3) splits = atoi(arguments[3]);
  if (members < 2 || members > kMost || splits < 1 || splits > 100000) {
    fprintf(stderr, "subteams [threads|processes] [members, 2..64] [splits]\n");
    return 2;
  }
  config.members = members;
  config.engine = processes ? FERMATA_PROCESSES : FERMATA_THREADS;
  start = now_us();
  if (fermata_team_create(&config, &team) != FERMATA_OK) {
    fprintf(stderr, "create: %s\n", fermata_error_detail());
    return 1;
  }
  created = now_us() - start;
  printf("%s: the first team was created in %.0f us\n", processes ? "processes" : "threads", created);
  failed = processes ? run_processes() : run_threads();
  fermata_team_destroy(team);
  return failed;
}
