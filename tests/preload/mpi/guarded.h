/* Memory that ends at a page without access rights, and the values that the test programs write to it. */
#ifndef FERMATA_TEST_GUARDED_H
#define FERMATA_TEST_GUARDED_H

#include "check.h"

#include <sys/mman.h>
#include <unistd.h>

/* `ints` ints, all -1, directly before a page that cannot be read or written. */
static inline int* guarded(long ints) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = (size_t)ints * sizeof(int);
  const size_t room = (bytes + page - 1) / page * page + page;
  char* at = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED || mprotect(at + room, page, PROT_NONE) != 0) MPI_Abort(MPI_COMM_WORLD, 3);
  int* ints_at = (int*)(at + room - bytes);
  for (long i = 0; i < ints; ++i) ints_at[i] = -1;
  return ints_at;
}

static inline int value(int from, long i) { return 1000 * from + (int)(i % 1000); }

static inline int* input(long ints) {
  int* in = guarded(ints);
  for (long i = 0; i < ints; ++i) in[i] = value(rank, i);
  return in;
}

#endif
