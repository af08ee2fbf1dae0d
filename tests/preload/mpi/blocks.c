/* Every collective that moves data, also with types that differ from rank to rank and describe the same
 * numbers: ints, pairs of ints, every second int of an array, and ints out of order. Each int gives its
 * sender and its receiver. "begun" as an argument: non-blocking functions; "persistent": persistent
 * functions. "alike": all ranks use the same types (Open MPI 4.1.4's allgatherv fails otherwise). */
#include <stdint.h>

#include "../../net/mpi/finish.h"
#include "calls.h"

static int alike;

/* A rank's description of ints: `ints` of them per element. The i-th int of element e is at e x stride +
 * place[i], in ints. */
struct view {
  MPI_Datatype type;
  int ints, stride, place[4];
};
static struct view views[5];
enum { kViews = 5 };

static void make_views(void) {
  views[0] = (struct view){MPI_INT, 1, 1, {0}};
  views[1] = (struct view){MPI_DATATYPE_NULL, 2, 2, {0, 1}};
  MPI_Type_contiguous(2, MPI_INT, &views[1].type);
  views[2] = (struct view){MPI_DATATYPE_NULL, 2, 4, {0, 2}};
  MPI_Datatype spread;
  MPI_Type_vector(2, 1, 2, MPI_INT, &spread);
  MPI_Type_create_resized(spread, 0, 4 * sizeof(int), &views[2].type);
  MPI_Type_free(&spread);
  views[3] = (struct view){MPI_DATATYPE_NULL, 4, 4, {3, 1, 0, 2}}; /* no gaps, but not in order */
  const int places[] = {3, 1, 0, 2};
  MPI_Type_create_indexed_block(4, 1, places, MPI_INT, &views[3].type);
  views[4] = (struct view){MPI_DATATYPE_NULL, 4, 6, {1, 2, 3, 5}}; /* begins after its address */
  const int lengths[] = {3, 1};
  const int begins[] = {1, 5};
  MPI_Datatype holes;
  MPI_Type_indexed(2, lengths, begins, MPI_INT, &holes);
  MPI_Type_create_resized(holes, 0, 6 * sizeof(int), &views[4].type);
  MPI_Type_free(&holes);
  for (int v = 1; v < kViews; ++v) MPI_Type_commit(&views[v].type);
}

enum { kMost = 1 << 21 }; /* ints of a buffer */
static int32_t *in, *out, *expected;

static int32_t word(int from, int to, int i) {
  return (int32_t)(((unsigned)from << 26) ^ ((unsigned)to << 20) ^ ((unsigned)i & 0xfffff)) | 1;
}

/* A block of `ints` ints through view v, from int `at` on. */
static void put(int32_t* buffer, size_t at, const struct view* v, int ints, int from, int to) {
  for (int i = 0; i < ints; ++i)
    buffer[at + (size_t)(i / v->ints * v->stride + v->place[i % v->ints])] = word(from, to, i);
}

static void blank(void) {
  memset(in, 0, kMost * sizeof *in);
  for (int i = 0; i < kMost; ++i) out[i] = expected[i] = -2 * i;
}
static void check_all(size_t ints, const char* what, int n) {
  char text[100];
  snprintf(text, sizeof text, "%s of %d ints", what, n);
  same(out, expected, ints * sizeof *out, text);
}

static const struct view* mine(int turn) { return &views[((alike ? 0 : rank) + turn) % kViews]; }
static size_t span(const struct view* v, int ints) { return (size_t)(ints / v->ints * v->stride); }

static void rooted(int n, int turn, int root) {
  const struct view *s = mine(turn), *r = mine(turn + 1 + turn % 3);
  const int in_place = turn % 2;
  const size_t step = span(r, n), other = span(s, n);
  blank();
  if (rank == root) put(out, 0, s, n, root, 0);
  put(expected, 0, s, n, root, 0);
  DO(Bcast, bcast, out, n / s->ints, s->type, root, MPI_COMM_WORLD);
  check_all(other + 8, "broadcast", n);
  blank();
  put(in, 0, s, n, rank, root);
  if (rank == root) {
    for (int p = 0; p < size; ++p) put(expected, (size_t)p * step, r, n, p, root);
    if (in_place) put(out, (size_t)rank * step, r, n, rank, root);
  }
  DO(Gather, gather, in_place && rank == root ? MPI_IN_PLACE : in, n / s->ints, s->type,
     rank == root ? out : NULL, rank == root ? n / r->ints : -1, rank == root ? r->type : MPI_DATATYPE_NULL,
     root, MPI_COMM_WORLD);
  check_all((size_t)size * step + 8, "gather", n);
  blank();
  if (rank == root)
    for (int p = 0; p < size; ++p) put(in, (size_t)p * other, s, n, root, p);
  if (!(in_place && rank == root)) put(expected, 0, r, n, root, rank);
  DO(Scatter, scatter, rank == root ? in : NULL, rank == root ? n / s->ints : -1,
     rank == root ? s->type : MPI_DATATYPE_NULL, in_place && rank == root ? MPI_IN_PLACE : out, n / r->ints,
     r->type, root, MPI_COMM_WORLD);
  check_all(step + 8, "scatter", n);
}

