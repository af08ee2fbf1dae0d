/* Operators, types, communicators and error handlers are freed while collectives still use them. Some
 * operators tell types by their handles. */
#include "check.h"

enum { kLong = 500, kMany = 200 };

static long total(int i) { return (long)size * (size - 1) / 2 + (long)size * i; }

static void sum(void* in, void* out, int* n, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *n; ++i) ((long*)out)[i] += ((long*)in)[i];
}
static void largest(void* in, void* out, int* n, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *n; ++i)
    if (((long*)in)[i] > ((long*)out)[i]) ((long*)out)[i] = ((long*)in)[i];
}

/* Each collective has an operator of its own, freed at once. New operators get the handles that the MPI
 * library has free. */
static void operators(int length) {
  static long in[kMany][kLong], out[kMany][kLong];
  static MPI_Request r[kMany];
  MPI_Op op, others[8];
  for (int i = 0; i < kMany; ++i) {
    for (int k = 0; k < length; ++k) in[i][k] = rank + i;
    MPI_Op_create(i % 2 ? largest : sum, 1, &op);
    MPI_Iallreduce(in[i], out[i], length, MPI_LONG, op, MPI_COMM_WORLD, &r[i]);
    MPI_Op_free(&op);
    expect(op == MPI_OP_NULL, "handle of a freed operator");
    if (i == 0 && rank == 0) MPI_Recv(NULL, 0, MPI_INT, size - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (i == 0 && rank == size - 1) MPI_Send(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD);
  }
  for (int i = 0; i < 8; ++i) MPI_Op_create(largest, 1, &others[i]);
  for (int i = 0; i < kMany; ++i) {
    MPI_Wait(&r[i], MPI_STATUS_IGNORE);
    const long right = i % 2 ? size - 1 + i : total(i);
    for (int k = 0; k < length; ++k) expect(out[i][k] == right, "operator that was freed early");
  }
  for (int i = 0; i < 8; ++i) MPI_Op_free(&others[i]);
}

/* One operator of many collectives, freed after the first of them. */
static void shared_operator(void) {
  static long in[kMany], out[kMany];
  static MPI_Request r[kMany];
  MPI_Op op, copy;
  MPI_Op_create(sum, 1, &op);
  copy = op;
  for (int i = 0; i < kMany; ++i) {
    in[i] = rank + i;
    MPI_Iallreduce(&in[i], &out[i], 1, MPI_LONG, op, MPI_COMM_WORLD, &r[i]);
  }
  MPI_Op_free(&copy);
  MPI_Waitall(kMany, r, MPI_STATUSES_IGNORE);
  for (int i = 0; i < kMany; ++i) expect(out[i] == total(i), "operator of many that was freed early");
}

static MPI_Datatype sums, maxima; /* of two ints each */
static int unknown, copies, deletions;
static void by_type(void* in, void* out, int* n, MPI_Datatype* type) {
  const int* x = in;
  int* y = out;
  for (int i = 0; i < 2 * *n; ++i) {
    if (*type == sums) y[i] += x[i];
    else if (*type == maxima) y[i] = x[i] > y[i] ? x[i] : y[i];
    else ++unknown;
  }
}
static int copied(MPI_Datatype type, int key, void* extra, void* in, void* out, int* flag) {
  (void)type, (void)key, (void)extra, (void)in, (void)out;
  ++copies;
  *flag = 0;
  return MPI_SUCCESS;
}
static int deleted(MPI_Datatype type, int key, void* value, void* extra) {
  (void)type, (void)key, (void)value, (void)extra;
  ++deletions;
  return MPI_SUCCESS;
}

/* gap: bytes after each element, so that the element is packed. */
static MPI_Datatype pair_of_ints(int keyval, int gap) {
  MPI_Datatype pair, type;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_create_resized(pair, 0, 2 * (int)sizeof(int) + gap, &type);
  MPI_Type_free(gap != 0 ? &pair : &type);
  if (gap == 0) type = pair;
  MPI_Type_commit(&type);
  MPI_Type_set_attr(type, keyval, NULL);
  return type;
}

static void begin_by(int way, const int* in, int* out, MPI_Datatype type, MPI_Op op, MPI_Request* r) {
#ifdef PERSISTENT
  if (way == 2) {
    MPI_Allreduce_init(in, out, 1, type, op, MPI_COMM_WORLD, MPI_INFO_NULL, r);
    MPI_Start(r);
    return;
  }
#endif
  if (way == 1) MPI_Iallreduce(in, out, 1, type, op, MPI_COMM_WORLD, r);
  else MPI_Allreduce(in, out, 1, type, op, MPI_COMM_WORLD);
}

/* The operator's function gets the program's handles, also of types that are freed by then. No attribute is
 * copied, and each is deleted once, after the last use. */
static void types(int way, int gap) {
  int keyval = MPI_KEYVAL_INVALID, out[2][2];
  const int in[2] = {rank, 2 * rank};
  MPI_Op op;
  MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL}, nothing = MPI_REQUEST_NULL;
  MPI_Op_create(by_type, 1, &op);
  MPI_Type_create_keyval(copied, deleted, &keyval, NULL);
  sums = pair_of_ints(keyval, gap);
  maxima = pair_of_ints(keyval, gap);
  unknown = copies = deletions = 0;
  begin_by(way, in, out[0], sums, op, &r[0]);
  begin_by(way, in, out[1], maxima, op, &r[1]);
  MPI_Datatype freed[2] = {sums, maxima};
  MPI_Type_free(&freed[0]);
  MPI_Type_free(&freed[1]);
  MPI_Op_free(&op);
  expect(freed[0] == MPI_DATATYPE_NULL && freed[1] == MPI_DATATYPE_NULL, "handle of a freed type");
  MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  for (int i = 0; way == 2 && i < 2; ++i) MPI_Request_free(&r[i]);
  MPI_Wait(&nothing, MPI_STATUS_IGNORE);
  expect(unknown == 0, "the operator got a handle that is not the program's");
  expect(copies == 0 && deletions == 2, "callbacks of attributes");
  expect(out[0][0] == (int)total(0) && out[0][1] == 2 * (int)total(0), "sum by type");
  expect(out[1][0] == size - 1 && out[1][1] == 2 * (size - 1), "maximum by type");
  MPI_Type_free_keyval(&keyval);
}

