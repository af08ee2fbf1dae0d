/* soak episodes ENGINE MEMBERS COUNT: runs COUNT episodes. No member may leave an episode before all have
 * come, and memory may not grow.
 *
 * soak kills SEED COUNT: makes COUNT teams of processes and kills, delays or stops one member of each at a
 * random moment. The others must get an error within the set time, none may hang, and no segment or
 * descriptor may stay.
 *
 * Prints counts; ends with 1 and a reason at the first flaw. */
#define _GNU_SOURCE
#include <fermata/fermata.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FAIL(...) (fprintf(stderr, "soak: " __VA_ARGS__), fputc('\n', stderr), exit(1))
#define MOST 16
#define CHECKED 8 /* in every so many episodes it is checked which members have come */

struct seat {
  _Alignas(128) atomic_ullong at;
  int status;
  double error_at;
};
static struct seat* seats; /* shared with forked members */
static unsigned members;
static unsigned long long count;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static long resident_kib(void) {
  long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%*d %ld", &pages) != 1) FAIL("/proc/self/statm cannot be read");
  fclose(file);
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* ---- Episodes */

static fermata_anonymous* anonymous;
static fermata_anonymous_shared* shared;
static fermata_ranked* ranked;
static fermata_team* team;
static enum { kAnonymous, kShared, kRanked, kRankedSum, kThreads, kProcesses, kProcessesSum } engine;
static const char* const kEngines[] = {"anonymous", "shared",    "ranked",       "ranked-sum",
                                       "threads",   "processes", "processes-sum"};

static void add(void* into, const void* other, void* context) {
  (void)context;
  *(int64_t*)into += *(const int64_t*)other;
}

static void meet(unsigned rank, fermata_member* member, unsigned long long e) {
  int64_t sum = (int64_t)(e + rank), all = 0;
  int status = FERMATA_OK;
  switch (engine) {
    case kAnonymous: status = fermata_anonymous_meet(anonymous); break;
    case kShared: status = fermata_anonymous_shared_meet(shared); break;
    case kRanked: status = fermata_ranked_meet(ranked, rank); break;
    case kRankedSum: status = fermata_ranked_allreduce(ranked, rank, &sum, sizeof sum, add, NULL); break;
    case kThreads:
    case kProcesses: status = fermata_barrier(member); break;
    case kProcessesSum: status = fermata_allreduce(member, &sum, &all, 1, FERMATA_INT64, FERMATA_SUM); break;
  }
  if (status != FERMATA_OK && status != FERMATA_LAST) FAIL("episode %llu: rank %u got %d", e, rank, status);
  const int64_t right = (int64_t)(members * e + members * (members - 1) / 2);
  if (engine == kRankedSum && sum != right) FAIL("episode %llu: rank %u has a wrong sum", e, rank);
  if (engine == kProcessesSum && all != right) FAIL("episode %llu: rank %u has a wrong sum", e, rank);
}

static void* work(void* argument) {
  const unsigned rank = (unsigned)(uintptr_t)argument;
  fermata_member* member = NULL;
  if (team != NULL && fermata_team_join(team, (int)rank, &member) != FERMATA_OK)
    FAIL("rank %u cannot join: %s", rank, fermata_error_detail());
  long before = 0;
  for (unsigned long long e = 1; e <= count; ++e) {
    if (e == 1 + count / 10) before = resident_kib();
    const int looks = e % CHECKED == 0;
    if (looks) atomic_store_explicit(&seats[rank].at, e, memory_order_relaxed);
    meet(rank, member, e);
    const unsigned other = (rank + 1 + (unsigned)(e / CHECKED) % members) % members;
    if (looks && atomic_load_explicit(&seats[other].at, memory_order_relaxed) < e)
      FAIL("rank %u left episode %llu before rank %u came", rank, e, other);
  }
  const long grown = resident_kib() - before;
  if (count >= 100000 && grown > 1024)
    FAIL("rank %u: %ld KiB more memory after %llu episodes", rank, grown, count);
  fermata_member_leave(member);
  return NULL;
}

static int episodes(const char* name) {
  while (strcmp(name, kEngines[engine]) != 0)
    if ((unsigned)++engine == sizeof kEngines / sizeof *kEngines) FAIL("no such engine: %s", name);
  const int of_processes = engine == kShared || engine == kProcesses || engine == kProcessesSum;
  if (engine == kAnonymous && fermata_anonymous_create(members, 0, &anonymous) != FERMATA_OK)
    FAIL("no barrier");
  if ((engine == kRanked || engine == kRankedSum) && fermata_ranked_create(members, &ranked) != FERMATA_OK)
    FAIL("no barrier");
  if (engine == kShared) {
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    fermata_anonymous_shared_init(shared, members);
  }
  if (engine >= kThreads) {
    fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
    config.members = (int)members;
    config.engine = of_processes ? FERMATA_PROCESSES : FERMATA_THREADS;
    if (fermata_team_create(&config, &team) != FERMATA_OK) FAIL("no team: %s", fermata_error_detail());
  }
  const double start = now();
  pthread_t threads[MOST];
  for (unsigned r = 0; r < members; ++r) {
    if (!of_processes) pthread_create(&threads[r], NULL, work, (void*)(uintptr_t)r);
    else if (fork() == 0) exit(work((void*)(uintptr_t)r) != NULL);
  }
  for (unsigned r = 0; r < members; ++r) {
    int status = 0;
    if (!of_processes) pthread_join(threads[r], NULL);
    else if (wait(&status) < 0 || status != 0) FAIL("a member ended with %d", status);
  }
  const double seconds = now() - start;
  printf("%llu episodes, %.1f s, %.0f ns each\n", count, seconds, seconds * 1e9 / (double)count);
  return 0;
}

/* ---- Kills */

static uint64_t state;
static unsigned draw(unsigned below) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(state >> 33) % below;
}

