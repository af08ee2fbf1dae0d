/* MPI_BOTTOM with types of absolute addresses, as input and as output of each collective, and in place.
 * "begun" and "persistent" as in calls.h; "reduce": only this collective. */
#include <stddef.h>

#include "calls.h"

enum { kMost = 8 };
struct pair {
  int a;
  double b;
};
static struct pair own, all[kMost]; /* memory at absolute addresses */
static MPI_Datatype at_own, at_each, plain;

/* A type at all[0]. Its extent equals the plain type's, so a count continues through `all`. */
static void make_types(void) {
  const int lengths[2] = {1, 1};
  const MPI_Datatype parts[2] = {MPI_INT, MPI_DOUBLE};
  MPI_Aint places[2], absolute[1];
  MPI_Datatype made;
  const MPI_Aint offsets[2] = {offsetof(struct pair, a), offsetof(struct pair, b)};
  MPI_Type_create_struct(2, lengths, offsets, parts, &made);
  MPI_Type_create_resized(made, 0, sizeof(struct pair), &plain);
  MPI_Type_commit(&plain);
  MPI_Type_free(&made);
  MPI_Get_address(&own.a, &places[0]);
  MPI_Get_address(&own.b, &places[1]);
  MPI_Type_create_struct(2, lengths, places, parts, &at_own);
  MPI_Type_commit(&at_own);
  MPI_Get_address(&all[0], &absolute[0]);
  MPI_Type_create_hindexed(1, &(int){1}, absolute, plain, &made);
  MPI_Type_create_resized(made, 0, sizeof(struct pair), &at_each);
  MPI_Type_commit(&at_each);
  MPI_Type_free(&made);
}

static void set(struct pair* p, int value) {
  p->a = value;
  p->b = value + 0.5;
}
static int is(const struct pair* p, int value) { return p->a == value && p->b == value + 0.5; }
static void fill(int first) {
  for (int i = 0; i < size; ++i) set(&all[i], first + i);
}
static void expect_all(int first, int step, const char* what) {
  for (int i = 0; i < size; ++i) expect(is(&all[i], first + step * i), what);
}

static void add(void* in, void* out, int* n, MPI_Datatype* type) {
  MPI_Aint low, extent;
  MPI_Type_get_true_extent(*type, &low, &extent);
  for (int i = 0; i < *n; ++i) {
    const struct pair* x = (const struct pair*)((const char*)in + low) + i;
    struct pair* y = (struct pair*)((char*)out + low) + i;
    y->a += x->a;
    y->b += x->b;
  }
}

static void moved(void) {
  struct pair given, got[kMost];
  number counts[kMost];
  place places[kMost];
  const MPI_Comm comm = MPI_COMM_WORLD;
  for (int i = 0; i < size; ++i) {
    counts[i] = 1;
    places[i] = size - 1 - i; /* in reverse order */
  }
  for (int root = 0; root < size; ++root) {
    set(&own, rank == root ? 7 : -1);
    DO(Bcast, bcast, MPI_BOTTOM, 1, at_own, root, comm);
    expect(is(&own, 7), "Bcast");
    fill(-1);
    set(&own, rank);
    DO(Gather, gather, MPI_BOTTOM, 1, at_own, MPI_BOTTOM, 1, at_each, root, comm);
    if (rank == root) expect_all(0, 1, "Gather");
    fill(-100);
    set(&all[rank], rank);
    set(&given, rank);
    DO(Gather, gather, rank == root ? MPI_IN_PLACE : &given, 1, plain, MPI_BOTTOM, 1, at_each, root, comm);
    if (rank == root) expect_all(0, 1, "Gather in place");
    fill(-1);
    DO(Gatherv, gatherv, MPI_BOTTOM, 1, at_own, MPI_BOTTOM, counts, places, at_each, root, comm);
    if (rank == root) expect_all(size - 1, -1, "Gatherv");
    fill(rank == root ? 10 : -1);
    set(&own, -1);
    DO(Scatter, scatter, MPI_BOTTOM, 1, at_each, MPI_BOTTOM, 1, at_own, root, comm);
    expect(is(&own, 10 + rank), "Scatter");
    DO(Scatterv, scatterv, MPI_BOTTOM, counts, places, at_each, MPI_BOTTOM, 1, at_own, root, comm);
    expect(is(&own, 10 + size - 1 - rank), "Scatterv");
  }
  set(&own, rank);
  fill(-1);
  DO(Allgather, allgather, MPI_BOTTOM, 1, at_own, MPI_BOTTOM, 1, at_each, comm);
  expect_all(0, 1, "Allgather");
  fill(-100);
  set(&all[rank], rank);
  DO(Allgather, allgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, MPI_BOTTOM, 1, at_each, comm);
  expect_all(0, 1, "Allgather in place");
  DO(Allgatherv, allgatherv, MPI_BOTTOM, 1, at_own, MPI_BOTTOM, counts, places, at_each, comm);
  expect_all(size - 1, -1, "Allgatherv");
  fill(100 * rank);
  DO(Alltoall, alltoall, MPI_BOTTOM, 1, at_each, got, 1, plain, comm);
  for (int i = 0; i < size; ++i) expect(is(&got[i], 100 * i + rank), "Alltoall");
  DO(Alltoallv, alltoallv, MPI_BOTTOM, counts, places, at_each, got, counts, places, plain, comm);
  for (int i = 0; i < size; ++i) expect(is(&got[size - 1 - i], 100 * i + size - 1 - rank), "Alltoallv");
  DO(Alltoall, alltoall, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, MPI_BOTTOM, 1, at_each, comm);
  expect_all(rank, 100, "Alltoall in place");
}

