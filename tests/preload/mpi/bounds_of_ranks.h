/* For bounds.c: calls in which one rank has another length than the others. */
#ifndef FERMATA_TESTS_BOUNDS_OF_RANKS_H
#define FERMATA_TESTS_BOUNDS_OF_RANKS_H

#include "bounds.h"

/* All have to wait for all, so the MPI library itself does the call. The rank with less room is
 * truncated. */
static void blocks_of_two(int mine, int theirs) {
  int rc, *in = input(2 * mine), *out = guarded(2 * mine);
  CALL(rc, Allgather, allgather, in, mine, MPI_INT, out, mine, MPI_INT, comm);
  expect_class(rc, mine < theirs, "allgather");
  lives_on();
  CALL(rc, Alltoall, alltoall, in, mine, MPI_INT, out, mine, MPI_INT, comm);
  expect_class(rc, mine < theirs, "alltoall");
  lives_on();
}

/* Collectives whose data go one way: as in the MPI library, only the receiver sees a difference. */
static void one_way(int mine, int others, int root) {
  int rc, wrong = 0;
  int* data = rank == root ? input(mine) : guarded(mine);
  CALL(rc, Bcast, bcast, data, mine, MPI_INT, root, comm);
  expect_class(rc, rank != root && others > mine, "broadcast");
  if (rank != root && others <= mine) expect_block(data, root, 0, others, mine, "broadcast");
  lives_on();
  int* out = guarded(mine);
  CALL(rc, Scatter, scatter, input((long)mine * size), mine, MPI_INT, out, mine, MPI_INT, root, comm);
  expect_class(rc, rank != root && others > mine, "scatter");
  if (rank != root && others <= mine) expect_block(out, root, (long)rank * others, others, mine, "scatter");
  lives_on();
  out = guarded((long)mine * size);
  CALL(rc, Gather, gather, input(mine), mine, MPI_INT, out, mine, MPI_INT, root, comm);
  expect_class(rc, rank == root && others > mine, "gather");
  for (int r = 0; r < size && rank == root && others <= mine; ++r)
    expect_block(out + (long)r * mine, r, 0, r == root ? mine : others, mine, "gather");
  lives_on();
  out = guarded((long)mine * size);
  for (int i = 0; i < mine; ++i) out[rank * mine + i] = value(rank, i);
  CALL(rc, Gather, gather, rank == root ? MPI_IN_PLACE : input(mine), mine, MPI_INT, out, mine, MPI_INT, root,
       comm);
  expect_class(rc, rank == root && others > mine, "gather in place");
  lives_on();
  out = guarded(mine);
  CALL(rc, Reduce, reduce, input(mine), out, mine, MPI_INT, MPI_MAX, root, comm);
  expect_class(rc, rank == root && others > mine, "reduce");
  const int common = others < mine ? others : mine;
  for (int i = 0; i < common && rank == root && others <= mine; ++i) wrong += out[i] != value(size - 1, i);
  expect(wrong == 0, "reduce: wrong elements");
  lives_on();
}

static void largest_of_gaps(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i)
    for (int part = 0; part < 3; part += 2) {
      const int* const a = (const int*)in + 3 * i + part;
      int* const b = (int*)inout + 3 * i + part;
      if (*a > *b) *b = *a;
    }
}

/* Reductions whose elements are packed or in place. */
static void reduced(int mine, int others, int root) {
  const int common = others < mine ? others : mine;
  int rc, wrong = 0, *out = guarded(mine);
  for (int i = 0; i < mine; ++i) out[i] = value(rank, i);
  CALL(rc, Reduce, reduce, rank == root ? MPI_IN_PLACE : input(mine), out, mine, MPI_INT, MPI_MAX, root,
       comm);
  expect_class(rc, rank == root && others > mine, "reduce in place");
  for (int i = 0; i < mine && rank == root && others <= mine; ++i)
    wrong += out[i] != value(i < common ? size - 1 : rank, i);
  lives_on();
  int *pairs = input(2L * mine), *found = guarded(2L * mine);
  CALL(rc, Reduce, reduce, pairs, found, mine, MPI_2INT, MPI_MAXLOC, root, comm);
  expect_class(rc, rank == root && others > mine, "reduce of pairs");
  for (int i = 0; i < 2 * common && rank == root && others <= mine; ++i)
    wrong += found[i] != value(size - 1, i);
  lives_on();
  /* The program's operators run on another thread only where MPI permits that. */
  if ((begun || persistent) && getenv("FERMATA_TEST_MULTIPLE") == NULL)
    return expect(wrong == 0, "reduce: wrong elements");
  MPI_Datatype gaps;
  MPI_Op op;
  MPI_Type_vector(2, 1, 2, MPI_INT, &gaps);
  MPI_Type_commit(&gaps);
  MPI_Op_create(largest_of_gaps, 1, &op);
  out = guarded(3L * mine);
  CALL(rc, Reduce, reduce, input(3L * mine), out, mine, gaps, op, root, comm);
  expect_class(rc, rank == root && others > mine, "reduce of a type with gaps");
  for (int i = 0; i < 3 * common && rank == root && others <= mine; ++i)
    wrong += out[i] != (i % 3 == 1 ? -1 : value(size - 1, i));
  expect(wrong == 0, "reduce: wrong elements");
  lives_on();
  MPI_Op_free(&op);
  MPI_Type_free(&gaps);
}

