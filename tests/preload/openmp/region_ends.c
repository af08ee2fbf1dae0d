// Rows of regions, and what ends a team of threads that stays between them: one part for each argument.
#define _GNU_SOURCE
#include <dlfcn.h>
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

// The main thread is cancelled between two regions. The process ends with its last thread.
static void* cancel_main(void* thread) {
  const pthread_t main_thread = *(pthread_t*)thread;
  pthread_cancel(main_thread);
  pthread_join(main_thread, NULL);
  row(30);
  print_sums("cancelled");
  return NULL;
}
static void cancelled(void) {
  static pthread_t main_thread;
  pthread_t other;
  row(30);
  print_sums("before");
  main_thread = pthread_self();
  pthread_create(&other, NULL, cancel_main, &main_thread);
  for (;;) pause();
}

// The functions of libgomp itself, by its handle. 0: the run-time library is another one.
static void (*real_parallel)(void (*)(void*), void*, unsigned, unsigned);
static int (*real_pause)(int);
static int find_functions(void) {
  void* const library = dlopen("libgomp.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == NULL) return 0;
  *(void**)&real_parallel = dlsym(library, "GOMP_parallel");
  *(void**)&real_pause = dlsym(library, "omp_pause_resource_all");
  return real_parallel != NULL && real_pause != NULL;
}

static void count_here(void* data) {
  (void)data;
#pragma omp atomic
  sums[3] += 10 * omp_get_num_threads() + omp_get_thread_num();
}
static void handles(void) {
  if (!find_functions()) return;
  for (int i = 0; i < 20; ++i) {
    row(30);
    for (unsigned threads = 1; threads < 5; ++threads) real_parallel(count_here, NULL, threads, 0);
    row(3);
    if (i % 4 == 0) real_parallel(count_here, NULL, 3, 0);
    if (i % 5 == 0) sums[3] += real_pause(1);
    row(i % 3 * 20);
#pragma omp parallel num_threads(2)
    count_here(NULL);
  }
  print_sums("handles");
}

// The program's own regions keep their threads.
static void nothing(void* unused) { (void)unused; }
static void kept(void) {
  if (!find_functions()) return;
  for (int i = 0; i < 4; ++i) {
    row(30);
    real_parallel(nothing, NULL, 3, 0);
    row(30);
#pragma omp parallel num_threads(3) proc_bind(close)
    sums[omp_get_thread_num()] += 1000 * mine;
  }
  print_sums("kept");
}

static int threads_here(void) {
  int count = 0;
  FILE* const file = fopen("/proc/self/status", "r");
  char line[128];
  while (file != NULL && fgets(line, sizeof line, file) != NULL) sscanf(line, "Threads: %d", &count);
  if (file != NULL) fclose(file);
  return count;
}
// Threads that such regions have started do not remain when a residence ends, nor with their first thread.
static void* bypass(void* unused) {
  for (int i = 0; i < 50; ++i) {
    row(30);
    real_parallel(count_here, NULL, 3, 0);
#pragma omp parallel num_threads(2)
    count_here(NULL);
  }
  return unused;
}
static void remainders(void) {
  if (!find_functions()) return;
  pthread_t thread;
  for (int i = 0; i < 4; ++i) {
    pthread_create(&thread, NULL, bypass, NULL);
    pthread_join(thread, NULL);
  }
  int threads = 0;
  for (int i = 0; i < 200 && (threads = threads_here()) > 1; ++i) usleep(10000);
  printf("%d threads\n", threads);
  bypass(NULL);
  for (int i = 0; i < 200 && (threads = threads_here()) > 5; ++i) usleep(10000);
  printf("%s\n", threads <= 5 ? "few threads" : "MANY THREADS");
  print_sums("remainders");
}

// Not conforming, but fine with libgomp: only one thread of a region meets the last construct.
static void partial(void) {
  for (int r = 0; r < 200; ++r) {
#pragma omp parallel num_threads(3)
    if (omp_get_thread_num() == r % 3) {
#pragma omp single nowait
      sums[0] += r;
    }
    row(r % 7);
#pragma omp parallel num_threads(3)
    {
#pragma omp for schedule(dynamic, 2)
      for (int i = 0; i < 9; ++i)
#pragma omp atomic
        sums[1] += i;
#pragma omp single
      sums[2] += r;
      if (omp_get_thread_num() == r / 3 % 3) {
#pragma omp for schedule(dynamic, 1) nowait
        for (int i = 0; i < 5; ++i) sums[3] += i;
      }
    }
  }
  print_sums("partial");
}

int main(int count, char** names) {
  static const struct {
    const char* name;
    void (*run)(void);
  } kParts[] = {{"league", league},         {"pauses", pauses},   {"child", child},
                {"fresh", fresh},           {"threads", threads}, {"handlers", handlers},
                {"leaves", leaves},         {"memory", memory},   {"signals", signals},
                {"cancelled", cancelled},   {"handles", handles}, {"partial", partial},
                {"remainders", remainders}, {"kept", kept}};
  for (int i = 1; i < count; ++i)
    for (size_t k = 0; k < sizeof kParts / sizeof *kParts; ++k)
      if (strcmp(names[i], kParts[k].name) == 0) kParts[k].run();
  return 0;
}
