// What a program can notice of its regions and of the serial phases between them. Each part prints what it
// sees. Most regions come in rows, so that they run on a resident team if there is one.
#include <fenv.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kRow = 60, kMost = 16 };

static long sums[kMost];

// A row of regions of n threads; n = 0: the default number.
static void row(int n, int regions) {
  for (int r = 0; r < regions; ++r) {
    if (n > 0) {
#pragma omp parallel num_threads(n)
      sums[omp_get_thread_num()] += omp_get_num_threads();
    } else {
#pragma omp parallel
      sums[omp_get_thread_num()] += omp_get_num_threads();
    }
  }
}

static void print_sums(const char* what) {
  printf("%s:", what);
  for (int i = 0; i < kMost; ++i) printf(" %ld", sums[i]);
  printf("\n");
  memset(sums, 0, sizeof sums);
}

static void print_state(const char* what) {
  omp_sched_t kind;
  int chunk;
  omp_get_schedule(&kind, &chunk);
  printf(
      "%s: in %d level %d active %d threads %d thread %d max %d ancestor %d %d team %d %d final %d dynamic "
      "%d "
      "levels %d bind %d schedule %d %d limit %d\n",
      what, omp_in_parallel(), omp_get_level(), omp_get_active_level(), omp_get_num_threads(),
      omp_get_thread_num(), omp_get_max_threads(), omp_get_ancestor_thread_num(0),
      omp_get_ancestor_thread_num(1), omp_get_team_size(0), omp_get_team_size(1), omp_in_final(),
      omp_get_dynamic(), omp_get_max_active_levels(), (int)omp_get_proc_bind(), (int)kind, chunk,
      omp_get_thread_limit() > 1000);
}

static void serial(void) {
  for (int i = 0; i < 3; ++i) {
    row(0, kRow);
    print_state("default");
    row(3, kRow);
    print_state("three");
    row(4, kRow);
    printf("in %d level %d threads %d max %d\n", omp_in_parallel(), omp_get_level(), omp_get_num_threads(),
           omp_get_max_threads());
    row(4, kRow);
  }
  print_sums("sums");
#pragma omp parallel num_threads(4)
  if (omp_get_thread_num() == 2) print_state("within");
}

static void sizes(void) {
  for (int i = 0; i < 200; ++i) {
    row(2 + i % 3, 1 + i % 17);
    if (i % 5 == 0) row(1, 2);
#pragma omp parallel num_threads(4) if (i % 4 == 1)
    {
      if (omp_get_thread_num() == 0) ++sums[8];
      if (omp_get_num_threads() == 1) sums[9] += omp_get_level() * 10 + omp_in_parallel();
    }
  }
  print_sums("sizes");
}

static void loops(void) {
  enum { kCount = 1000 };
  static int done[kCount];
  for (int r = 0; r < kRow; ++r) {
#pragma omp parallel for num_threads(4)
    for (int i = 0; i < kCount; ++i) ++done[i];
#pragma omp parallel for num_threads(4) schedule(dynamic, 7)
    for (int i = 0; i < kCount; ++i) ++done[i];
#pragma omp parallel num_threads(4)
    {
#pragma omp for schedule(guided)
      for (int i = 0; i < kCount; ++i) ++done[i];
#pragma omp for schedule(dynamic) nowait
      for (int i = 0; i < kCount; ++i) {
#pragma omp atomic
        ++done[i];
      }
#pragma omp for schedule(runtime)
      for (int i = 0; i < kCount; ++i) {
#pragma omp atomic
        ++done[i];
      }
#pragma omp sections
      {
#pragma omp section
        ++sums[0];
#pragma omp section
        ++sums[1];
#pragma omp section
        ++sums[2];
      }
    }
#pragma omp parallel for num_threads(4) schedule(runtime)
    for (int i = 0; i < kCount; ++i) ++done[i];
  }
  long all = 0;
  int same = 1;
  for (int i = 0; i < kCount; ++i) all += done[i], same &= done[i] == done[0];
  printf("loops: %ld %d\n", all, same);
  print_sums("sections");
}

