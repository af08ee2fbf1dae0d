/* Signals are for the program's threads. Prints how many threads of a rank would take one. A preload adds
 * none to those of the MPI library. */
#include <dirent.h>
#include <signal.h>

#include "check.h"

static int takes(const char* thread) {
  char path[300], line[200];
  snprintf(path, sizeof path, "/proc/self/task/%s/status", thread);
  FILE* const file = fopen(path, "r");
  if (file == NULL) return 0; /* the thread has ended */
  unsigned long long blocked = ~0ull;
  while (fgets(line, sizeof line, file) != NULL)
    if (sscanf(line, "SigBlk: %llx", &blocked) == 1) break;
  fclose(file);
  return (blocked >> (SIGUSR1 - 1) & 1) == 0;
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm other;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  MPI_Barrier(other);
  int takers = 0, most = 0;
  DIR* const threads = opendir("/proc/self/task");
  expect(threads != NULL, "/proc/self/task is not there");
  for (const struct dirent* entry; threads != NULL && (entry = readdir(threads)) != NULL;)
    if (entry->d_name[0] != '.') takers += takes(entry->d_name);
  closedir(threads);
  MPI_Reduce(&takers, &most, 1, MPI_INT, MPI_MAX, 0, other);
  if (rank == 0) printf("%d threads take signals\n", most);
  MPI_Comm_free(&other);
  report("signals");
  MPI_Finalize();
  return 0;
}