/* Blocks whose length only their two ends know. */
static void counted(int mine, int others, int root) {
  int rc, counts[64], places[64];
  for (int r = 0; r < size; ++r) counts[r] = mine, places[r] = r * mine;
  int* out = guarded((long)mine * size);
  CALL(rc, Gatherv, gatherv, input(mine), mine, MPI_INT, out, counts, places, MPI_INT, root, comm);
  expect_class(rc, rank == root && others > mine, "gatherv");
  for (int r = 0; r < size && rank == root && others <= mine; ++r)
    expect_block(out + (long)r * mine, r, 0, r == root ? mine : others, mine, "gatherv");
  lives_on();
  out = guarded(mine);
  CALL(rc, Scatterv, scatterv, input((long)mine * size), counts, places, MPI_INT, out, mine, MPI_INT, root,
       comm);
  expect_class(rc, rank != root && others > mine, "scatterv");
  if (rank != root && others <= mine) expect_block(out, root, (long)rank * others, others, mine, "scatterv");
  lives_on();
  out = guarded((long)mine * size);
  for (int i = 0; i < mine; ++i) out[rank * mine + i] = value(rank, i);
  CALL(rc, Gatherv, gatherv, rank == root ? MPI_IN_PLACE : input(mine), mine, MPI_INT, out, counts, places,
       MPI_INT, root, comm);
  expect_class(rc, rank == root && others > mine, "gatherv in place");
  for (int r = 0; r < size && rank == root && others <= mine; ++r)
    expect_block(out + (long)r * mine, r, 0, r == root ? mine : others, mine, "gatherv in place");
  lives_on();
  out = guarded(mine);
  CALL(rc, Scatterv, scatterv, input((long)mine * size), counts, places, MPI_INT,
       rank == root ? MPI_IN_PLACE : out, mine, MPI_INT, root, comm);
  expect_class(rc, rank != root && others > mine, "scatterv in place");
  if (rank != root && others <= mine)
    expect_block(out, root, (long)rank * others, others, mine, "scatterv in place");
  lives_on();
}

/* Expects blocks of `room` ints each in `out`, from ranks that sent `mine` (the rank `who`) or `others`.
 * `step`: the distance of a rank's block in the input. */
static void expect_blocks(const int* out, int room, int who, int mine, int others, int step,
                          const char* what) {
  for (int r = 0; r < size; ++r) {
    const int sent = r == who ? mine : others;
    if (sent <= room) expect_block(out + (long)r * room, r, (long)step * sent, sent, room, what);
  }
}

/* Non-blocking calls in which all send and receive, and the rank `who` has another length. Each block
 * concerns only its sender and its receiver. */
static void pairwise(int mine, int others, int who) {
  int rc, counts[64], places[64];
  const int own = rank == who ? mine : others;
  const int most = rank == who || (size > 2 && others > mine) ? others : mine, is_short = most > own;
  for (int r = 0; r < size; ++r) counts[r] = own, places[r] = r * own;
  int* out = guarded((long)own * size);
  CALL(rc, Allgather, allgather, input(own), own, MPI_INT, out, own, MPI_INT, comm);
  expect_class(rc, is_short, "allgather of all");
  expect_blocks(out, own, who, mine, others, 0, "allgather of all");
  lives_on();
  out = guarded((long)own * size);
  for (int i = 0; i < own; ++i) out[rank * own + i] = value(rank, i);
  CALL(rc, Allgather, allgather, MPI_IN_PLACE, own, MPI_INT, out, own, MPI_INT, comm);
  expect_class(rc, is_short, "allgather in place of all");
  expect_blocks(out, own, who, mine, others, 0, "allgather in place of all");
  lives_on();
  out = guarded((long)own * size);
  CALL(rc, Allgatherv, allgatherv, input(own), own, MPI_INT, out, counts, places, MPI_INT, comm);
  expect_class(rc, is_short, "allgatherv of all");
  expect_blocks(out, own, who, mine, others, 0, "allgatherv of all");
  lives_on();
  out = guarded((long)own * size);
  for (int i = 0; i < own; ++i) out[rank * own + i] = value(rank, i);
  CALL(rc, Allgatherv, allgatherv, MPI_IN_PLACE, own, MPI_INT, out, counts, places, MPI_INT, comm);
  expect_class(rc, is_short, "allgatherv in place of all");
  expect_blocks(out, own, who, mine, others, 0, "allgatherv in place of all");
  lives_on();
  out = guarded((long)own * size);
  CALL(rc, Alltoall, alltoall, input((long)own * size), own, MPI_INT, out, own, MPI_INT, comm);
  expect_class(rc, is_short, "alltoall of all");
  expect_blocks(out, own, who, mine, others, rank, "alltoall of all");
  lives_on();
  out = guarded((long)own * size);
  CALL(rc, Alltoallv, alltoallv, input((long)own * size), counts, places, MPI_INT, out, counts, places,
       MPI_INT, comm);
  expect_class(rc, is_short, "alltoallv of all");
  expect_blocks(out, own, who, mine, others, rank, "alltoallv of all");
  lives_on();
  /* All send the same length, and one rank has room for another. */
  out = guarded((long)own * size);
  CALL(rc, Allgatherv, allgatherv, input(others), others, MPI_INT, out, counts, places, MPI_INT, comm);
  expect_class(rc, others > own, "allgatherv");
  expect_blocks(out, own, size, 0, others, 0, "allgatherv");
  lives_on();
}

