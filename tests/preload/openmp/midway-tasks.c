/* A library that makes tasks in its caller's region: see midway.c. */
#define EXPORT __attribute__((visibility("default")))

EXPORT void make_tasks(int* cells, int count, int value) {
  for (int i = 0; i < count; ++i) {
#pragma omp task firstprivate(i)
    cells[i] = value;
  }
}

EXPORT void make_signed_taskloop(int* cells, int count, int value) {
#pragma omp taskloop nogroup
  for (int i = 0; i < count; ++i) cells[i] = value;
}

/* Each task depends on the one before. */
EXPORT void make_dependent_tasks(int* cells, int count, int value) {
  for (int i = 0; i < count; ++i) {
#pragma omp task firstprivate(i) depend(inout : cells[0])
    cells[i] = i == 0 || cells[i - 1] == value ? value : -1;
  }
}

/* Untied tasks, which may be interrupted between parts. */
EXPORT void make_untied_tasks(int* cells, int count, int value) {
  for (int i = 0; i < count; ++i) {
#pragma omp task firstprivate(i) untied
    {
#pragma omp taskyield
      cells[i] = value;
    }
  }
}

EXPORT void make_target_task(int* cells, int count, int value) {
#pragma omp target nowait map(tofrom : cells[0 : count])
  for (int i = 0; i < count; ++i) cells[i] = value;
}

EXPORT void make_taskloop(int* cells, int count, int value) {
  const unsigned long end = (unsigned long)count;
#pragma omp taskloop nogroup num_tasks(5)
  for (unsigned long i = 0; i < end; ++i) cells[i] = value;
}