enum { kKill, kDelay, kStall };
enum { kMostPatient = 20 };
static const double kPatience[] = {2, kMostPatient,
                                   0.1}; /* seconds that a call may wait after all have met */

static void member_of(unsigned rank, int action, int met_while_joining) {
  fermata_member* member = NULL;
  const int joined = fermata_team_join(team, (int)rank, &member);
  if (joined == FERMATA_OK)
    fermata_member_set_timeout(member, met_while_joining ? kPatience[action] : kMostPatient);
  for (unsigned long long e = 1;; ++e) {
    int64_t one = 1, all = 0;
    const int status = joined != FERMATA_OK ? joined
                       : e % 3 == 0 ? fermata_allreduce(member, &one, &all, 1, FERMATA_INT64, FERMATA_SUM)
                                    : fermata_barrier(member);
    if (status != FERMATA_OK) {
      seats[rank].status = status;
      seats[rank].error_at = now();
      _exit(0);
    }
    if (e % 3 == 0 && all != members) _exit(3);
    atomic_store_explicit(&seats[rank].at, e, memory_order_relaxed);
    if (e == 1) fermata_member_set_timeout(member, kPatience[action]);
  }
}

static void nap_us(unsigned us) {
  const struct timespec t = {us / 1000000, us % 1000000 * 1000};
  nanosleep(&t, NULL);
}

static int memory_left(void) {
  char line[512];
  int left = 0;
  FILE* maps = fopen("/proc/self/maps", "r");
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) left += strstr(line, "memfd:") != NULL;
  if (maps != NULL) fclose(maps);
  return left;
}

struct trial {
  unsigned long long number;
  int action;
  unsigned victim;
  int while_joining; /* in one trial of ten the fault hits a member that still joins: then only the time limit
                        tells the others */
  pid_t processes[MOST];
};

static void make_team(struct trial* t) {
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  members = 2 + draw(3);
  config.members = (int)members;
  config.engine = FERMATA_PROCESSES;
  config.wait = (int)draw(4);
  t->action = (int)draw(3);
  t->victim = draw(members);
  if (fermata_team_create(&config, &team) != FERMATA_OK)
    FAIL("trial %llu: no team: %s", t->number, fermata_error_detail());
  memset(seats, 0, MOST * sizeof *seats);
  for (unsigned r = 0; r < members; ++r)
    if ((t->processes[r] = fork()) == 0) member_of(r, t->action, t->while_joining);
  for (unsigned r = 0; !t->while_joining && r < members; ++r)
    for (const double until = now() + 20;
         atomic_load_explicit(&seats[r].at, memory_order_relaxed) == 0 && now() < until;)
      nap_us(100);
  nap_us(draw(3000));
}