/* More types at a time than any table has room for, in collectives that move data and do not reduce.
 * Communicator and error handler are freed, too. */
static void everything(void) {
  static int data[kMany][2 * 3];
  static MPI_Request r[kMany];
  MPI_Comm comm;
  MPI_Errhandler handler;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_get_errhandler(comm, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  MPI_Errhandler_free(&handler);
  for (int i = 0; i < kMany; ++i) {
    MPI_Datatype type;
    MPI_Type_vector(2, 2, 4, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int k = 0; k < 6; ++k) data[i][k] = rank == i % size ? i + k : -1;
    MPI_Ibcast(data[i], 1, type, i % size, comm, &r[i]);
    MPI_Type_free(&type);
  }
  MPI_Comm_free(&comm);
  MPI_Waitall(kMany, r, MPI_STATUSES_IGNORE);
  for (int i = 0; i < kMany; ++i)
    for (int k = 0; k < 6; ++k)
      expect(data[i][k] == (rank == i % size || k < 2 || k > 3 ? i + k : -1),
             "broadcast of a type that was freed early");
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  operators(1);
  operators(kLong);
  shared_operator();
  report("operators");
#ifdef PERSISTENT
  const int ways = 3;
#else
  const int ways = 2;
#endif
  for (int way = 0; way < ways; ++way)
    for (int gap = 0; gap < 8; gap += 4) types(way, gap);
  report("types");
  for (int i = 0; i < 3; ++i) everything();
  report("everything");
  MPI_Finalize();
  return 0;
}
