// Rows of regions, and what ends a team of threads that stays between them: one part for each argument.
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static long sums[8];
static int mine;
#pragma omp threadprivate(mine)

static void row(int regions) {
  for (int r = 0; r < regions; ++r) {
#pragma omp parallel num_threads(3)
    {
      sums[omp_get_thread_num()] += omp_get_num_threads();
      ++mine;
    }
  }
}

static void print_sums(const char* what) {
  printf("%s: %ld %ld %ld, %ld\n", what, sums[0], sums[1], sums[2], sums[3]);
  memset(sums, 0, sizeof sums);
  fflush(stdout);
}

// Regions in a league inherit its numbers.
static void league(void) {
  row(30);
#pragma omp teams num_teams(3) thread_limit(4)
  for (int r = 0; r < 30; ++r) {
#pragma omp parallel num_threads(2)
    {
#pragma omp atomic
      sums[3] += 10 * omp_get_team_num() + omp_get_num_teams();
    }
  }
  row(30);
  print_sums("league");
}

#if _OPENMP >= 201811 || !defined(__clang__)
static void pauses(void) {
  for (int i = 0; i < 5; ++i) {
    row(8 + 20 * i);
    sums[3] = sums[3] * 2 + omp_pause_resource_all(omp_pause_soft);
    row(8);
#pragma omp parallel num_threads(3) proc_bind(close)
    sums[omp_get_thread_num()] += mine;
  }
  print_sums("pauses");
}
#else
static void pauses(void) {}
#endif

// A child that no handler knows of.
static void child(void) {
  row(30);
  print_sums("before");
  const pid_t pid = _Fork();
  if (pid == 0) {
#pragma omp parallel num_threads(1)
    sums[3] += omp_get_num_threads() + 10 * omp_get_level();
    print_sums("child");
    exit(7);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  printf("child's end: %d\n", WEXITSTATUS(status));
  row(30);
  print_sums("after");
}

// A child whose parent had no region yet, and its own child.
static void fresh(void) {
  for (int i = 0; i < 2; ++i) {
    const pid_t pid = fork();
    if (pid > 0) {
      int status = 0;
      waitpid(pid, &status, 0);
      printf("the end of a child: %d\n", WEXITSTATUS(status));
      break;
    }
  }
  row(40);
  print_sums("fresh");
}

static void* work(void* last) {
  row(30);
  if (last != NULL) pthread_exit(NULL);
  return NULL;
}

static void threads(void) {
  for (int i = 0; i < 6; ++i) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, i % 2 == 0 ? &thread : NULL);
    pthread_join(thread, NULL);
  }
  print_sums("threads");
}

static void at_end(void) {
  row(30);
  print_sums("at the end");
}

static void handlers(void) {
  atexit(at_end);
  row(30);
  atexit(at_end);
  row(30);
  print_sums("handlers");
}

static long resident_pages(void) {
  long size = 0, resident = 0;
  FILE* const file = fopen("/proc/self/statm", "r");
  if (file == NULL) return 0;
  if (fscanf(file, "%ld %ld", &size, &resident) != 2) resident = 0;
  fclose(file);
  return resident;
}

// Many regions, and many ends of teams, take no more memory than the first ones.
static void memory(void) {
  long before = 0;
  for (int i = 0; i < 40; ++i) {
    row(2000);
#pragma omp parallel num_threads(2)
    ++mine;
    if (i == 4) before = resident_pages();
  }
  printf("%s\n", resident_pages() <= before + 32 ? "no more memory" : "MORE MEMORY");
  print_sums("memory");
}

static volatile sig_atomic_t signals_seen;
static void count_signal(int number) {
  (void)number;
  ++signals_seen;
}

// A timer's signals come to any thread, at any place.
static void signals(void) {
  const struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
  struct sigaction action = {.sa_handler = count_signal, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &often, NULL);
  for (int i = 0; i < 10000 || (signals_seen < 20 && i < 10000000); ++i) {
#pragma omp parallel num_threads(3)
    if (i < 10000) sums[omp_get_thread_num()] += i;
  }
  setitimer(ITIMER_REAL, &never, NULL);
  printf("%s\n", signals_seen >= 20 ? "signals" : "NO SIGNALS");
  print_sums("signals");
}

// The main thread ends before the process.
static void leaves(void) {
  row(30);
  print_sums("leaves");
  pthread_exit(NULL);
}

int main(int count, char** names) {
  static const struct {
    const char* name;
    void (*run)(void);
  } kParts[] = {{"league", league}, {"pauses", pauses},   {"child", child},
                {"fresh", fresh},   {"threads", threads}, {"handlers", handlers},
                {"leaves", leaves}, {"memory", memory},   {"signals", signals}};
  for (int i = 1; i < count; ++i)
    for (size_t k = 0; k < sizeof kParts / sizeof *kParts; ++k)
      if (strcmp(names[i], kParts[k].name) == 0) kParts[k].run();
  return 0;
}