/* Non-blocking calls in which each block has a type of its own. The MPI library does them, with its own
 * errors (MPICH 4.0 reports none). */
static void of_many_types(int mine, int others, int who) {
  const int own = rank == who ? mine : others;
  int rc, counts[64], places[64], *out = guarded((long)own * size);
  MPI_Datatype types[64];
  for (int r = 0; r < size; ++r) counts[r] = own, places[r] = r * own * (int)sizeof(int), types[r] = MPI_INT;
  CALL(rc, Alltoallw, alltoallw, input((long)own * size), counts, places, types, out, counts, places, types,
       comm);
  expect(class_of(rc) == MPI_SUCCESS || class_of(rc) == MPI_ERR_TRUNCATE, "alltoallw: error class");
  expect_blocks(out, own, who, mine, others, rank, "alltoallw");
  lives_on();
}

/* Persistent calls in which all send and receive. The MPI library does them, with its own errors. */
static void persistent_of_all(int mine, int others, int who) {
  const int own = rank == who ? mine : others;
  int rc, *in = input((long)own * size);
  CALL(rc, Allreduce, allreduce, in, guarded(own), own, MPI_INT, MPI_MAX, comm);
  expect(class_of(rc) == MPI_SUCCESS || class_of(rc) == MPI_ERR_TRUNCATE, "allreduce: error class");
  lives_on();
  CALL(rc, Allgather, allgather, in, own, MPI_INT, guarded((long)own * size), own, MPI_INT, comm);
  expect(class_of(rc) == MPI_SUCCESS || class_of(rc) == MPI_ERR_TRUNCATE, "allgather: error class");
  lives_on();
}

/* Non-blocking reductions over all ranks, whose results no rank can have: all ranks that wait get errors. */
static void reductions_of_all(int mine, int others, int who) {
  const int own = rank == who ? mine : others;
  int counts[64];
  for (int r = 0; r < size; ++r) counts[r] = own + r % 2;
  for (int kind = 0; kind < 5; ++kind) {
    int rc = MPI_SUCCESS, *in = input((long)(own + 1) * size), *out = guarded(own + 1);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    if (kind == 0) CALL(rc, Allreduce, allreduce, in, out, own, MPI_INT, MPI_MAX, comm);
    if (kind == 1) CALL(rc, Reduce_scatter_block, reduce_scatter_block, in, out, own, MPI_INT, MPI_MAX, comm);
    if (kind == 2) CALL(rc, Reduce_scatter, reduce_scatter, in, out, counts, MPI_INT, MPI_MAX, comm);
    if (kind == 3) CALL(rc, Scan, scan, in, out, own, MPI_INT, MPI_MAX, comm);
    if (kind == 4) CALL(rc, Exscan, exscan, in, out, own, MPI_INT, MPI_MAX, comm);
    if (kind < 3) expect_class(rc, 1, "a reduction of all");
    else expect(class_of(rc) == MPI_SUCCESS || class_of(rc) == MPI_ERR_TRUNCATE, "a scan: error class");
    lives_on();
    MPI_Comm_free(&comm);
  }
}

static void ranks_differ(void) {
  static const int lengths[][2] = {{10, 1}, {1, 10}, {1, 2}, {3, 300}, {300, 3}};
  group = "ranks differ";
  MPI_Comm own = comm;
  for (unsigned i = 0; i < sizeof lengths / sizeof lengths[0]; ++i) {
    for (int root = 0; root < size; root += size - 1) {
      const int mine = lengths[i][rank == root ? 0 : 1], others = lengths[i][rank == root ? 1 : 0];
      counted(mine, others, root);
      one_way(mine, others, root);
      reduced(mine, others, root);
      if (persistent && !serving && i < 2) persistent_of_all(lengths[i][0], lengths[i][1], root);
      if (!begun) continue;
      pairwise(lengths[i][0], lengths[i][1], root);
      if (!serving) of_many_types(lengths[i][0], lengths[i][1], root);
      if (!serving && i < 2)
        reductions_of_all(lengths[i][0], lengths[i][1],
                          root); /* on few communicators, so that each has a team */
      comm = own;
    }
    if (size != 2 || begun || persistent) continue;
    MPI_Comm_dup(own, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    blocks_of_two(lengths[i][rank], lengths[i][1 - rank]);
    MPI_Comm_free(&comm);
    comm = own;
  }
  report(group);
}

#endif