// Constructs that are reached outside of any region, within loops whose bodies have regions, too.
static void orphans(void) {
  long sum = 0;
  row(4, kRow);
#pragma omp for schedule(dynamic)
  for (int i = 0; i < 40; ++i) {
    sum += i;
    row(4, 3);
  }
#pragma omp for schedule(static, 3)
  for (int i = 0; i < 40; ++i) {
    sum += i;
    row(4, 1);
  }
  for (int i = 0; i < 40; ++i) {
    row(4, 12);
#pragma omp single
    sum += 100;
    row(4, 12);
#pragma omp sections
    {
#pragma omp section
      sum += 1000;
#pragma omp section
      row(4, 2);
    }
#pragma omp barrier
#pragma omp master
    sum += 3;
#pragma omp critical
    sum += 5;
  }
#pragma omp for ordered schedule(dynamic)
  for (int i = 0; i < 20; ++i) {
#pragma omp ordered
    sum += 7;
    row(4, 2);
  }
  printf("orphans: %ld\n", sum);
  print_sums("sums");
}

static void singles(void) {
  for (int r = 0; r < kRow; ++r) {
    int copied = 0;
#pragma omp parallel num_threads(4) firstprivate(copied)
    {
#pragma omp single
      ++sums[0];
#pragma omp single nowait
      ++sums[1];
#pragma omp single copyprivate(copied)
      copied = r;
#pragma omp critical
      sums[2] += copied;
#pragma omp barrier
#pragma omp masked
      ++sums[3];
    }
  }
  print_sums("singles");
}

static void nested(void) {
  omp_set_max_active_levels(2);
  for (int r = 0; r < kRow; ++r) {
#pragma omp parallel num_threads(3)
    {
      const int outer = omp_get_thread_num();
#pragma omp parallel num_threads(2)
      {
#pragma omp atomic
        sums[outer] += 10 * omp_get_level() + omp_get_num_threads() + omp_get_team_size(1);
      }
    }
  }
  print_sums("nested");
  omp_set_max_active_levels(1);
  row(4, kRow);
  print_state("after");
}

static int mine;
#pragma omp threadprivate(mine)

static void privates(void) {
  for (int i = 0; i < 4; ++i) {
    for (int r = 0; r < kRow; ++r) {
#pragma omp parallel num_threads(4)
      mine += 1 + omp_get_thread_num();
    }
    omp_set_schedule(omp_sched_static, 1 + i);
  }
  mine = 1000;
#pragma omp parallel num_threads(4) copyin(mine)
  sums[omp_get_thread_num()] = mine;
  print_sums("copied in");
  row(4, kRow);
#pragma omp parallel num_threads(4)
  mine += omp_get_thread_num();
#pragma omp parallel num_threads(4)
  sums[omp_get_thread_num()] = mine;
  print_sums("privates");
}

static void settings(void) {
  omp_set_num_threads(3);
  row(0, kRow);
  print_state("three");
  omp_set_num_threads(4);
  row(0, kRow);
  print_state("four");
  // what a thread of a region sets is gone with the region
  for (int r = 0; r < kRow; ++r) {
#pragma omp parallel num_threads(4)
    {
      if (omp_get_thread_num() == 1) omp_set_num_threads(2);
      if (omp_get_thread_num() == 0) omp_set_schedule(omp_sched_guided, 5);
    }
#pragma omp parallel num_threads(4)
    sums[omp_get_thread_num()] += omp_get_max_threads();
  }
  print_sums("settings");
  print_state("after");
  omp_set_schedule(omp_sched_dynamic, 3);
  omp_set_dynamic(0);
  for (int r = 0; r < kRow; ++r) {
#pragma omp parallel num_threads(4)
    {
      omp_sched_t kind;
      int chunk;
      omp_get_schedule(&kind, &chunk);
      sums[omp_get_thread_num()] += (int)kind * 10 + chunk;
    }
  }
  print_sums("schedules");
}