static void strike(const struct trial* t) {
  kill(t->processes[t->victim], t->action == kKill ? SIGKILL : SIGSTOP);
  if (t->action != kDelay) return;
  nap_us(draw(20000));
  kill(t->processes[t->victim], SIGCONT);
  nap_us(draw(2000));
  fermata_team_abort(team); /* ends the team: all get an error */
}

/* Waits until all members have ended. A stopped one is killed after the others. */
static void reap(struct trial* t) {
  const double deadline = now() + 30;
  for (unsigned left = members - (t->action == kStall), r = 0; left > 0; r = (r + 1) % members) {
    int status = 0;
    if (t->processes[r] == 0 || (t->action == kStall && r == t->victim)) continue;
    if (waitpid(t->processes[r], &status, WNOHANG) == t->processes[r]) {
      t->processes[r] = 0;
      --left;
      if (status != 0 && !(r == t->victim && t->action == kKill))
        FAIL("trial %llu, action %d: rank %u of %u ended with %x", t->number, t->action, r, members,
             (unsigned)status);
      continue;
    }
    if (now() > deadline)
      FAIL("trial %llu, action %d: rank %u of %u (pid %d) hangs", t->number, t->action, r, members,
           (int)t->processes[r]);
    nap_us(100);
  }
  if (t->action == kStall) {
    kill(t->processes[t->victim], SIGKILL);
    waitpid(t->processes[t->victim], NULL, 0);
  }
}

static void trial(unsigned long long number) {
  struct trial t = {.number = number, .while_joining = number % 10 == 0};
  make_team(&t);
  const int had_joined = atomic_load_explicit(&seats[t.victim].at, memory_order_relaxed) > 0;
  const double acted = now();
  strike(&t);
  reap(&t);
  /* The others notice an abort or a death within 20 ms, or somewhat later on a loaded machine. They notice a
   * stopped member when their time limit ends. */
  for (unsigned r = 0; r < members; ++r) {
    if (r == t.victim) continue;
    const double took = seats[r].error_at - acted;
    const int timed_out = seats[r].status == FERMATA_ERR_TIMEOUT;
    if (took > 4 + (t.action == kDelay ? 0 : kPatience[t.action]) ||
        (timed_out && (t.action == kDelay || (t.action == kKill && had_joined))))
      FAIL("trial %llu, action %d: rank %u got status %d after %.3f s", number, t.action, r, seats[r].status,
           took);
  }
  fermata_team_destroy(team);
  if (memory_left() != 0) FAIL("trial %llu: a segment stays", number);
}

static int kills(void) {
  const int fd = dup(0);
  const long before = resident_kib();
  close(fd);
  for (unsigned long long n = 0; n < count; ++n) trial(n);
  const int after = dup(0);
  if (after != fd) FAIL("descriptors stay: the next one is %d, was %d", after, fd);
  if (resident_kib() - before > 4096) FAIL("%ld KiB more memory", resident_kib() - before);
  printf("%llu kills, delays and stalls\n", count);
  return 0;
}

int main(int argc, char** arguments) {
  seats = mmap(NULL, MOST * sizeof *seats, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (argc == 5 && strcmp(arguments[1], "episodes") == 0) {
    members = (unsigned)atoi(arguments[3]);
    count = strtoull(arguments[4], NULL, 10);
    if (members < 1 || members > MOST) FAIL("1 to %d members", MOST);
    return episodes(arguments[2]);
  }
  if (argc == 4 && strcmp(arguments[1], "kills") == 0) {
    state = strtoull(arguments[2], NULL, 10);
    count = strtoull(arguments[3], NULL, 10);
    return kills();
  }
  FAIL("soak episodes ENGINE MEMBERS COUNT, or soak kills SEED COUNT");
}
