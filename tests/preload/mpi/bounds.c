/* Lengths that differ: what is written is bounded by the receiver's own arguments, whoever has too little room gets MPI_ERR_TRUNCATE, all
 * others get what was sent, and the communicator lives on. Buffers end at a page that nobody may touch.
 *   bounds [begun|persistent] [only GROUP] [apart]
 * apart: no calls of a few bytes at all ranks, where all have to wait for all. */
#define _GNU_SOURCE
#include "calls.h"

#include <sys/mman.h>
#include <unistd.h>

static MPI_Comm comm;
static const char* group;
static int apart;

/* `ints` ints that end at a page that can't be read or written; all of them -1. */
static int* guarded(long ints) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = (size_t)ints * sizeof(int);
  const size_t room = (bytes + page - 1) / page * page + page;
  char* at = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED || mprotect(at + room, page, PROT_NONE) != 0) MPI_Abort(MPI_COMM_WORLD, 3);
  int* ints_at = (int*)(at + room - bytes);
  for (long i = 0; i < ints; ++i) ints_at[i] = -1;
  return ints_at;
}

static int value(int from, long i) { return 1000 * from + (int)(i % 1000); }

static int* input(long ints) {
  int* in = guarded(ints);
  for (long i = 0; i < ints; ++i) in[i] = value(rank, i);
  return in;
}

static int class_of(int rc) {
  int class = MPI_SUCCESS;
  if (rc != MPI_SUCCESS) MPI_Error_class(rc, &class);
  return class;
}

static void expect_class(int rc, int truncated, const char* what) {
  const int class = class_of(rc);
  ++checks;
  if (class == (truncated ? MPI_ERR_TRUNCATE : MPI_SUCCESS)) return;
  if (failures++ < 20) fprintf(stderr, "rank %d of %d: %s, %s: error class %d\n", rank, size, group, what, class);
}

/* Of a block that came whole the `room` or fewer elements that were sent. */
static void expect_block(const int* at, int from, long first, long sent, long room, const char* what) {
  long wrong = 0;
  for (long i = 0; i < room; ++i) wrong += at[i] != (i < sent ? value(from, first + i) : -1);
  ++checks;
  if (wrong == 0 || failures++ >= 20) return;
  fprintf(stderr, "rank %d of %d: %s, %s: %ld wrong elements from rank %d\n", rank, size, group, what, wrong, from);
}

static void lives_on(void) {
  int one = 1, sum = 0;
  for (int i = 0; i < 3; ++i) {
    expect_class(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm), 0, "the next allreduce");
    expect(sum == size, "the next allreduce: wrong sum");
    expect_class(MPI_Bcast(&sum, 1, MPI_INT, i % size, comm), 0, "the next broadcast");
  }
}

