/* Mistakes that the library reports, and some that it carries out: the same with the preload. And operators run on the thread that called
 * MPI, if that is the only one which may. */
#define _GNU_SOURCE
#include "check.h"

#include <sys/syscall.h>
#include <unistd.h>

/* Its error class goes into the digest. */
static void note(int rc) {
  int class = MPI_SUCCESS;
  if (rc != MPI_SUCCESS) MPI_Error_class(rc, &class);
  same(&class, &class, sizeof class, "class");
}

static void works(MPI_Comm comm) {
  int one = 1, sum = 0;
  note(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
  expect(sum == size, "the communicator is broken");
}

/* At all ranks, so that nobody waits. */
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

/* Erroneous, and carried out by the libraries. All send the same. */
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
    if (rank == size - 1) expect(memcmp(out, in, end) == 0 && out[end] == 1, "gatherv of blocks that overlap, backwards");
    works(comm);
  }
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

/* While the program waits in calls that can't be polled. */
static void operators(MPI_Comm comm) {
  enum { kLength = 50000 };
  double* in = calloc(kLength, sizeof *in);
  double* out = calloc(kLength, sizeof *out);
  MPI_Op op;
  MPI_Op_create(add, 1, &op);
  for (int i = 0; i < kLength; ++i) in[i] = 1;
  for (int round = 0; round < 10; ++round) {
    MPI_Request request;
    MPI_Comm copy;
    MPI_Iallreduce(in, out, kLength, MPI_DOUBLE, op, comm, &request);
    if (round % 2 == rank % 2) usleep(5000);
    MPI_Comm_dup(comm, &copy);
    MPI_Comm_free(&copy);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(out[kLength - 1] == size, "iallreduce");
  }
  expect(!elsewhere, "the operator ran on a thread that the program doesn't know");
  MPI_Op_free(&op);
  free(in);
  free(out);
}

int main(int argc, char** argv) {
  MPI_Comm comm;
  own = syscall(SYS_gettid);
  begin(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  uncommitted(comm);
  report("types that are not committed");
  overlapping_blocks(comm);
  report("blocks that overlap");
  operators(comm);
  report("operators");
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return 0;
}