static void for_all(int n, int turn) {
  const struct view *s = mine(turn), *r = mine(turn + 1 + turn % 3);
  const size_t step = span(r, n), other = span(s, n);
  const int in_place = turn % 2;
  blank();
  put(in, 0, s, n, rank, 0);
  for (int p = 0; p < size; ++p) put(expected, (size_t)p * step, r, n, p, 0);
  if (in_place) put(out, (size_t)rank * step, r, n, rank, 0);
  DO(Allgather, allgather, in_place ? MPI_IN_PLACE : in, n / s->ints, s->type, out, n / r->ints, r->type,
     MPI_COMM_WORLD);
  check_all((size_t)size * step + 8, "allgather", n);
  blank();
  for (int p = 0; p < size; ++p) {
    put(in, (size_t)p * other, s, n, rank, p);
    put(expected, (size_t)p * step, r, n, p, rank);
    if (in_place) put(out, (size_t)p * step, r, n, rank, p);
  }
  DO(Alltoall, alltoall, in_place ? MPI_IN_PLACE : in, n / s->ints, s->type, out, n / r->ints, r->type,
     MPI_COMM_WORLD);
  check_all((size_t)size * step + 8, "alltoall", n);
}

/* Blocks of different sizes, in reverse order, with space between them. A rank's block may be empty. */
static int ints_of(int n, int a, int b) { return n * ((a + 2 * b) % 3) / 4 * 4; }
static void irregular_gathers(int n, int turn, int root) {
  const struct view *s = mine(turn), *r = mine(turn + 2);
  const int in_place = turn % 2;
  number out_counts[64];
  place out_places[64];
  int at = 0;
  blank();
  for (int p = size - 1; p >= 0; --p) {
    out_counts[p] = ints_of(n, p, 0) / r->ints;
    out_places[p] = at + 1;
    at += out_counts[p] + 2;
    if (rank == root) put(expected, (size_t)(out_places[p] * r->stride), r, ints_of(n, p, 0), p, root);
  }
  put(in, 0, s, ints_of(n, rank, 0), rank, root);
  if (in_place && rank == root)
    put(out, (size_t)(out_places[rank] * r->stride), r, ints_of(n, rank, 0), rank, root);
  DO(Gatherv, gatherv, in_place && rank == root ? MPI_IN_PLACE : in, ints_of(n, rank, 0) / s->ints, s->type,
     rank == root ? out : NULL, rank == root ? out_counts : NULL, rank == root ? out_places : NULL, r->type,
     root, MPI_COMM_WORLD);
  check_all((size_t)(at * r->stride) + 8, "gatherv", n);
  blank();
  for (int p = 0; p < size; ++p)
    put(expected, (size_t)(out_places[p] * r->stride), r, ints_of(n, p, 0), p, 0);
  put(in, 0, s, ints_of(n, rank, 0), rank, 0);
  if (in_place) put(out, (size_t)(out_places[rank] * r->stride), r, ints_of(n, rank, 0), rank, 0);
  DO(Allgatherv, allgatherv, in_place ? MPI_IN_PLACE : in, ints_of(n, rank, 0) / s->ints, s->type, out,
     out_counts, out_places, r->type, MPI_COMM_WORLD);
  check_all((size_t)(at * r->stride) + 8, "allgatherv", n);
}

static void irregular_scatter(int n, int turn, int root) {
  const struct view *s = mine(turn), *r = mine(turn + 2);
  const int in_place = turn % 2;
  number in_counts[64];
  place in_places[64];
  int at = 0;
  blank();
  for (int p = size - 1; p >= 0; --p) {
    in_counts[p] = ints_of(n, p, 0) / s->ints;
    in_places[p] = at + 1;
    at += in_counts[p] + 2;
    if (rank == root) put(in, (size_t)(in_places[p] * s->stride), s, ints_of(n, p, 0), root, p);
  }
  if (!(in_place && rank == root)) put(expected, 0, r, ints_of(n, rank, 0), root, rank);
  DO(Scatterv, scatterv, rank == root ? in : NULL, rank == root ? in_counts : NULL,
     rank == root ? in_places : NULL, s->type, in_place && rank == root ? MPI_IN_PLACE : out,
     ints_of(n, rank, 0) / r->ints, r->type, root, MPI_COMM_WORLD);
  check_all(span(r, ints_of(n, rank, 0)) + 8, "scatterv", n);
}

