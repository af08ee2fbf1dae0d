/* The arguments of one rank are wrong, in collectives where the others need not learn of it. That rank has
 * the MPI library's error, the others have their results, and the communicator stays usable. "begun" as in
 * calls.h. */
#include "calls.h"

static MPI_Datatype uncommitted;
static MPI_Comm comm; /* each call has its own: the MPI library may do all calls that follow */

/* Adds the error class to the digest, and the data of a rank without an error. */
static void note(int rc, const int* data, const char* what) {
  const int class = class_of(rc);
  int one = 1, sum = 0;
  same(&class, &class, sizeof class, what);
  if (class == MPI_SUCCESS) same(data, data, 4 * sizeof *data, what);
  for (int i = 0; i < 3; ++i) {
    expect(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS, what);
    expect(sum == size, what);
  }
  MPI_Comm_free(&comm);
}

static int in[64], out[64];
static void fill(void) {
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (int i = 0; i < 64; ++i) in[i] = 100 * rank + i, out[i] = -1;
}

static void at_root(int root) {
  const int wrong = rank == root;
  int rc;
  fill();
  CALL(rc, Gather, gather, in, 2, MPI_INT, out, wrong ? -1 : 2, MPI_INT, root, comm);
  note(rc, in, "gather of a negative count");
  fill();
  CALL(rc, Gather, gather, in, 2, MPI_INT, out, 1, wrong ? MPI_DATATYPE_NULL : MPI_INT, root, comm);
  note(rc, in, "gather of no type");
  fill();
  CALL(rc, Gather, gather, in, 2, MPI_INT, out, 1, wrong ? uncommitted : MPI_INT, root, comm);
  note(rc, in, "gather of a type that is not committed");
  fill();
  CALL(rc, Reduce, reduce, wrong ? out : in, out, 2, MPI_INT, MPI_SUM, root, comm);
  note(rc, in, "reduce of one buffer");
  fill();
  CALL(rc, Reduce, reduce, in, out, 2, MPI_INT, wrong ? MPI_OP_NULL : MPI_SUM, root, comm);
  note(rc, in, "reduce without an operator");
}

/* The root's own data are not checked: native MPICH 4.0 writes there. */
static void at_receiver(int root) {
  static const int nothing[4];
  const int wrong = rank == (root + 1) % size;
  const int* const got = rank == root ? nothing : in;
  int rc;
  fill();
  CALL(rc, Bcast, bcast, in, wrong ? -1 : 2, MPI_INT, root, comm);
  note(rc, got, "broadcast of a negative count");
  fill();
  CALL(rc, Bcast, bcast, in, wrong ? 1 : 2, wrong ? uncommitted : MPI_INT, root, comm);
  note(rc, got, "broadcast of a type that is not committed");
  fill();
  CALL(rc, Bcast, bcast, in, 2, MPI_INT, wrong ? size + 5 : root, comm);
  note(rc, got, "broadcast of a root that is none");
  fill();
  CALL(rc, Scatter, scatter, in, 2, MPI_INT, out, 2, wrong ? MPI_DATATYPE_NULL : MPI_INT, root, comm);
  note(rc, out, "scatter of no type");
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  begun = argc > 1 && strcmp(argv[1], "begun") == 0;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Type_contiguous(2, MPI_INT, &uncommitted);
  for (int root = 0; root < size; ++root) {
    at_root(root);
    at_receiver(root);
  }
  report("one rank is wrong");
  MPI_Type_free(&uncommitted);
  MPI_Finalize();
  return 0;
}
