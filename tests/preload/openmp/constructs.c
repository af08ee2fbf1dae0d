/* OpenMP's constructs with explicit and implied barriers, one per name on the command line (none: all). The
 * output depends only on the program. A barrier that lets a thread pass too early changes a number. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kRounds = 300, kMost = 64 };

static int threads = 4;

/* Each thread writes, meets the others, and sums the values of all. */
static long meet_and_sum(long (*cells)[16], int round) {
  const int me = omp_get_thread_num(), n = omp_get_num_threads();
  cells[me][0] = (long)round * (me + 1);
#pragma omp barrier
  long sum = 0;
  for (int t = 0; t < n; ++t) sum += cells[t][0];
#pragma omp barrier
  return sum;
}

static void barriers(void) {
  static long cells[kMost][16];
  long wrong = 0;
#pragma omp parallel num_threads(threads) reduction(+ : wrong)
  {
    const long n = omp_get_num_threads();
    for (int round = 1; round <= kRounds; ++round)
      wrong += meet_and_sum(cells, round) != round * n * (n + 1) / 2;
  }
  printf("barriers: %ld wrong\n", wrong);
}

static void loops(void) {
  static int a[1000], b[1000];
  long wrong = 0;
#pragma omp parallel num_threads(threads) reduction(+ : wrong)
  for (int round = 0; round < 30; ++round) {
#pragma omp for
    for (int i = 0; i < 1000; ++i) a[i] = i + round;
#pragma omp for schedule(dynamic, 7)
    for (int i = 0; i < 1000; ++i) b[i] = a[999 - i];
#pragma omp for schedule(guided)
    for (int i = 0; i < 1000; ++i) a[i] = b[999 - i] - round;
#pragma omp for schedule(runtime)
    for (int i = 0; i < 1000; ++i) b[i] = a[999 - i];
#pragma omp for nowait
    for (int i = 0; i < 1000; ++i) wrong += b[i] != 999 - i;
#pragma omp barrier
  }
  printf("loops: %ld wrong\n", wrong);
}

static void parallel_loops(void) {
  static int a[500];
  for (int round = 0; round < 20; ++round) {
#pragma omp parallel for num_threads(threads)
    for (int i = 0; i < 500; ++i) a[i] = i;
#pragma omp parallel for schedule(dynamic, 3) num_threads(threads)
    for (int i = 0; i < 500; ++i) a[i] += round;
#pragma omp parallel for schedule(guided) num_threads(threads)
    for (int i = 0; i < 500; ++i) a[i] -= round;
#pragma omp parallel for schedule(runtime) num_threads(threads)
    for (int i = 0; i < 500; ++i) a[i] *= 2;
#pragma omp parallel for schedule(monotonic : dynamic, 5) num_threads(threads)
    for (int i = 0; i < 500; ++i) a[i] /= 2;
  }
  long sum = 0;
  for (int i = 0; i < 500; ++i) sum += a[i];
  printf("parallel_loops: %ld\n", sum);
}

static void sections(void) {
  long wrong = 0;
  int done[4] = {0};
#pragma omp parallel num_threads(threads) reduction(+ : wrong)
  for (int round = 1; round <= 50; ++round) {
#pragma omp sections
    {
#pragma omp section
      done[0] = round;
#pragma omp section
      done[1] = round;
#pragma omp section
      done[2] = round;
#pragma omp section
      done[3] = round;
    }
    for (int i = 0; i < 4; ++i) wrong += done[i] != round;
#pragma omp barrier
  }
#pragma omp parallel sections num_threads(threads)
  {
#pragma omp section
    done[0] = 7;
#pragma omp section
    done[1] = 8;
  }
  printf("sections: %ld wrong, %d %d\n", wrong, done[0], done[1]);
}

static void singles(void) {
  long wrong = 0, shared = 0;
#pragma omp parallel num_threads(threads) reduction(+ : wrong)
  for (int round = 1; round <= 100; ++round) {
    long mine = 0;
#pragma omp single
    shared = round;
    wrong += shared != round;
#pragma omp single copyprivate(mine)
    mine = round * 3;
    wrong += mine != round * 3;
#pragma omp barrier
#pragma omp master
    ++shared;
#pragma omp barrier
    wrong += shared != round + 1;
#pragma omp barrier
  }
  printf("singles: %ld wrong\n", wrong);
}

static void ordered(void) {
  long value = 0;
#pragma omp parallel num_threads(threads)
  {
#pragma omp for ordered schedule(dynamic)
    for (int i = 1; i <= 100; ++i) {
#pragma omp ordered
      value = value * 31 % 1000003 + i;
    }
#pragma omp barrier
  }
  printf("ordered: %ld\n", value);
}

