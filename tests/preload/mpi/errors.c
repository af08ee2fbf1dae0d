/* The MPI library reports some wrong calls and carries out others. The preload gives the same results.
 * Operators run on the thread that called MPI, if no other thread may run them. Usage: errors
 * [completions] */
#define _GNU_SOURCE
#include "calls.h"

#include <sys/syscall.h>
#include <unistd.h>

/* Adds the error class to the digest. */
static void note(int rc) {
  const int class = class_of(rc);
  same(&class, &class, sizeof class, "class");
}

static void works(MPI_Comm comm) {
  int one = 1, sum = 0;
  note(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
  expect(sum == size, "the communicator is broken");
}

/* All ranks make the wrong call, so that none waits. */
static void uncommitted(MPI_Comm comm) {
  MPI_Datatype type;
  int in[64] = {0}, out[64] = {0}, counts[16], places[16];
  MPI_Request request;
  MPI_Type_contiguous(2, MPI_INT, &type);
  for (int r = 0; r < size; ++r) counts[r] = 1, places[r] = r;
  note(MPI_Bcast(in, 1, type, 0, comm));
  const int rc = MPI_Ibcast(in, 1, type, 0, comm, &request);
  if (rc == MPI_SUCCESS) MPI_Wait(&request, MPI_STATUS_IGNORE);
  note(rc);
  note(MPI_Gather(in, 1, type, out, 2, MPI_INT, 0, comm));
  note(MPI_Allgather(in, 1, type, out, 1, type, comm));
  note(MPI_Alltoall(in, 1, type, out, 1, type, comm));
  note(MPI_Allgatherv(in, 1, type, out, counts, places, type, comm));
  note(MPI_Alltoallv(in, counts, places, type, out, counts, places, type, comm));
  works(comm);
  MPI_Type_commit(&type);
  note(MPI_Bcast(in, 1, type, 0, comm));
  note(MPI_Allgather(in, 1, type, out, 1, type, comm));
  works(comm);
  MPI_Type_free(&type);
}

/* Erroneous calls that the MPI libraries carry out. All ranks send the same data. */
static void overlapping_blocks(MPI_Comm comm) {
  char in[64], out[64];
  int counts[16], zero[16] = {0}, backwards[16];
  for (int r = 0; r < size; ++r) counts[r] = 3, backwards[r] = 2 * (size - 1 - r);
  for (int round = 0; round < 3; ++round) {
    memset(in, 7, sizeof in);
    memset(out, 1, sizeof out);
    note(MPI_Gatherv(in, 3, MPI_CHAR, out, counts, zero, MPI_CHAR, 0, comm));
    if (rank == 0) expect(memcmp(out, in, 3) == 0 && out[3] == 1, "gatherv of blocks that overlap");
    memset(out, 1, sizeof out);
    note(MPI_Gatherv(in, 3, MPI_CHAR, out, counts, backwards, MPI_CHAR, size - 1, comm));
    const size_t end = 2 * (size_t)(size - 1) + 3;
    if (rank == size - 1)
      expect(memcmp(out, in, end) == 0 && out[end] == 1, "gatherv of blocks that overlap, backwards");
    works(comm);
  }
}

/* One buffer for both, with the received blocks after the sent data: legal. Empty blocks may be anywhere. */
static void one_buffer(MPI_Comm comm) {
  int counts[16] = {0}, places[16] = {0};
  for (int from = 0; from < size; ++from)
    for (begun = 0; begun < 2; ++begun) {
      char memory[8] = {1, (char)rank, 5, 0, 1, 1, 1, 1};
      MPI_Request request = MPI_REQUEST_NULL;
      for (int r = 0; r < size; ++r) counts[r] = r == from ? 2 : 0, places[r] = r == from ? 4 : 0;
      const int sent = counts[rank];
      if (begun) {
        note(MPI_Iallgatherv(memory + 1, sent, MPI_CHAR, memory, counts, places, MPI_CHAR, comm, &request));
        note(MPI_Wait(&request, MPI_STATUS_IGNORE));
      } else {
        note(MPI_Allgatherv(memory + 1, sent, MPI_CHAR, memory, counts, places, MPI_CHAR, comm));
      }
      expect(memory[1] == rank && memory[4] == from && memory[5] == 5 && memory[6] == 1,
             "allgatherv of one buffer");
      works(comm);
    }
}

/* Open MPI carries these calls out, and so does the preload (docs/mpi.md). Native MPICH refuses them. */
static void note_carried_out(int rc, const char* what) {
#ifdef OMPI_MAJOR_VERSION
  note(rc);
  const int refused = 0;
#else
  const int refused = class_of(rc) == MPI_ERR_BUFFER;
#endif
  expect(refused || class_of(rc) == MPI_SUCCESS, what);
}

/* One buffer for both, where MPI forbids it. All ranks pass it, so none waits. In an allgather a rank sends
 * its own block of the output. */
static void forbidden_buffer(MPI_Comm comm) {
  enum { kMost = 20000 };
  static const int lengths[] = {1, 300, kMost};
  int counts[16], places[16], rc;
  int* both = malloc(sizeof(int) * kMost * (size_t)size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* Open MPI 4 calls the error handler of
                                                               * MPI_COMM_WORLD */
  for (int i = 0; i < 6; ++i) {
    const int length = lengths[i / 2];
    begun = i % 2;
    for (int r = 0; r < size; ++r) counts[r] = length, places[r] = r * length;
    for (int kind = 0; kind < 9; ++kind) {
      int* own = both + (kind < 7 ? rank * length : 0);
      for (int k = 0; k < size * length; ++k) both[k] = k / length == rank ? rank : -1;
      if (kind == 0) CALL(rc, Allreduce, allreduce, own, own, length, MPI_INT, MPI_SUM, comm);
      if (kind == 1)
        CALL(rc, Reduce_scatter_block, reduce_scatter_block, both, both, length, MPI_INT, MPI_SUM, comm);
      if (kind == 2) CALL(rc, Reduce_scatter, reduce_scatter, both, both, counts, MPI_INT, MPI_SUM, comm);
      if (kind == 3) CALL(rc, Scan, scan, own, own, length, MPI_INT, MPI_SUM, comm);
      if (kind == 4) CALL(rc, Exscan, exscan, own, own, length, MPI_INT, MPI_SUM, comm);
      if (kind == 5) CALL(rc, Allgather, allgather, own, length, MPI_INT, both, length, MPI_INT, comm);
      if (kind == 6)
        CALL(rc, Allgatherv, allgatherv, own, length, MPI_INT, both, counts, places, MPI_INT, comm);
      if (kind == 7) CALL(rc, Alltoall, alltoall, both, length, MPI_INT, both, length, MPI_INT, comm);
      if (kind == 8)
        CALL(rc, Alltoallv, alltoallv, both, counts, places, MPI_INT, both, counts, places, MPI_INT, comm);
      if (kind < 5) note(rc);
      else note_carried_out(rc, "a call with one buffer is neither carried out nor refused");
      long wrong = 0;
      for (int k = 0; k < size * length; ++k) wrong += both[k] != k / length;
      if (kind == 5 || kind == 6)
        expect(class_of(rc) != MPI_SUCCESS || wrong == 0, "an allgather of one buffer");
      works(comm);
    }
  }
  begun = 0;
  free(both);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static long handled, handled_by_world;
static void handle(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
  ++handled;
}
static void handle_by_world(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
  ++handled_by_world;
}
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION < 5
enum { kWorldsHandler = 1 }; /* Open MPI 4's requests of collectives know no communicator */
#else
enum { kWorldsHandler = 0 };
#endif

enum { kWait, kTest, kWaitall, kTestall, kWaitany, kTestany, kWaitsome, kTestsome, kWays };

/* Rank 0 has room for less than it is sent. Native MPICH 4.0 reports no error. */
static void completions(MPI_Comm comm) {
  MPI_Errhandler handler, of_world;
  int in[8] = {rank}, out[64], counts[16], places[16];
  MPI_Comm_create_errhandler(handle_by_world, &of_world);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, of_world);
  MPI_Comm_create_errhandler(handle, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  for (int r = 0; r < size; ++r) counts[r] = r == 0 ? 8 : 4, places[r] = 8 * r;
  for (int way = 0; way < kWays; ++way) {
    MPI_Request r[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[3];
    int flag = 0, index = 0, done = 0, indices[3];
    handled = handled_by_world = 0;
    for (int i = 0; i < 3; ++i) statuses[i].MPI_ERROR = MPI_SUCCESS;
    int rc = MPI_Igatherv(in, 8, MPI_INT, out, counts, places, MPI_INT, 0, comm, &r[1]);
    note(rc);
    usleep(20000 * (way % 2 == rank));
    switch (way) {
      case kWait: rc = MPI_Wait(&r[1], &statuses[1]); break;
      case kTest:
        while (!flag && rc == MPI_SUCCESS) rc = MPI_Test(&r[1], &flag, &statuses[1]);
        break;
      case kWaitall: rc = MPI_Waitall(3, r, statuses); break;
      case kTestall:
        while (!flag && rc == MPI_SUCCESS) rc = MPI_Testall(3, r, &flag, statuses);
        break;
      case kWaitany: rc = MPI_Waitany(3, r, &index, &statuses[1]); break;
      case kTestany:
        while (!flag && rc == MPI_SUCCESS) rc = MPI_Testany(3, r, &index, &flag, &statuses[1]);
        break;
      case kWaitsome: rc = MPI_Waitsome(3, r, &done, indices, statuses); break;
      default:
        while (done == 0 && rc == MPI_SUCCESS) rc = MPI_Testsome(3, r, &done, indices, statuses);
    }
    const int several = way == kWaitall || way == kTestall || way == kWaitsome || way == kTestsome;
    expect(class_of(rc) == (rank != 0 ? MPI_SUCCESS
                            : several ? MPI_ERR_IN_STATUS
                                      : MPI_ERR_TRUNCATE),
           "the error of a completion");
    expect(handled == (rank == 0 && !kWorldsHandler) && handled_by_world == (rank == 0 && kWorldsHandler),
           "calls of the error handler");
    const int place = way == kWaitsome || way == kTestsome ? 0 : 1;
    if (several && rank == 0) expect(statuses[place].MPI_ERROR == MPI_ERR_TRUNCATE, "the error in a status");
    expect(r[1] == MPI_REQUEST_NULL, "the request is gone");
    if (way >= kWaitany && !several) expect(index == 1, "the place of a request");
    if (way >= kWaitsome) expect(done == 1 && indices[0] == 1, "the places of requests");
    works(comm);
  }
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Errhandler_free(&handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&of_world);
}

static long own;
static int elsewhere;
static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  if (syscall(SYS_gettid) != own) elsewhere = 1;
  const double* from = in;
  double* to = inout;
  for (int i = 0; i < *count; ++i) to[i] += from[i];
}

/* Operators run while the program is in calls that Fermata cannot poll. */
static void operators(MPI_Comm comm) {
  enum { kLength = 50000 };
  double* in = calloc((size_t)(kLength * size), sizeof *in);
  double* out = calloc(kLength, sizeof *out);
  int* counts = malloc(sizeof(int) * (size_t)size);
  MPI_Op op;
  MPI_Op_create(add, 1, &op);
  for (int i = 0; i < kLength * size; ++i) in[i] = 1;
  for (int r = 0; r < size; ++r) counts[r] = kLength;
  for (int round = 0; round < 24; ++round) {
    MPI_Request request;
    MPI_Comm copy;
    double expected = size;
    switch (round % 6) {
      case 0: MPI_Iallreduce(in, out, kLength, MPI_DOUBLE, op, comm, &request); break;
      case 1: MPI_Ireduce_scatter(in, out, counts, MPI_DOUBLE, op, comm, &request); break;
      case 2: MPI_Ireduce_scatter_block(in, out, kLength, MPI_DOUBLE, op, comm, &request); break;
      case 3: MPI_Iscan(in, out, kLength, MPI_DOUBLE, op, comm, &request), expected = rank + 1; break;
      case 4:
        MPI_Iexscan(in, out, kLength, MPI_DOUBLE, op, comm, &request),
            expected = rank > 0 ? rank : out[kLength - 1];
        break;
      default:
        MPI_Ireduce(in, out, kLength, MPI_DOUBLE, op, size - 1, comm, &request),
            expected = rank == size - 1 ? size : out[kLength - 1];
    }
    if (round % 2 == rank % 2) usleep(5000);
    MPI_Comm_dup(comm, &copy);
    MPI_Comm_free(&copy);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(out[kLength - 1] == expected, "a begun reduction");
  }
  expect(!elsewhere, "the operator ran on a thread that the program doesn't know");
  MPI_Op_free(&op);
  free(in);
  free(out);
  free(counts);
}

int main(int argc, char** argv) {
  MPI_Comm comm;
  own = syscall(SYS_gettid);
  begin(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  if (argc > 1) {
    completions(comm);
    report("completions");
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
  }
  uncommitted(comm);
  report("types that are not committed");
  overlapping_blocks(comm);
  report("blocks that overlap");
  one_buffer(comm);
  report("one buffer for both");
  forbidden_buffer(comm);
  report("one buffer where MPI forbids it");
  operators(comm);
  report("operators");
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return 0;
}