static void irregular_alltoall(int n, int turn) {
  const struct view *s = mine(turn), *r = mine(turn + 2);
  const int in_place = turn % 2;
  number in_counts[64], out_counts[64];
  place in_places[64], out_places[64];
  int at = 0, before = 0;
  blank();
  for (int p = size - 1; p >= 0; --p) {
    const int sends = in_place ? ints_of(n, p + rank, 0) : ints_of(n, rank, p),
              gets = in_place ? sends : ints_of(n, p, rank);
    out_counts[p] = gets / r->ints;
    out_places[p] = at + 1;
    at += out_counts[p] + 2;
    in_counts[p] = sends / s->ints;
    in_places[p] = before;
    before += in_counts[p] + 1;
    put(in, (size_t)(in_places[p] * s->stride), s, sends, rank, p);
    put(expected, (size_t)(out_places[p] * r->stride), r, gets, p, rank);
    if (in_place) put(out, (size_t)(out_places[p] * r->stride), r, sends, rank, p);
  }
  DO(Alltoallv, alltoallv, in_place ? MPI_IN_PLACE : in, in_counts, in_places, s->type, out, out_counts,
     out_places, r->type, MPI_COMM_WORLD);
  check_all((size_t)(at * r->stride) + 8, "alltoallv", n);
}

static void irregular(int n, int turn, int root) {
  irregular_gathers(n, turn, root);
  irregular_scatter(n, turn, root);
  irregular_alltoall(n, turn);
}

/* The data to send lie between the data to receive: two regions of one array that do not overlap. */
static void between(void) {
  number in_counts[64], out_counts[64];
  place in_places[64], out_places[64];
  blank();
  for (int p = 0; p < size; ++p) {
    in_counts[p] = out_counts[p] = 3;
    in_places[p] = 8 * p;
    out_places[p] = 8 * p;
    put(out, (size_t)in_places[p], &views[0], 3, rank, p);
    put(expected, (size_t)in_places[p], &views[0], 3, rank, p);
    put(expected, (size_t)out_places[p] + 4, &views[0], 3, p, rank);
  }
  DO(Alltoallv, alltoallv, out, in_counts, in_places, MPI_INT, out + 4, out_counts, out_places, MPI_INT,
     MPI_COMM_WORLD);
  check_all((size_t)size * 8, "alltoallv between its own blocks", 3);
  /* Displacements count backwards from the end. */
  blank();
  for (int p = 0; p < size; ++p) {
    out_places[p] = -4 * p;
    put(expected, (size_t)(4 * (size - 1 - p)), &views[0], 3, p, 0);
  }
  put(in, 0, &views[0], 3, rank, 0);
  DO(Allgatherv, allgatherv, in, 3, MPI_INT, out + 4 * (size - 1), out_counts, out_places, MPI_INT,
     MPI_COMM_WORLD);
  check_all((size_t)size * 4, "allgatherv backwards", 3);
}

/* A rank that gives or gets no data needs no buffer for them. Rank 0 gives 3 ints, and the last rank gets
 * them. */
static void without_buffers(void) {
  number in_counts[64] = {0}, out_counts[64] = {0};
  place places[64] = {0};
  const int gets = rank == size - 1, gives = rank == 0;
  const int32_t* const from = gives ? in : NULL;
  blank();
  put(in, 0, &views[0], 3, 0, 0);
  put(expected, 0, &views[0], 3, 0, 0);
  out_counts[0] = 3;
  DO(Allgatherv, allgatherv, from, gives ? 3 : 0, MPI_INT, out, out_counts, places, MPI_INT, MPI_COMM_WORLD);
  check_all(8, "allgatherv without some inputs", 3);
  for (int i = 0; i < 3; ++i) out[i] = -1;
  DO(Gatherv, gatherv, from, gives ? 3 : 0, MPI_INT, gets ? out : NULL, out_counts, places, MPI_INT, size - 1,
     MPI_COMM_WORLD);
  if (gets) check_all(8, "gatherv without some buffers", 3);
  for (int i = 0; i < 3; ++i) out[i] = -1;
  in_counts[size - 1] = 3;
  DO(Scatterv, scatterv, from, in_counts, places, MPI_INT, gets ? out : NULL, gets ? 3 : 0, MPI_INT, 0,
     MPI_COMM_WORLD);
  if (gets) check_all(8, "scatterv without some buffers", 3);
  for (int i = 0; i < 3; ++i) out[i] = -1;
  if (!gives) in_counts[size - 1] = 0;
  if (!gets) out_counts[0] = 0;
  DO(Alltoallv, alltoallv, from, in_counts, places, MPI_INT, gets ? out : NULL, out_counts, places, MPI_INT,
     MPI_COMM_WORLD);
  if (gets) check_all(8, "alltoallv without some buffers", 3);
}