/* What the call or its completion returns. */
#ifdef PERSISTENT
#define INIT_CALL(Name, ...) NAME(MPI_##Name##_init)(__VA_ARGS__, MPI_INFO_NULL, &request)
#else
#define INIT_CALL(Name, ...) (MPI_Abort(MPI_COMM_WORLD, 2), MPI_ERR_OTHER)
#endif
#define CALL(rc, Name, name, ...)                                        \
  do {                                                                   \
    MPI_Request request = MPI_REQUEST_NULL;                              \
    if (persistent) {                                                    \
      rc = INIT_CALL(Name, __VA_ARGS__);                                 \
      if (rc == MPI_SUCCESS) rc = MPI_Start(&request);                   \
      if (rc == MPI_SUCCESS) rc = MPI_Wait(&request, MPI_STATUS_IGNORE); \
      if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);       \
    } else if (begun) {                                                  \
      rc = NAME(MPI_I##name)(__VA_ARGS__, &request);                     \
      if (rc == MPI_SUCCESS) rc = MPI_Wait(&request, MPI_STATUS_IGNORE); \
    } else {                                                             \
      rc = NAME(MPI_##Name)(__VA_ARGS__);                                \
    }                                                                    \
  } while (0)

/* All send `sent` ints, or blocks of them, and have room for `room`. */
static void gathers(int sent, int room, int root) {
  int rc, *in = input(sent), *out = guarded((long)room * size);
  CALL(rc, Gather, gather, in, sent, MPI_INT, out, room, MPI_INT, root, comm);
  expect_class(rc, rank == root && sent > room, "gather");
  for (int r = 0; r < size && rank == root && sent <= room; ++r) expect_block(out + (long)r * room, r, 0, sent, room, "gather");
  lives_on();
}

static void allgathers(int sent, int room) {
  int rc, *in = input(sent), *out = guarded((long)room * size);
  CALL(rc, Allgather, allgather, in, sent, MPI_INT, out, room, MPI_INT, comm);
  expect_class(rc, sent > room, "allgather");
  for (int r = 0; r < size && sent <= room; ++r) expect_block(out + (long)r * room, r, 0, sent, room, "allgather");
  lives_on();
}

static void alltoalls(int sent, int room) {
  int rc, *in = input((long)sent * size), *out = guarded((long)room * size);
  CALL(rc, Alltoall, alltoall, in, sent, MPI_INT, out, room, MPI_INT, comm);
  expect_class(rc, sent > room, "alltoall");
  for (int r = 0; r < size && sent <= room; ++r) expect_block(out + (long)r * room, r, (long)rank * sent, sent, room, "alltoall");
  lives_on();
}

/* Types whose elements have gaps are packed, on whichever side they are. */
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

static void own_sides(void) {
  static const int lengths[][2] = {{10, 1}, {1, 10}, {1, 2}, {2, 1}, {3, 300}, {300, 3}, {5000, 20000}, {20000, 5000}};
  group = "a rank's two sides differ";
  for (unsigned i = 0; i < sizeof lengths / sizeof lengths[0]; ++i) {
    const int sent = lengths[i][0], room = lengths[i][1];
    gathers(sent, room, 0);
    gathers(sent, room, size - 1);
    gathers_with_gaps(sent, room, 0);
    allgathers(sent, room);
    alltoalls(sent, room);
  }
  report(group);
}

/* All have to wait for all, so the library itself does the call: of two ranks the one with less is truncated. */
static void blocks_of_two(int mine, int theirs) {
  int rc, *in = input(2 * mine), *out = guarded(2 * mine);
  CALL(rc, Allgather, allgather, in, mine, MPI_INT, out, mine, MPI_INT, comm);
  expect_class(rc, mine < theirs, "allgather");
  lives_on();
  CALL(rc, Alltoall, alltoall, in, mine, MPI_INT, out, mine, MPI_INT, comm);
  expect_class(rc, mine < theirs, "alltoall");
  lives_on();
}

/* Those whose data go one way: as in the library, only the receiver sees a difference. */
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
  CALL(rc, Gather, gather, rank == root ? MPI_IN_PLACE : input(mine), mine, MPI_INT, out, mine, MPI_INT, root, comm);
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

/* Blocks that only their two ends know of. */
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
  CALL(rc, Scatterv, scatterv, input((long)mine * size), counts, places, MPI_INT, out, mine, MPI_INT, root, comm);
  expect_class(rc, rank != root && others > mine, "scatterv");
  if (rank != root && others <= mine) expect_block(out, root, (long)rank * others, others, mine, "scatterv");
  lives_on();
}

static void ranks_differ(void) {
  static const int lengths[][2] = {{10, 1}, {1, 10}, {1, 2}, {3, 300}, {300, 3}};
  group = "ranks differ";
  MPI_Comm own = comm;
  for (unsigned i = 0; i < sizeof lengths / sizeof lengths[0]; ++i) {
    for (int root = 0; root < size; root += size - 1) {
      const int mine = lengths[i][rank == root ? 0 : 1], others = lengths[i][rank == root ? 1 : 0];
      counted(mine, others, root);
      if (!persistent) one_way(mine, others, root);
    }
    if (size != 2 || begun || persistent || (apart && lengths[i][0] + lengths[i][1] < 4)) continue;
    MPI_Comm_dup(own, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    blocks_of_two(lengths[i][rank], lengths[i][1 - rank]);
    MPI_Comm_free(&comm);
    comm = own;
  }
  report(group);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const char* only = "";
  for (int i = 1; i < argc; ++i) {
    begun = begun || strcmp(argv[i], "begun") == 0;
    persistent = persistent || strcmp(argv[i], "persistent") == 0;
    apart = apart || strcmp(argv[i], "apart") == 0;
    if (strcmp(argv[i], "only") == 0) only = argv[++i];
  }
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (*only == '\0' || strcmp(only, "own") == 0) own_sides();
  if (*only == '\0' || strcmp(only, "ranks") == 0) ranks_differ();
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return 0;
}
