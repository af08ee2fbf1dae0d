/* Random OpenMP programs: `fuzz FIRST COUNT` runs those of the seeds FIRST, FIRST + 1, ... one after the
 * other, and prints a line for each, which depends on its seed alone. With TASKS they have tasks, too.
 *
 * A program is a tree of statements. Each one has a number, from which all threads that reach it derive the
 * same choices. What they compute is added up, in any order. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

typedef unsigned long long number;
enum { kMostDepth = 3, kMostThreads = 5, kMostRepeats = 40 };

static number sum;
static int usual; /* threads of the program's outermost regions; 0: each has its own number */
static int mine;
#pragma omp threadprivate(mine)

static number mix(number a, number b) {
  number x = a * 0x9E3779B97F4A7C15u + b + 0x632BE59BD9B4E019u;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

/* A choice of statement `id`, of the numbers below `most`. */
static int choose(number id, int which, int most) {
  return (int)(mix(id, 1000u + (number)which) % (number)most);
}

static void add(number id, number value) {
  const number it = mix(id, value);
#pragma omp atomic
  sum += it;
}

/* What the threads of one team share. */
struct shared {
  number order, total, least;
};

static void statements(number id, int depth, struct shared* shared);

static int is_static(void) {
  omp_sched_t kind;
  int chunk;
  omp_get_schedule(&kind, &chunk);
  return ((int)kind & 0xff) == omp_sched_static;
}

/* What a program may ask at any place. */
static void ask(number id) {
  add(id, (number)omp_get_level());
  add(id + 1, (number)omp_get_active_level());
  add(id + 2, (number)omp_in_parallel());
  add(id + 3, (number)omp_get_num_threads());
  add(id + 4, (number)omp_get_thread_num());
  add(id + 5, (number)omp_get_max_threads());
  add(id + 6, (number)omp_get_max_active_levels());
  add(id + 7, (number)omp_get_dynamic());
  omp_sched_t kind;
  int chunk;
  omp_get_schedule(&kind, &chunk);
  add(id + 8, (number)kind * 1000 + (number)chunk);
  for (int level = 0; level <= omp_get_level(); ++level) {
    add(id + 9, (number)omp_get_team_size(level));
    add(id + 10, (number)omp_get_ancestor_thread_num(level));
  }
  add(id + 11, (number)omp_get_team_size(-1) + (number)omp_get_ancestor_thread_num(omp_get_level() + 1));
  add(id + 12, (number)omp_get_num_procs() + (number)omp_get_proc_bind() + (number)omp_get_cancellation());
}

/* Settings. The team's size is always given by a setting or a clause. */
static void set(number id) {
  switch (choose(id, 0, 4)) {
    case 0: omp_set_num_threads(1 + choose(id, 1, kMostThreads)); break;
    case 1: omp_set_schedule((omp_sched_t)(1 + choose(id, 1, 3)), 1 + choose(id, 2, 9)); break;
    case 2: omp_set_max_active_levels(1 + choose(id, 1, kMostDepth)); break;
    default: omp_set_dynamic(0); break;
  }
}

/* Loops whose iterations any thread may get. */
static void loop(number id, struct shared* shared, int n, int chunk) {
  const int kind = choose(id, 3, 5), fixed = is_static();
#ifdef __clang__
  if (!omp_in_parallel()) return; /* libomp 19 may end them outside of regions with a failed assertion */
#endif
  switch (kind) {
    case 0:
#pragma omp for schedule(dynamic, chunk)
      for (int i = 0; i < n; ++i) add(id, (number)i);
      break;
    case 1:
#pragma omp for schedule(guided, chunk) nowait
      for (int i = 0; i < n; ++i) add(id, (number)i);
#pragma omp barrier
      break;
    case 2:
#pragma omp for schedule(runtime)
      for (int i = 0; i < n; ++i) add(id, (number)i * 64 + (number)(fixed ? omp_get_thread_num() : 0));
      break;
    case 3:
#pragma omp for collapse(2) schedule(dynamic)
      for (int i = 0; i < n; ++i)
        for (int k = 0; k < 3; ++k) add(id, (number)(i * 3 + k));
      break;
    default:
#pragma omp single
      shared->order = id;
#pragma omp for ordered schedule(dynamic)
      for (int i = 0; i < n; ++i) {
#pragma omp ordered
        shared->order = mix(shared->order, (number)i);
      }
#ifdef TASKS /* programs with static ordered loops have no resident teams, either */
#pragma omp for ordered
      for (int i = 0; i < n / 3; ++i) {
#pragma omp ordered
        shared->order = mix(shared->order, (number)i);
      }
#endif
#pragma omp single
      add(id, shared->order);
      break;
  }
}

/* What one thread does alone. */
static void alone(number id, int n) {
  int given = 0;
  switch (choose(id, 3, 4)) {
    case 0:
#pragma omp single
      add(id, (number)n);
      break;
    case 1:
#pragma omp single nowait
      add(id, (number)n);
      break;
    case 2:
#pragma omp single copyprivate(given)
      given = n;
      add(id, (number)given * 64 + (number)omp_get_thread_num());
      break;
    default:
#pragma omp master
      add(id, (number)n);
#pragma omp critical
      {
        static int inside;
        if (++inside != 1) add(id, (number)inside);
        --inside;
      }
      break;
  }
}

static void reduce(number id, struct shared* shared, int n) {
  number *const total = &shared->total, *const least = &shared->least;
#pragma omp single
  *total = 0, *least = ~(number)0;
#pragma omp for reduction(+ : total[0 : 1]) reduction(min : least[0 : 1])
  for (int i = 0; i < n; ++i) {
    total[0] += mix(id, (number)i);
    if (mix(id, (number)i) < least[0]) least[0] = mix(id, (number)i);
  }
  add(id, mix(*total, *least) * 64 + (number)omp_get_thread_num());
#pragma omp barrier
}

/* Loops and their like, within a region or outside of all. */
static void share(number id, struct shared* shared) {
  const int n = 1 + choose(id, 0, 60), chunk = 1 + choose(id, 1, 7);
  switch (choose(id, 2, 7)) {
    case 0:
#pragma omp for schedule(static)
      for (int i = 0; i < n; ++i) add(id, (number)i * 64 + (number)omp_get_thread_num());
      break;
    case 1:
#pragma omp for schedule(static, chunk)
      for (int i = 0; i < n; ++i) add(id, (number)i * 64 + (number)omp_get_thread_num());
      break;
    case 2: loop(id, shared, n, chunk); break;
    case 3: alone(id, n); break;
    case 4: reduce(id, shared, n); break;
    case 5:
#pragma omp sections
    {
      add(id, 1);
#pragma omp section
      add(id, 2);
#pragma omp section
      add(id, 3);
    } break;
    default: {
#pragma omp barrier
      add(id, (number)omp_get_thread_num());
      break;
    }
  }
}

#ifdef TASKS
static number fibonacci(number id, int n) {
  if (n < 2) return mix(id, (number)n);
  number a = 0, b = 0;
#pragma omp task shared(a)
  a = fibonacci(id, n - 1);
#pragma omp task shared(b)
  b = fibonacci(id, n - 2);
#pragma omp taskwait
  return a + b;
}

static void tasks(number id) {
  const int n = 2 + choose(id, 0, 5);
  switch (choose(id, 1, 4)) {
    case 0:
#pragma omp single
      add(id, fibonacci(id, n));
      break;
    case 1:
#pragma omp single nowait
      for (int i = 0; i < 4 * n; ++i) {
#pragma omp task
        add(id, (number)i);
      }
#pragma omp barrier
      break;
    case 2:
#pragma omp single
#pragma omp taskloop
      for (int i = 0; i < 8 * n; ++i) add(id, (number)i);
      break;
    default:
      for (int i = 0; i < n; ++i) {
#pragma omp task
        add(id, (number)i);
      }
      break;
  }
}
#endif

/* A region that is a loop. */
static void parallel_loop(number id, int threads, int n, int chunk) {
  number total = 0, both = 0;
  switch (choose(id, 5, 5)) {
    case 0:
#pragma omp parallel for num_threads(threads) schedule(static)
      for (int i = 0; i < n; ++i) add(id, (number)i * 64 + (number)omp_get_thread_num());
      break;
    case 1:
#pragma omp parallel for num_threads(threads) schedule(dynamic, chunk)
      for (int i = 0; i < n; ++i) add(id, (number)i);
      break;
    case 2:
#pragma omp parallel for num_threads(threads) schedule(guided)
      for (int i = 0; i < n; ++i) add(id, (number)i);
      break;
    case 3:
#pragma omp parallel for num_threads(threads) schedule(runtime)
      for (int i = 0; i < n; ++i) add(id, (number)i);
      break;
    default:
#pragma omp parallel for num_threads(threads) reduction(+ : total) reduction(^ : both)
      for (int i = 0; i < n; ++i) total += mix(id, (number)i), both ^= mix(id + 1, (number)i);
      add(id, total + both);
      break;
  }
}

static void parallel_reductions(number id, int threads, int n) {
  number total = 0, most = 0;
#pragma omp parallel num_threads(threads)
  {
#pragma omp for reduction(+ : total)
    for (int i = 0; i < n; ++i) total += mix(id, (number)i);
    add(id, total * 64 + (number)omp_get_thread_num());
#pragma omp barrier
#pragma omp for reduction(max : most)
    for (int i = 0; i < n; ++i)
      if (mix(id, (number)i) > most) most = mix(id, (number)i);
    add(id, most);
  }
}

/* Whole regions. `depth` regions are around them. */
static void region(number id, int depth) {
  const int n = 1 + choose(id, 0, 80), chunk = 1 + choose(id, 1, 9);
  const int own = 1 + choose(id, 2, depth > 0 ? 3 : kMostThreads), set_before = choose(id, 3, 3) == 0;
  const int threads = depth == 0 && usual != 0 ? usual : own;
  int values[3] = {n, n + 1, n + 2};
  struct shared shared = {0, 0, 0};
  if (set_before) omp_set_num_threads(threads);
  switch (choose(id, 4, 9)) {
    case 0:
    case 1: parallel_loop(id, threads, n, chunk); break;
    case 2:
#pragma omp parallel sections num_threads(threads)
    {
      add(id, 1);
#pragma omp section
      add(id, 2);
#pragma omp section
      add(id, 3);
    } break;
    case 3:
#pragma omp parallel num_threads(threads) if (n % 2)
      add(id, (number)omp_get_thread_num() * 64 + (number)omp_get_num_threads());
      break;
    case 4:
#pragma omp parallel num_threads(threads) proc_bind(close)
      add(id, (number)omp_get_thread_num());
      break;
    case 5:
#pragma omp parallel num_threads(threads) firstprivate(values)
    {
      values[omp_get_thread_num() % 3] += 1;
      add(id, mix(mix((number)values[0], (number)values[1]), (number)values[2]));
    } break;
    case 6: parallel_reductions(id, threads, n); break;
    default:
#pragma omp parallel num_threads(threads)
      statements(mix(id, 7), depth + 1, &shared);
      break;
  }
}

/* Threads keep what is theirs from region to region of one size. */
static void keep(number id) {
  const int threads = usual != 0 ? usual : 1 + choose(id, 0, kMostThreads);
  const int regions = 2 + choose(id, 1, kMostRepeats);
#pragma omp parallel num_threads(threads)
  mine = omp_get_thread_num();
  for (int i = 0; i < regions; ++i) {
#pragma omp parallel num_threads(threads)
    mine = mine * 3 + i;
  }
#pragma omp parallel num_threads(threads)
  add(id, (number)mine * 64 + (number)omp_get_thread_num());
  mine = 0;
}

static void statement(number id, int depth, struct shared* shared) {
  const int kind = choose(id, 20, 10);
  if (kind < 4 && depth < kMostDepth) region(id, depth);
  else if (kind == 4) ask(id);
  else if (kind == 5) set(id);
#ifdef TASKS
  else if (kind == 6) tasks(id);
#endif
  else if (kind == 7 && depth == 0) keep(id);
  else share(id, shared);
}

static void statements(number id, int depth, struct shared* shared) {
  const int count = 1 + choose(id, 30, 4);
  for (int i = 0; i < count; ++i) statement(mix(id, (number)i), depth, shared);
}

/* At the top, statements repeat, since resident teams need rows of regions. */
static void program(number seed) {
  struct shared shared = {0, 0, 0};
  sum = 0;
  omp_set_num_threads(1 + choose(seed, 40, kMostThreads));
  omp_set_schedule(omp_sched_dynamic, 1 + choose(seed, 41, 4));
  omp_set_max_active_levels(1 + choose(seed, 42, kMostDepth));
  const int rows = 1 + choose(seed, 43, 5);
  usual = choose(seed, 47, 3) ? 2 + choose(seed, 48, kMostThreads - 1) : 0;
  for (int row = 0; row < rows; ++row) {
    const number id = mix(seed, (number)row);
    const int repeats = choose(id, 44, 2) ? 1 : 1 + choose(id, 45, kMostRepeats);
    const int same = choose(id, 46, 2);
    for (int i = 0; i < repeats; ++i) statement(same ? id : mix(id, (number)i), 0, &shared);
  }
  printf("%llu %016llx\n", seed, sum);
}

int main(int argc, char** argv) {
  const number first = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
  const number count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  for (number seed = first; seed < first + count; ++seed) program(seed);
  return 0;
}
