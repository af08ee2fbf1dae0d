/* copies STEP...: uses libraries (copy.c) that each bring a run-time library, as Python wheels do. A step is
 * one of
 *
 *    LIBRARY         open it with RTLD_NOW and RTLD_LOCAL
 *    lazy:LIBRARY    open it with RTLD_LAZY
 *    global:LIBRARY  open it with RTLD_GLOBAL
 *    run             call each open one by itself, and each from within another one's regions
 *    close           close the one that was opened last
 *
 * A library without copy_sum is a run-time library, which is only opened. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct library {
  void* handle;
  long (*sum)(int);
  long (*barriers)(int);
  void (*barrier)(void);
  long (*around)(void (*)(int, void*), void*);
  int (*level)(void);
  int (*threads)(void);
  int (*thread)(void);
};

static struct library libraries[16];
static int count;
static long wrong;

static void expect(int right, const char* what, int a, int b) {
  if (!right)
    __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED), printf("wrong: %s, libraries %d and %d\n", what, a, b);
}

static int open_library(const char* step) {
  const int lazy = strncmp(step, "lazy:", 5) == 0, global = strncmp(step, "global:", 7) == 0;
  const char* name = step + (lazy ? 5 : global ? 7 : 0);
  struct library l = {
      dlopen(name, (lazy ? RTLD_LAZY : RTLD_NOW) | (global ? RTLD_GLOBAL : RTLD_LOCAL)), 0, 0, 0, 0, 0, 0, 0};
  if (l.handle == NULL) return printf("%s\n", dlerror()), 0;
  if (dlsym(l.handle, "copy_sum") == NULL) return 1;
  l.sum = (long (*)(int))dlsym(l.handle, "copy_sum");
  l.barriers = (long (*)(int))dlsym(l.handle, "copy_barriers");
  l.barrier = (void (*)(void))dlsym(l.handle, "copy_barrier");
  l.around = (long (*)(void (*)(int, void*), void*))dlsym(l.handle, "copy_around");
  l.level = (int (*)(void))dlsym(l.handle, "copy_level");
  l.threads = (int (*)(void))dlsym(l.handle, "copy_threads");
  l.thread = (int (*)(void))dlsym(l.handle, "copy_thread");
  libraries[count++] = l;
  return 1;
}

static void run_alone(int i) {
  const struct library* l = &libraries[i];
  expect(l->sum(1000) == 499500, "the sum of a static loop", i, i);
  expect(l->barriers(20) == 0, "barriers", i, i);
  l->barrier(); /* of a team of one thread */
  expect(l->sum(10) == 45, "a second sum", i, i);
}

/* Runs in a region of `outer`, at each thread. The inner library is the same one, or it has another run-time
 * library, for which this thread is in no region. */
struct pair {
  int outer, inner;
};

static void between(int thread, void* argument) {
  const struct pair* p = argument;
  const struct library *outer = &libraries[p->outer], *inner = &libraries[p->inner];
  expect(outer->thread() == thread && outer->level() >= 1, "the number in the outer region", p->outer,
         p->inner);
  outer->barrier(); /* the return address is in this program, which has no OpenMP */
  if (inner->level() == 0) {
    expect(inner->threads() == 1, "a region of one library is none of another", p->outer, p->inner);
    if (thread == 1) inner->barrier(); /* only this thread's, in no region */
  }
  expect(inner->sum(100) == 4950, "a sum within", p->outer, p->inner);
  expect(outer->thread() == thread, "the number in the outer region afterwards", p->outer, p->inner);
  outer->barrier();
}

static void* run_thread(void* argument) {
  run_alone((int)((char*)argument - (char*)0));
  return NULL;
}

static void run_all(void) {
  for (int i = 0; i < count; ++i) run_alone(i);
  for (int i = 0; i < count; ++i)
    for (int k = 0; k < count; ++k) {
      struct pair p = {i, k};
      expect(libraries[i].around(between, &p) == 0, "barriers around", i, k);
    }
  pthread_t threads[16]; /* all at once, each with regions of its own */
  for (int i = 0; i < count; ++i) pthread_create(&threads[i], NULL, run_thread, (char*)0 + i);
  for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
}

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "run") == 0) run_all();
    else if (strcmp(argv[i], "close") == 0) dlclose(libraries[--count].handle);
    else if (!open_library(argv[i])) return 2;
  }
  printf("%d libraries, %ld wrong\n", count, wrong);
  return wrong != 0;
}
