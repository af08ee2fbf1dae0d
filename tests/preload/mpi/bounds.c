/* Lengths that differ. A call writes no more than the receiver's own arguments allow. A rank with too little
 * room gets MPI_ERR_TRUNCATE, all others get their data, and the communicator stays usable. Buffers end at a
 * page without access rights. Usage: bounds [begun|persistent] [only GROUP] [serving]. "serving": only calls
 * that Fermata does and after which it keeps the communicator. */
#define _GNU_SOURCE
#include "calls.h"
#include "guarded.h"

#include <stdint.h>

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

/* All send `sent` ints, or blocks of them, and have room for `room`. */
static void gathers(int sent, int room, int root) {
  int rc, *in = input(sent), *out = guarded((long)room * size);
  CALL(rc, Gather, gather, in, sent, MPI_INT, out, room, MPI_INT, root, comm);
  expect_class(rc, rank == root && sent > room, "gather");
  for (int r = 0; r < size && rank == root && sent <= room; ++r)
    expect_block(out + (long)r * room, r, 0, sent, room, "gather");
  lives_on();
}

static void scatters(int sent, int room, int root) {
  int rc, *out = guarded(room);
  CALL(rc, Scatter, scatter, input((long)sent * size), sent, MPI_INT, out, room, MPI_INT, root, comm);
  expect_class(rc, sent > room, "scatter");
  if (sent <= room) expect_block(out, root, (long)rank * sent, sent, room, "scatter");
  lives_on();
}

static void allgathers(int sent, int room) {
  int rc, *in = input(sent), *out = guarded((long)room * size);
  CALL(rc, Allgather, allgather, in, sent, MPI_INT, out, room, MPI_INT, comm);
  expect_class(rc, sent > room, "allgather");
  for (int r = 0; r < size && sent <= room; ++r)
    expect_block(out + (long)r * room, r, 0, sent, room, "allgather");
  lives_on();
}

static void alltoalls(int sent, int room) {
  int rc, *in = input((long)sent * size), *out = guarded((long)room * size);
  CALL(rc, Alltoall, alltoall, in, sent, MPI_INT, out, room, MPI_INT, comm);
  expect_class(rc, sent > room, "alltoall");
  for (int r = 0; r < size && sent <= room; ++r)
    expect_block(out + (long)r * room, r, (long)rank * sent, sent, room, "alltoall");
  lives_on();
}

/* Types whose elements have gaps are packed, at either end. */
static void gathers_with_gaps(int sent, int room, int root) {
  MPI_Datatype gaps;
  MPI_Type_vector(2, 1, 2, MPI_INT, &gaps);
  MPI_Type_commit(&gaps);
  int rc, *in = input(2 * sent), *out = guarded(3L * room * size + 1);
  CALL(rc, Gather, gather, in, 2 * sent, MPI_INT, out, room, gaps, root, comm);
  expect_class(rc, rank == root && sent > room, "gather of a type with gaps");
  int wrong = 0;
  for (int r = 0; r < size && rank == root && sent <= room; ++r)
    for (int i = 0; i < sent; ++i) wrong += out[3 * (r * room + i)] != value(r, 2 * i);
  expect(wrong == 0, "gather of a type with gaps: wrong elements");
  lives_on();
  MPI_Type_free(&gaps);
}

/* Removes all access to the memory. */
static void take_away(int* at, long ints) {
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)at / page * page;
  if (mprotect((void*)from, (uintptr_t)(at + ints) - from, PROT_NONE) != 0) MPI_Abort(MPI_COMM_WORLD, 3);
}

/* A root that sends itself more than it has room for gets the error from the call, before the others send.
 * Its part is then done. */
static void refused(int sent, int root) {
  enum { kRoom = 3 };
  int counts[64], places[64];
  int *in = input(sent), *out = guarded((long)kRoom * size);
  MPI_Request request = MPI_REQUEST_NULL;
  for (int r = 0; r < size; ++r) counts[r] = kRoom, places[r] = r * kRoom;
  if (rank != root) MPI_Barrier(MPI_COMM_WORLD);
  expect_class(MPI_Igatherv(in, sent, MPI_INT, out, counts, places, MPI_INT, root, comm, &request),
               rank == root, "the call of a gatherv");
  if (rank == root) {
    expect_block(out + kRoom * rank, rank, 0, sent, kRoom, "the root's own block");
    expect(request == MPI_REQUEST_NULL, "a request of a call that failed");
    take_away(in, sent);
    take_away(out, (long)kRoom * size);
    MPI_Barrier(MPI_COMM_WORLD);
  } else {
    expect_class(MPI_Wait(&request, MPI_STATUS_IGNORE), 0, "a gatherv that its root refuses");
  }
  lives_on();
}

