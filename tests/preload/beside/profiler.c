/* An MPI profiler as the standard describes it: it wraps functions, counts the program's calls, and calls
 * the library by the PMPI names. In MPI_Finalize rank 0 prints the counts of all ranks. With BY_ADDRESS it
 * does not call the PMPI functions by name. It looks for them after itself in the search order, as some
 * tools do. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>

#ifdef BY_ADDRESS
#include <dlfcn.h>
#define LIBRARY(name) ((__typeof__(&MPI_##name))dlsym(RTLD_NEXT, "PMPI_" #name))
#else
#define LIBRARY(name) PMPI_##name
#endif
// clang-format off
#define WRAPPED(X) \
  X(Init) X(Init_thread) X(Finalize) X(Barrier) X(Bcast) X(Allreduce) X(Allgather) X(Iallreduce) X(Ibarrier) \
  X(Comm_dup) X(Comm_split) X(Comm_free) X(Send) X(Recv) X(Isend) X(Irecv) X(Sendrecv) X(Wait) X(Waitall) \
  X(Op_create) X(Op_free)
// clang-format on
#define NUMBER(name) k##name,
#define NAME(name) "MPI_" #name,
enum { WRAPPED(NUMBER) kFunctions };
static const char* const names[] = {WRAPPED(NAME)};
static long counted[2][kFunctions]; /* calls, bytes */

static void note(int function, long count, MPI_Datatype type) {
  int bytes = 0;
  if (type != MPI_DATATYPE_NULL) PMPI_Type_size(type, &bytes);
  ++counted[0][function];
  counted[1][function] += count * bytes;
}

#define WRAP(name, parameters, arguments, count, type) \
  int MPI_##name parameters {                          \
    note(k##name, count, type);                        \
    return LIBRARY(name) arguments;                    \
  }
#define WRAP_PLAIN(name, parameters, arguments) WRAP(name, parameters, arguments, 0, MPI_DATATYPE_NULL)

WRAP_PLAIN(Barrier, (MPI_Comm comm), (comm))
WRAP(Bcast, (void* data, int count, MPI_Datatype type, int root, MPI_Comm comm),
     (data, count, type, root, comm), count, type)
WRAP(Allreduce, (const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     (in, out, count, type, op, comm), count, type)
WRAP(Allgather,
     (const void* in, int count, MPI_Datatype type, void* out, int each, MPI_Datatype other, MPI_Comm comm),
     (in, count, type, out, each, other, comm), count, type)
WRAP(Iallreduce,
     (const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
      MPI_Request* request),
     (in, out, count, type, op, comm, request), count, type)
WRAP_PLAIN(Ibarrier, (MPI_Comm comm, MPI_Request* request), (comm, request))
WRAP_PLAIN(Comm_dup, (MPI_Comm comm, MPI_Comm* out), (comm, out))
WRAP_PLAIN(Comm_split, (MPI_Comm comm, int colour, int key, MPI_Comm* out), (comm, colour, key, out))
WRAP_PLAIN(Comm_free, (MPI_Comm * comm), (comm))
WRAP(Send, (const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm),
     (data, count, type, to, tag, comm), count, type)
WRAP(Recv, (void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status),
     (data, count, type, from, tag, comm, status), count, type)
WRAP(Isend,
     (const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request),
     (data, count, type, to, tag, comm, request), count, type)
WRAP(Irecv,
     (void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* request),
     (data, count, type, from, tag, comm, request), count, type)
WRAP(Sendrecv,
     (const void* out, int count, MPI_Datatype type, int to, int tag, void* in, int room, MPI_Datatype other,
      int from, int with, MPI_Comm comm, MPI_Status* status),
     (out, count, type, to, tag, in, room, other, from, with, comm, status), count, type)
WRAP_PLAIN(Wait, (MPI_Request * request, MPI_Status* status), (request, status))
WRAP(Waitall, (int count, MPI_Request* requests, MPI_Status* statuses), (count, requests, statuses), count,
     MPI_BYTE)
WRAP_PLAIN(Op_create, (MPI_User_function * function, int commutes, MPI_Op* op), (function, commutes, op))
WRAP_PLAIN(Op_free, (MPI_Op * op), (op))

/* Types have no size before the library is initialized. */
int MPI_Init(int* argc, char*** argv) {
  note(kInit, 0, MPI_DATATYPE_NULL);
  return LIBRARY(Init)(argc, argv);
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  note(kInit_thread, 0, MPI_DATATYPE_NULL);
  return LIBRARY(Init_thread)(argc, argv, required, provided);
}

int MPI_Finalize(void) {
  long all[2][kFunctions];
  int rank;
  note(kFinalize, 0, MPI_DATATYPE_NULL);
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Reduce(counted, all, 2 * kFunctions, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  for (int i = 0; rank == 0 && i < kFunctions; ++i)
    printf("profiler: %s %ld calls %ld bytes\n", names[i], all[0][i], all[1][i]);
  fflush(stdout);
  return LIBRARY(Finalize)();
}