/* The same arguments again and again with other data. Every few rounds the same arrays hold other counts and
 * displacements. */
enum { kRepeated = 7, kEach = 20, kMostRanks = 64 };
static void repeat(int kind, int round) {
  static int32_t sent[kEach * kMostRanks], got[kEach * kMostRanks], wanted[kEach * kMostRanks];
  static number in_counts[kMostRanks], out_counts[kMostRanks];
  static place in_places[kMostRanks], out_places[kMostRanks];
  const struct view* const v = &views[0];
  const int shift = round / 4, root = round / 8 % size, mine = (rank + shift) % 3 * 4;
  memset(got, -1, sizeof got);
  memset(wanted, -1, sizeof wanted);
  for (int p = 0; p < size; ++p) {
    out_counts[p] = (p + shift) % 3 * 4; /* p's count for each rank */
    in_counts[p] = mine;
    in_places[p] = p * kEach;
    out_places[p] = p * kEach + shift % 2;
    put(sent, (size_t)p * kEach, v, kEach, rank, p + round);
    const size_t at = (size_t)p * kEach, there = (size_t)out_places[p];
    if (kind == 0 && rank == root) put(wanted, (size_t)p * 4, v, 4, p, round);
    if (kind == 2) put(wanted, at, v, kEach, p, rank + round);
    if ((kind == 3 && rank == root) || kind == 5) put(wanted, there, v, (int)out_counts[p], p, round);
    if (kind == 6) put(wanted, there, v, (int)out_counts[p], p, rank + round);
  }
  if (kind == 1) put(wanted, 0, v, kEach, root, rank + round);
  if (kind == 4) put(wanted, 0, v, mine, root, rank + round);
  if (kind == 0) DO(Gather, gather, sent, 4, MPI_INT, got, 4, MPI_INT, root, MPI_COMM_WORLD);
  if (kind == 1) DO(Scatter, scatter, sent, kEach, MPI_INT, got, kEach, MPI_INT, root, MPI_COMM_WORLD);
  if (kind == 2) DO(Alltoall, alltoall, sent, kEach, MPI_INT, got, kEach, MPI_INT, MPI_COMM_WORLD);
  if (kind == 3)
    DO(Gatherv, gatherv, sent, mine, MPI_INT, got, out_counts, out_places, MPI_INT, root, MPI_COMM_WORLD);
  if (kind == 4)
    DO(Scatterv, scatterv, sent, out_counts, in_places, MPI_INT, got, mine, MPI_INT, root, MPI_COMM_WORLD);
  if (kind == 5)
    DO(Allgatherv, allgatherv, sent, mine, MPI_INT, got, out_counts, out_places, MPI_INT, MPI_COMM_WORLD);
  if (kind == 6)
    DO(Alltoallv, alltoallv, sent, in_counts, in_places, MPI_INT, got, out_counts, out_places, MPI_INT,
       MPI_COMM_WORLD);
  same(got, wanted, sizeof got, "the same arguments again");
}

static void again(void) {
  enum { kRounds = 24 };
  for (int kind = 0; kind < kRepeated; ++kind)
    for (int round = 0; round < kRounds; ++round) repeat(kind, round);
  for (int round = 0; round < kRounds; ++round)
    for (int kind = 0; kind < kRepeated; ++kind) repeat(kind, round);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "begun") == 0) begun = 1;
    if (strcmp(argv[i], "persistent") == 0) persistent = 1;
    if (strcmp(argv[i], "alike") == 0) alike = 1;
  }
  in = malloc(kMost * sizeof *in);
  out = malloc(kMost * sizeof *out);
  expected = malloc(kMost * sizeof *expected);
  make_views();
  const int sizes[] = {0, 4, 12, 512, 24000};
  for (int s = 0; s < 5; ++s)
    for (int turn = 0; turn < (s < 4 ? 10 : 3); ++turn) rooted(sizes[s], turn, turn % size);
  report("rooted");
  for (int s = 0; s < 5; ++s)
    for (int turn = 0; turn < (s < 4 ? 10 : 3); ++turn) for_all(sizes[s], turn);
  report("for all");
  for (int s = 1; s < 5; ++s)
    for (int turn = 0; turn < (s < 4 ? 10 : 3); ++turn) irregular(sizes[s], turn, turn % size);
  report("irregular");
  between();
  without_buffers();
  report("between");
  if (size > 1) again(); /* a single rank uses the MPI library, and MPICH 4.0's own results are then wrong */
  report("again");
  for (int v = 1; v < kViews; ++v) MPI_Type_free(&views[v].type);
  free(in);
  free(out);
  free(expected);
  return finish(0);
}
