// The functions of the MPI library that libfermata-net calls, as pointers. preload/mpi intercepts the
// program's calls, also those of PMPI_ functions. It would intercept this library's calls, too, if they went
// by name. So the preload gives this library the MPI library's own functions (fermata_mpi_resolve()). Before
// that, or without the preload, the pointers are the PMPI_ functions that the loader has bound.
#ifndef FERMATA_NET_MPI_CALLS_HPP
#define FERMATA_NET_MPI_CALLS_HPP

#include <mpi.h>

// clang-format off
#define FERMATA_NET_MPI_CALLS(X) \
  X(Allgather) X(Allreduce) X(Bcast) X(Cancel) X(Comm_create) X(Comm_free) X(Comm_group) \
  X(Comm_rank) X(Comm_set_errhandler) X(Comm_size) X(Finalize) X(Finalized) X(Get_count) \
  X(Get_library_version) X(Group_free) X(Ibarrier) X(Init) \
  X(Initialized) X(Irecv) X(Isend) X(Issend) X(Query_thread) X(Recv) X(Recv_init) X(Request_free) X(Send) \
  X(Start) X(Startall) X(Test) X(Testsome) X(Wait) X(Waitall)
// clang-format on

namespace fermata::net {

struct Calls {
#define FERMATA_MEMBER(name) decltype(&PMPI_##name) name = PMPI_##name;
  FERMATA_NET_MPI_CALLS(FERMATA_MEMBER)
#undef FERMATA_MEMBER
};
extern Calls mpi;

// Makes a communicator of the same processes, without the attributes: their callbacks belong to the program.
// MPI returns errors on the new communicator to the caller.
inline int copy_bare(MPI_Comm comm, MPI_Comm* out) {
  MPI_Group all = MPI_GROUP_NULL;
  int rc = mpi.Comm_group(comm, &all);
  if (rc != MPI_SUCCESS) return rc;
  rc = mpi.Comm_create(comm, all, out);
  mpi.Group_free(&all);
  return rc == MPI_SUCCESS ? mpi.Comm_set_errhandler(*out, MPI_ERRORS_RETURN) : rc;
}

}  // namespace fermata::net
#endif
