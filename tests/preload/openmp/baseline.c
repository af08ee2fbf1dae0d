/* Hundreds of regions of many sizes, sometimes nested. They leave no descriptor and no memory behind. */
#include <dirent.h>
#include <omp.h>
#include <stdio.h>

static int descriptors(void) {
  int number = 0;
  DIR* folder = opendir("/proc/self/fd");
  if (folder == NULL) return -1;
  while (readdir(folder) != NULL) ++number;
  closedir(folder);
  return number;
}

static long pages(void) {
  long size = 0, resident = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (file == NULL) return -1;
  if (fscanf(file, "%ld %ld", &size, &resident) != 2) resident = -1;
  fclose(file);
  return resident;
}

static long met;

static void rounds(int times) {
  for (int i = 0; i < times; ++i) {
#pragma omp parallel num_threads(2 + i % 3)
    {
#pragma omp barrier
      if (i % 50 == 0) {
#pragma omp parallel num_threads(2)
        {
#pragma omp barrier
#pragma omp atomic
          ++met;
        }
      }
#pragma omp barrier
    }
  }
}

int main(void) {
  omp_set_dynamic(0);
  omp_set_max_active_levels(2);
  rounds(200);
  const int before = descriptors();
  const long resident = pages();
  rounds(500);
  const long grown = pages() - resident;
  printf("descriptors: %d more; memory: %s\n", descriptors() - before, grown <= 64 ? "as before" : "grew");
  return met > 0 ? 0 : 1;
}
