/* Lengths that differ. A call writes no more than the receiver's own arguments allow. A rank with too little
 * room gets MPI_ERR_TRUNCATE, all others get their data, and the communicator stays usable. Buffers end at a
 * page without access rights. Usage: bounds [begun|persistent] [only GROUP] [serving]. "serving": only calls
 * that Fermata does and after which it keeps the communicator. */
#define _GNU_SOURCE
#include "bounds.h"
#include "bounds_of_ranks.h"

#include <stdint.h>

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
