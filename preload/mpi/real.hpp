// MPI's own versions of the functions that this library intercepts.
#ifndef FERMATA_PRELOAD_MPI_REAL_HPP
#define FERMATA_PRELOAD_MPI_REAL_HPP

#include "mpi.hpp"
#include "waiting.hpp"

// clang-format off
#define FERMATA_MPI_COLLECTIVES(X) \
  X(Barrier) X(Bcast) X(Reduce) X(Allreduce) X(Gather) X(Gatherv) X(Scatter) X(Scatterv) X(Allgather) \
  X(Allgatherv) X(Alltoall) X(Alltoallv) X(Reduce_scatter) X(Reduce_scatter_block) X(Scan) X(Exscan)
#define FERMATA_MPI_MAKERS(X) \
  X(Comm_dup) X(Comm_dup_with_info) X(Comm_split) X(Comm_split_type) X(Comm_create) X(Comm_create_group) \
  X(Cart_create) X(Cart_sub) X(Graph_create) X(Dist_graph_create) X(Dist_graph_create_adjacent)
#define FERMATA_MPI_ENVIRONMENT(X) X(Init) X(Init_thread) X(Finalize)
#define FERMATA_MPI_IMMEDIATE(X) \
  X(Ibarrier) X(Ibcast) X(Ireduce) X(Iallreduce) X(Igather) X(Igatherv) X(Iscatter) X(Iscatterv) \
  X(Iallgather) X(Iallgatherv) X(Ialltoall) X(Ialltoallv) X(Ireduce_scatter) X(Ireduce_scatter_block) \
  X(Iscan) X(Iexscan)
#define FERMATA_MPI_STARTS(X) X(Start) X(Startall) X(Request_free) X(Cancel)
#define FERMATA_MPI_FREES(X) X(Op_free) X(Type_free)

#ifdef FERMATA_MPI_LARGE
#define FERMATA_MPI_LARGE_COLLECTIVES(X) \
  X(Bcast_c) X(Allreduce_c) X(Reduce_c) X(Scan_c) X(Exscan_c) X(Reduce_scatter_block_c) \
  X(Reduce_scatter_c) X(Gather_c) X(Scatter_c) X(Allgather_c) X(Alltoall_c) X(Gatherv_c) X(Scatterv_c) \
  X(Allgatherv_c) X(Alltoallv_c) X(Ibcast_c) X(Iallreduce_c) X(Ireduce_c) X(Iscan_c) X(Iexscan_c) \
  X(Ireduce_scatter_block_c) X(Ireduce_scatter_c) X(Igather_c) X(Iscatter_c) X(Iallgather_c) \
  X(Ialltoall_c) X(Igatherv_c) X(Iscatterv_c) X(Iallgatherv_c) X(Ialltoallv_c)
#define FERMATA_MPI_LARGE_PERSISTENT(X) \
  X(Bcast_init_c) X(Allreduce_init_c) X(Reduce_init_c) X(Scan_init_c) X(Exscan_init_c) \
  X(Reduce_scatter_block_init_c) X(Reduce_scatter_init_c) X(Gather_init_c) X(Scatter_init_c) \
  X(Allgather_init_c) X(Alltoall_init_c) X(Gatherv_init_c) X(Scatterv_init_c) X(Allgatherv_init_c) \
  X(Alltoallv_init_c)
#else
#define FERMATA_MPI_LARGE_COLLECTIVES(X)
#define FERMATA_MPI_LARGE_PERSISTENT(X)
#endif

#ifdef FERMATA_MPI_PERSISTENT
#define FERMATA_MPI_PERSISTENT_COLLECTIVES(X) \
  X(Barrier_init) X(Bcast_init) X(Reduce_init) X(Allreduce_init) X(Gather_init) X(Gatherv_init) \
  X(Scatter_init) X(Scatterv_init) X(Allgather_init) X(Allgatherv_init) X(Alltoall_init) X(Alltoallv_init) \
  X(Reduce_scatter_init) X(Reduce_scatter_block_init) X(Scan_init) X(Exscan_init) \
  FERMATA_MPI_LARGE_PERSISTENT(X)
#else
#define FERMATA_MPI_PERSISTENT_COLLECTIVES(X)
#endif

#define FERMATA_MPI_ALL(X) \
  FERMATA_MPI_COLLECTIVES(X) FERMATA_MPI_IMMEDIATE(X) FERMATA_MPI_MAKERS(X) FERMATA_MPI_ENVIRONMENT(X) \
  FERMATA_MPI_STARTS(X) FERMATA_MPI_FREES(X) FERMATA_MPI_WAITING(X) FERMATA_MPI_LARGE_COLLECTIVES(X) \
  FERMATA_MPI_PERSISTENT_COLLECTIVES(X)
// clang-format on

namespace fermata::preload {

struct Real {
#define FERMATA_MEMBER(name) decltype(&PMPI_##name) name;
  FERMATA_MPI_ALL(FERMATA_MEMBER)
#undef FERMATA_MEMBER
};
extern Real real;                // written at load
extern bool transport_is_ready;  // likewise: libfermata-net calls these functions, not the program's

}  // namespace fermata::preload
#endif
