/* A library that makes tasks in its caller's region: see midway.c. */
#define EXPORT __attribute__((visibility("default")))

EXPORT void make_tasks(int* cells, int count, int value) {
  for (int i = 0; i < count; ++i) {
#pragma omp task firstprivate(i)
    cells[i] = value;
  }
}

EXPORT void make_taskloop(int* cells, int count, int value) {
  const unsigned long end = (unsigned long)count;
#pragma omp taskloop nogroup num_tasks(5)
  for (unsigned long i = 0; i < end; ++i) cells[i] = value;
}
