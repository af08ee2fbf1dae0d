/* region_opens LIBRARY [deep]: regions in rows, between which a library with regions is opened. The program's
 * run path finds it. With RTLD_DEEPBIND its regions are the run-time library's alone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>
#include <stdio.h>

static long sum;

static void row(int regions) {
  for (int r = 0; r < regions; ++r) {
#pragma omp parallel num_threads(3)
    {
#pragma omp atomic
      sum += omp_get_thread_num() + 10 * omp_get_num_threads();
    }
  }
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  row(30);
  void* library = dlopen(argv[1], argc > 2 ? RTLD_LAZY | RTLD_DEEPBIND : RTLD_LAZY);
  if (library == NULL) return printf("%s\n", dlerror()), 1;
  long (*plugin_run)(void) = (long (*)(void))dlsym(library, "plugin_run");
  for (int k = 0; k < 12; ++k) sum += plugin_run(), row(3);
  row(30);
  printf("%ld\n", sum);
  return 0;
}