/* The kinds with counts: only the length of a rank's own block differs from its room. The own block is last
 * in the output, directly before the page without access rights. */
static void counted_own(int sent, int room, int root) {
  int rc, counts[64], rooms[64], from[64], to[64];
  for (int r = 0; r < size; ++r) {
    counts[r] = sent, from[r] = r * sent;
    rooms[r] = r == rank ? room : sent, to[r] = (r - rank - 1 + size) % size * sent;
  }
  const long all = (long)sent * (size - 1) + room;
  int* out = guarded(all);
  CALL(rc, Gatherv, gatherv, input(sent), sent, MPI_INT, out, rooms, to, MPI_INT, root, comm);
  expect_class(rc, rank == root && sent > room, "gatherv");
  for (int r = 0; r < size && rank == root; ++r)
    if (r == rank || sent <= room) expect_block(out + to[r], r, 0, sent, rooms[r], "gatherv");
  lives_on();
  out = guarded(rank == root ? room : sent);
  CALL(rc, Scatterv, scatterv, input((long)sent * size), counts, from, MPI_INT, out,
       rank == root ? room : sent, MPI_INT, root, comm);
  expect_class(rc, rank == root && sent > room, "scatterv");
  expect_block(out, root, (long)rank * sent, sent, rank == root ? room : sent, "scatterv");
  lives_on();
  out = guarded(all);
  CALL(rc, Alltoallv, alltoallv, input((long)sent * size), counts, from, MPI_INT, out, rooms, to, MPI_INT,
       comm);
  expect_class(rc, sent > room, "alltoallv");
  for (int r = 0; r < size; ++r) expect_block(out + to[r], r, (long)rank * sent, sent, rooms[r], "alltoallv");
  lives_on();
  if (!begun) return; /* the MPI library does this call */
  out = guarded(all);
  CALL(rc, Allgatherv, allgatherv, input(sent), sent, MPI_INT, out, rooms, to, MPI_INT, comm);
  expect_class(rc, sent > room, "allgatherv");
  for (int r = 0; r < size; ++r) expect_block(out + to[r], r, 0, sent, rooms[r], "allgatherv");
  lives_on();
}

static void own_sides(void) {
  static const int lengths[][2] = {{10, 1},  {1, 10},  {1, 2},        {2, 1},
                                   {3, 300}, {300, 3}, {5000, 20000}, {20000, 5000}};
  group = "a rank's two sides differ";
  for (unsigned i = 0; i < sizeof lengths / sizeof lengths[0]; ++i) {
    const int sent = lengths[i][0], room = lengths[i][1];
    gathers(sent, room, 0);
    gathers(sent, room, size - 1);
    scatters(sent, room, 0);
    scatters(sent, room, size - 1);
    gathers_with_gaps(sent, room, 0);
    if (begun && sent > 3) refused(sent, 0), refused(sent, size - 1);
    allgathers(sent, room);
    alltoalls(sent, room);
    counted_own(sent, room, 0);
    counted_own(sent, room, size - 1);
  }
  report(group);
}

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

/* The next broadcasts are as short as the first root's data, and shorter than the others' room. */
static void overtaken(void) {
  int rc;
  group = "the next calls come first";
  for (int root = 0; root < size; root += size - 1) {
    const int mine = rank == root ? 2 : 100;
    int* data = rank == root ? input(mine) : guarded(mine);
    MPI_Request request;
    expect_class(MPI_Ibcast(data, mine, MPI_INT, root, comm, &request), 0, "a broadcast begins");
    for (int i = 0; i < 5; ++i) {
      int next[2] = {rank == root ? i : -1, rank};
      rc = MPI_Bcast(next, 2, MPI_INT, root, comm);
      expect_class(rc, 0, "the next broadcast");
      expect(next[0] == i && next[1] == root, "the next broadcast: wrong data");
    }
    expect_class(MPI_Wait(&request, MPI_STATUS_IGNORE), 0, "the broadcast that was begun");
    if (rank != root) expect_block(data, root, 0, 2, mine, "the broadcast that was begun");
    lives_on();
  }
  report(group);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const char* only = "";
  for (int i = 1; i < argc; ++i) {
    begun = begun || strcmp(argv[i], "begun") == 0;
    persistent = persistent || strcmp(argv[i], "persistent") == 0;
    serving = serving || strcmp(argv[i], "serving") == 0;
    if (strcmp(argv[i], "only") == 0) only = argv[++i];
  }
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (*only == '\0' || strcmp(only, "own") == 0) own_sides();
  if (*only == '\0' || strcmp(only, "ranks") == 0) ranks_differ();
  if (begun) overtaken();
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return 0;
}
