/* midway LIBRARY [WAY]: opens a library that makes tasks (midway-tasks.c) within a region, after its first
 * barriers. The next barrier runs the tasks, and a thread that has left the barrier sees their results. WAY:
 * only this function makes tasks, and its call is the process's first one that does. */
#include <dlfcn.h>
#include <omp.h>
#include <stdio.h>

enum { kThreads = 4, kTasks = 20 };

typedef void make_tasks(int* cells, int count, int value);

static make_tasks *tasks, *taskloop;
static int cells[kThreads * kTasks], loop_cells[kTasks];
static long wrong;

static make_tasks* open_maker(const char* library, const char* way) {
  void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  make_tasks* const made = handle != NULL ? (make_tasks*)dlsym(handle, way) : NULL;
  if (made == NULL) printf("%s\n", dlerror());
  return made;
}

static void check(const int* at, int count, int value) {
  for (int i = 0; i < count; ++i)
#pragma omp atomic
    wrong += at[i] != value;
}

static int in_one_way(const char* library, const char* way) {
  make_tasks* make = NULL;
#pragma omp parallel num_threads(kThreads)
  {
    const int thread = omp_get_thread_num();
    for (int round = 0; round < 50; ++round) {
#pragma omp barrier
    }
#pragma omp single
    make = open_maker(library, way);
    if (make != NULL) make(cells + thread * kTasks, kTasks, 1000);
#pragma omp barrier
    if (make != NULL) check(cells, kThreads * kTasks, 1000);
  }
  printf("%s, %ld wrong\n", make != NULL ? way : "not opened", wrong);
  return make == NULL || wrong != 0;
}

int main(int argc, char** argv) {
  int opened = 0;
  if (argc == 3) return in_one_way(argv[1], argv[2]);
  if (argc != 2) return 2;
#pragma omp parallel num_threads(kThreads)
  {
    const int thread = omp_get_thread_num();
    for (int round = 0; round < 50; ++round) {
#pragma omp barrier
    }
#pragma omp single
    {
      tasks = open_maker(argv[1], "make_tasks");
      taskloop = open_maker(argv[1], "make_taskloop");
      opened = tasks != NULL && taskloop != NULL;
      if (opened) tasks(cells, kThreads * kTasks, 1);
    }
    if (opened) {
      check(cells, kThreads * kTasks, 1);
      for (int round = 2; round < 10; ++round) {
#pragma omp barrier
        tasks(cells + thread * kTasks, kTasks, round);
#pragma omp barrier
        check(cells, kThreads * kTasks, round);
      }
#pragma omp barrier
#pragma omp for schedule(dynamic)
      for (int i = 0; i < kThreads; ++i)
        if (i == 1) taskloop(loop_cells, kTasks, 7);
      check(loop_cells, kTasks, 7);
    }
  }
#pragma omp parallel num_threads(kThreads)
  {
#pragma omp barrier
    if (opened && omp_get_thread_num() == 1) tasks(cells, kThreads * kTasks, 100);
#pragma omp barrier
    if (opened) check(cells, kThreads * kTasks, 100);
  }
  printf("%s, %ld wrong\n", opened ? "opened" : "not opened", wrong);
  return !opened || wrong != 0;
}
