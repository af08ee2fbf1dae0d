/* Shared by the test programs: every rank counts failures, and rank 0 prints one line per group, with a
 * digest of all results. */
#ifndef FERMATA_TEST_CHECK_H
#define FERMATA_TEST_CHECK_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;
static long checks, failures;
static unsigned long long digest;

static inline void same(const void* got, const void* expected, size_t bytes, const char* what) {
  ++checks;
  const unsigned char* b = got;
  for (size_t i = 0; i < bytes; ++i) digest = (digest ^ b[i]) * 1099511628211ull;
  if (memcmp(got, expected, bytes) == 0) return;
  if (failures++ < 5)
    fprintf(stderr, "rank %d of %d: %s: wrong result of %zu bytes\n", rank, size, what, bytes);
}

static inline void expect(int holds, const char* what) {
  ++checks;
  digest = (digest ^ (unsigned)holds) * 1099511628211ull;
  if (holds) return;
  if (failures++ < 5) fprintf(stderr, "rank %d of %d: %s\n", rank, size, what);
}

static inline int class_of(int rc) {
  int class = MPI_SUCCESS;
  if (rc != MPI_SUCCESS) MPI_Error_class(rc, &class);
  return class;
}

/* A collective call of all ranks. */
static inline void report(const char* group) {
  unsigned long long all = 0;
  long sums[2] = {checks, failures}, total[2];
  PMPI_Reduce(&digest, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_BXOR, 0, MPI_COMM_WORLD);
  PMPI_Allreduce(sums, total, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%s: %ld checks, %ld failures, digest %016llx\n", group, total[0], total[1], all);
  checks = 0;
  digest = 14695981039346656037ull * (unsigned)(rank + 1);
  if (total[1] != 0) {
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

static inline void begin(int* argc, char*** argv) {
  int level;
  if (getenv("FERMATA_TEST_MULTIPLE") != NULL) MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &level);
  else MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  digest = 14695981039346656037ull * (unsigned)(rank + 1);
}

#endif