static void nested(void) {
  omp_set_max_active_levels(3);
  long wrong = 0;
#pragma omp parallel num_threads(2) reduction(+ : wrong)
  {
    static long outer[kMost][16], inner[2][kMost][16], innermost[2][3][kMost][16];
    const int me = omp_get_thread_num();
    for (int round = 1; round <= 20; ++round) {
      wrong += meet_and_sum(outer, round) != round * 3;
      long below = 0;
#pragma omp parallel num_threads(3) reduction(+ : below)
      {
        const int here = omp_get_thread_num();
        below += meet_and_sum(inner[me], round) != round * 6;
        long further = 0;
#pragma omp parallel num_threads(2) reduction(+ : further)
        for (int k = 1; k <= 3; ++k) further += meet_and_sum(innermost[me][here], k) != k * 3;
        below += further;
        below += meet_and_sum(inner[me], round + 1) != (round + 1) * 6;
      }
      wrong += below;
      wrong += meet_and_sum(outer, round + 7) != (round + 7) * 3;
    }
  }
  printf("nested: %ld wrong\n", wrong);
}

/* Inner regions of one thread, which do not count as active levels. */
static void serial(void) {
  omp_set_max_active_levels(1);
  long wrong = 0;
#pragma omp parallel num_threads(threads) reduction(+ : wrong)
  {
    static long cells[kMost][16], own[kMost][1][16];
    const long n = omp_get_num_threads();
    const int me = omp_get_thread_num();
    for (int round = 1; round <= 50; ++round) {
      wrong += meet_and_sum(cells, round) != round * n * (n + 1) / 2;
      long below = 0;
#pragma omp parallel num_threads(3) reduction(+ : below)
      below += meet_and_sum(own[me], round) != round;
#pragma omp parallel if (0)
      below += meet_and_sum(own[me], round) != round;
      wrong += below;
    }
  }
  printf("serial: %ld wrong\n", wrong);
}

static void sizes(void) {
  static long cells[kMost][16];
  long wrong = 0;
  for (int round = 1; round <= 60; ++round) {
    omp_set_num_threads(1 + round * 7 % 9);
#pragma omp parallel reduction(+ : wrong)
    {
      const long n = omp_get_num_threads();
      for (int k = 1; k <= 4; ++k) wrong += meet_and_sum(cells, k) != k * n * (n + 1) / 2;
    }
  }
  printf("sizes: %ld wrong\n", wrong);
}

static void crowd(void) {
  const int before = threads;
  threads = 33;
  barriers();
  threads = before;
}

static void reductions(void) {
  double sum = 0;
  int largest = 0;
  static double shared;
  shared = 0;
#pragma omp parallel num_threads(threads) reduction(+ : sum) reduction(max : largest)
  {
    for (int round = 0; round < 50; ++round) {
#pragma omp for reduction(+ : shared)
      for (int i = 0; i < 100; ++i) shared += i;
#pragma omp barrier
    }
#pragma omp for
    for (int i = 0; i < 1000; ++i) sum += i, largest = i > largest ? i : largest;
  }
  printf("reductions: %.0f %d %.0f\n", sum, largest, shared);
}

static void teams(void) {
  static long cells[2][kMost][16];
  long wrong = 0;
#pragma omp teams num_teams(2) thread_limit(3) reduction(+ : wrong)
  {
    const int team = omp_get_team_num() & 1;
    long below = 0;
#pragma omp parallel num_threads(2) reduction(+ : below)
    {
      const long n = omp_get_num_threads();
      for (int k = 1; k <= 20; ++k) below += meet_and_sum(cells[team], k) != k * n * (n + 1) / 2;
    }
    wrong += below;
  }
  printf("teams: %ld wrong\n", wrong);
}

static const struct {
  const char* name;
  void (*run)(void);
} kTests[] = {{"barriers", barriers}, {"loops", loops},           {"parallel_loops", parallel_loops},
              {"sections", sections}, {"singles", singles},       {"ordered", ordered},
              {"nested", nested},     {"serial", serial},         {"sizes", sizes},
              {"crowd", crowd},       {"reductions", reductions}, {"teams", teams}};

int main(int argc, char** argv) {
  omp_set_dynamic(0);
  for (size_t i = 0; i < sizeof kTests / sizeof kTests[0]; ++i) {
    int wanted = argc == 1;
    for (int a = 1; a < argc; ++a) wanted |= strcmp(argv[a], kTests[i].name) == 0;
    if (wanted) kTests[i].run();
  }
  return 0;
}