static void reduced(void) {
  MPI_Op op;
  MPI_Op_create(add, 1, &op);
  const MPI_Comm comm = MPI_COMM_WORLD;
  struct pair sum = {0, 0};
  set(&own, rank);
  DO(Allreduce, allreduce, MPI_IN_PLACE, MPI_BOTTOM, 1, at_own, op, comm);
  sum.a = size * (size - 1) / 2;
  sum.b = sum.a + size * 0.5;
  expect(own.a == sum.a && own.b == sum.b, "Allreduce in place");
  set(&own, rank);
  DO(Exscan, exscan, MPI_IN_PLACE, MPI_BOTTOM, 1, at_own, op, comm);
  expect(rank == 0 || own.a == rank * (rank - 1) / 2, "Exscan in place");
  const number ones[kMost] = {1, 1, 1, 1, 1, 1, 1, 1};
  fill(10 * rank);
  DO(Reduce_scatter_block, reduce_scatter_block, MPI_IN_PLACE, MPI_BOTTOM, 1, at_each, op, comm);
  expect(all[0].a == 10 * sum.a + size * rank, "Reduce_scatter_block in place");
  fill(10 * rank);
  DO(Reduce_scatter, reduce_scatter, MPI_IN_PLACE, MPI_BOTTOM, ones, at_each, op, comm);
  expect(all[0].a == 10 * sum.a + size * rank, "Reduce_scatter in place");
  fill(rank);
  DO(Scan, scan, MPI_IN_PLACE, MPI_BOTTOM, size, at_each, op, comm);
  for (int i = 0; i < size; ++i) expect(all[i].a == rank * (rank + 1) / 2 + i * (rank + 1), "Scan in place");
  MPI_Op_free(&op);
}

/* Natively Open MPI 4.1 gives wrong results here. */
static void reduced_at_root(void) {
  MPI_Op op;
  MPI_Op_create(add, 1, &op);
  for (int root = 0; root < size; ++root) {
    set(&own, rank);
    if (rank == root) DO(Reduce, reduce, MPI_IN_PLACE, MPI_BOTTOM, 1, at_own, op, root, MPI_COMM_WORLD);
    else DO(Reduce, reduce, MPI_BOTTOM, NULL, 1, at_own, op, root, MPI_COMM_WORLD);
    expect(rank == root ? own.a == size * (size - 1) / 2 && own.b == own.a + size * 0.5 : is(&own, rank),
           "Reduce");
  }
  MPI_Op_free(&op);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  begun = argc > 1 && strcmp(argv[1], "begun") == 0;
  persistent = argc > 1 && strcmp(argv[1], "persistent") == 0;
  make_types();
  if (argc > 1 && strcmp(argv[1], "reduce") == 0) {
    reduced_at_root();
    report("reduced at a root");
  } else {
    moved();
    report("moved");
    reduced();
    report("reduced");
  }
  MPI_Type_free(&at_own);
  MPI_Type_free(&at_each);
  MPI_Type_free(&plain);
  MPI_Finalize();
  return 0;
}