static void locks(void) {
  omp_nest_lock_t nest;
  omp_lock_t lock;
  omp_init_nest_lock(&nest);
  omp_init_lock(&lock);
  for (int r = 0; r < kRow; ++r) {
    omp_set_nest_lock(&nest);
    row(4, 20);
    printf("%s%d", r == 0 ? "depth " : " ", omp_test_nest_lock(&nest));
    omp_unset_nest_lock(&nest);
    omp_unset_nest_lock(&nest);
    omp_set_lock(&lock);
    row(4, 2);
    omp_unset_lock(&lock);
#pragma omp parallel num_threads(4)
    {
      omp_set_nest_lock(&nest);
      omp_set_nest_lock(&nest);
      ++sums[0];
      omp_unset_nest_lock(&nest);
      omp_unset_nest_lock(&nest);
      omp_set_lock(&lock);
      ++sums[1];
      omp_unset_lock(&lock);
    }
  }
  printf("\n");
  omp_destroy_nest_lock(&nest);
  omp_destroy_lock(&lock);
  print_sums("locks");
}

// The child of a fork between regions has no other thread, and no region.
static void forked(void) {
  for (int i = 0; i < 5; ++i) {
    row(4, kRow);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      print_state("child");
      fflush(stdout);
      _exit(0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    printf("child's end: %d\n", status);
    row(4, kRow);
  }
  print_sums("forked");
}

static void* master(void* argument) {
  long* const sum = argument;
  for (int r = 0; r < 4 * kRow; ++r) {
#pragma omp parallel num_threads(3) reduction(+ : sum[ : 1])
    sum[0] += 1 + omp_get_thread_num();
    if (r % 50 == 49 && omp_in_parallel()) sum[0] = -1;
  }
  return NULL;
}

static void masters(void) {
  for (int i = 0; i < 3; ++i) {
    pthread_t threads[3];
    long seen[3] = {0};
    for (int t = 0; t < 3; ++t) pthread_create(&threads[t], NULL, master, &seen[t]);
    row(4, kRow);
    for (int t = 0; t < 3; ++t) pthread_join(threads[t], NULL);
    printf("masters: %ld %ld %ld\n", seen[0], seen[1], seen[2]);
  }
  print_sums("first");
}

static void reductions(void) {
  double sum = 0, least = 1e9;
  long a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, i8 = 9, j = 10, k = 11, l = 12, m = 13, n = 14;
  for (int r = 0; r < kRow; ++r) {
#pragma omp parallel for num_threads(4) reduction(+ : sum) reduction(min : least)
    for (int i = 0; i < 100; ++i) {
      sum += i;
      least = least < i ? least : i;
    }
#pragma omp parallel num_threads(4) firstprivate(a, b, c, d, e, f, g, h, i8, j, k, l, m, n)
    {
      ++a, ++b, ++c, ++d, ++n;
      const long all = a + b + c + d + e + f + g + h + i8 + j + k + l + m + n;
#pragma omp atomic
      sums[0] += all;
    }
#pragma omp parallel num_threads(4) shared(a, b, c, d, e, f, g, h, i8, j, k, l, m, n)
    {
#pragma omp single
      ++a, ++b, ++c, ++d, ++n;
      const long all = a + b + c + d + e + f + g + h + i8 + j + k + l + m + n;
#pragma omp atomic
      sums[1] += all;
    }
  }
  printf("reductions: %g %g\n", sum, least);
  print_sums("sums");
}

static void rounding(void) {
  static const int kWays[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  row(4, kRow);
  for (int r = 0; r < kRow; ++r) {
    fesetround(kWays[r % 4]);
#pragma omp parallel num_threads(4)
    sums[omp_get_thread_num()] = sums[omp_get_thread_num()] * 3 % 1000003 + fegetround() % 1000;
  }
  fesetround(FE_TONEAREST);
  print_sums("rounding");
}

static void ends(void) {
  row(4, kRow);
  print_sums("before the end");
  fflush(stdout);
#pragma omp parallel num_threads(4)
  if (omp_get_thread_num() == 2) exit(0);
}

int main(int count, char** names) {
  static const struct {
    const char* name;
    void (*run)(void);
  } kParts[] = {{"serial", serial},     {"sizes", sizes},       {"loops", loops},
                {"orphans", orphans},   {"singles", singles},   {"nested", nested},
                {"privates", privates}, {"settings", settings}, {"locks", locks},
                {"forked", forked},     {"masters", masters},   {"reductions", reductions},
                {"rounding", rounding}, {"ends", ends}};
  for (int i = 1; i < count; ++i)
    for (size_t k = 0; k < sizeof kParts / sizeof *kParts; ++k)
      if (strcmp(names[i], kParts[k].name) == 0) kParts[k].run();
  return 0;
}
