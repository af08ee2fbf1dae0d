// The MPI library's own functions of those that are intercepted.
#ifndef FERMATA_PRELOAD_MPI_REAL_HPP
#define FERMATA_PRELOAD_MPI_REAL_HPP

#include "mpi.hpp"

#define FERMATA_MPI_COLLECTIVES(X)                                                                                          \
  X(Barrier) X(Bcast) X(Reduce) X(Allreduce) X(Gather) X(Gatherv) X(Scatter) X(Scatterv) X(Allgather) X(Allgatherv)         \
  X(Alltoall) X(Alltoallv) X(Reduce_scatter) X(Reduce_scatter_block) X(Scan) X(Exscan)
#define FERMATA_MPI_MAKERS(X)                                                                                               \
  X(Comm_dup) X(Comm_dup_with_info) X(Comm_split) X(Comm_split_type) X(Comm_create) X(Comm_create_group) X(Cart_create)     \
  X(Cart_sub) X(Graph_create) X(Dist_graph_create) X(Dist_graph_create_adjacent)
#define FERMATA_MPI_ENVIRONMENT(X) X(Init) X(Init_thread) X(Finalize)
#define FERMATA_MPI_ALL(X) FERMATA_MPI_COLLECTIVES(X) FERMATA_MPI_MAKERS(X) FERMATA_MPI_ENVIRONMENT(X)

namespace fermata::preload {

struct Real {
#define FERMATA_MEMBER(name) decltype(&PMPI_##name) name;
  FERMATA_MPI_ALL(FERMATA_MEMBER)
#undef FERMATA_MEMBER
};
extern Real real;  // written at load

}  // namespace fermata::preload
#endif
