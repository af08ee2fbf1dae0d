/* For bounds.c: what a call with lengths that differ returns and writes. */
#ifndef FERMATA_TESTS_BOUNDS_H
#define FERMATA_TESTS_BOUNDS_H

#include "calls.h"
#include "guarded.h"

static MPI_Comm comm;
static const char* group;
static int serving;

static void expect_class(int rc, int truncated, const char* what) {
  const int class = class_of(rc);
  ++checks;
  if (class == (truncated ? MPI_ERR_TRUNCATE : MPI_SUCCESS)) return;
  if (failures++ < 20)
    fprintf(stderr, "rank %d of %d: %s, %s: error class %d\n", rank, size, group, what, class);
}

/* Expects, of a block that was sent whole, the first elements that fit into `room`. */
static void expect_block(const int* at, int from, long first, long sent, long room, const char* what) {
  long wrong = 0;
  for (long i = 0; i < room; ++i) wrong += at[i] != (i < sent ? value(from, first + i) : -1);
  ++checks;
  if (wrong == 0 || failures++ >= 20) return;
  fprintf(stderr, "rank %d of %d: %s, %s: %ld wrong elements from rank %d\n", rank, size, group, what, wrong,
          from);
}

static void lives_on(void) {
  int one = 1, sum = 0;
  for (int i = 0; i < 3; ++i) {
    expect_class(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm), 0, "the next allreduce");
    expect(sum == size, "the next allreduce: wrong sum");
    expect_class(MPI_Bcast(&sum, 1, MPI_INT, i % size, comm), 0, "the next broadcast");
  }
}

#endif
