// The persistent collectives, with counts of either width, if the MPI library has them.
#include "immediate_calls.hpp"
#include "real.hpp"

#ifdef FERMATA_MPI_PERSISTENT
using namespace fermata::preload;

FERMATA_MPI_PERSISTENT_COLLECTIVES(FERMATA_INTERCEPT)

extern "C" {

int MPI_Barrier_init(MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return begin_barrier(comm, {request, FERMATA_SITE, true}, with(real.Barrier_init, info, request));
}

int MPI_Bcast_init(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Info info,
                   MPI_Request* request) {
  return ibcast(data, count, type, root, comm, {request, FERMATA_SITE, true},
                with(real.Bcast_init, info, request));
}

int MPI_Allreduce_init(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                       MPI_Info info, MPI_Request* request) {
  return iallreduce(in, out, count, type, op, comm, {request, FERMATA_SITE, true},
                    with(real.Allreduce_init, info, request));
}

int MPI_Reduce_init(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, int root,
                    MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return ireduce(in, out, count, type, op, root, comm, {request, FERMATA_SITE, true},
                 with(real.Reduce_init, info, request));
}

int MPI_Scan_init(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                  MPI_Info info, MPI_Request* request) {
  return iscan(in, out, count, type, op, comm, {request, FERMATA_SITE, true},
               with(real.Scan_init, info, request));
}

int MPI_Exscan_init(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                    MPI_Info info, MPI_Request* request) {
  return iexscan(in, out, count, type, op, comm, {request, FERMATA_SITE, true},
                 with(real.Exscan_init, info, request));
}

int MPI_Reduce_scatter_block_init(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                                  MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return ireduce_scatter_block(in, out, count, type, op, comm, {request, FERMATA_SITE, true},
                               with(real.Reduce_scatter_block_init, info, request));
}

int MPI_Reduce_scatter_init(const void* in, void* out, const int* counts, MPI_Datatype type, MPI_Op op,
                            MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return ireduce_scatter(in, out, counts, type, op, comm, {request, FERMATA_SITE, true},
                         with(real.Reduce_scatter_init, info, request));
}

int MPI_Gather_init(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count,
                    MPI_Datatype out_type, int root, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return igather(in, in_count, in_type, out, out_count, out_type, root, comm, {request, FERMATA_SITE, true},
                 with(real.Gather_init, info, request));
}

int MPI_Scatter_init(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count,
                     MPI_Datatype out_type, int root, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return iscatter(in, in_count, in_type, out, out_count, out_type, root, comm, {request, FERMATA_SITE, true},
                  with(real.Scatter_init, info, request));
}

int MPI_Allgather_init(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count,
                       MPI_Datatype out_type, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return iallgather(in, in_count, in_type, out, out_count, out_type, comm, {request, FERMATA_SITE, true},
                    with(real.Allgather_init, info, request));
}

int MPI_Alltoall_init(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count,
                      MPI_Datatype out_type, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return ialltoall(in, in_count, in_type, out, out_count, out_type, comm, {request, FERMATA_SITE, true},
                   with(real.Alltoall_init, info, request));
}

int MPI_Gatherv_init(const void* in, int in_count, MPI_Datatype in_type, void* out, const int* counts,
                     const int* displacements, MPI_Datatype out_type, int root, MPI_Comm comm, MPI_Info info,
                     MPI_Request* request) {
  return igatherv(in, in_count, in_type, out, counts, displacements, out_type, root, comm,
                  {request, FERMATA_SITE, true}, with(real.Gatherv_init, info, request));
}

int MPI_Scatterv_init(const void* in, const int* counts, const int* displacements, MPI_Datatype in_type,
                      void* out, int out_count, MPI_Datatype out_type, int root, MPI_Comm comm, MPI_Info info,
                      MPI_Request* request) {
  return iscatterv(in, counts, displacements, in_type, out, out_count, out_type, root, comm,
                   {request, FERMATA_SITE, true}, with(real.Scatterv_init, info, request));
}

int MPI_Allgatherv_init(const void* in, int in_count, MPI_Datatype in_type, void* out, const int* counts,
                        const int* displacements, MPI_Datatype out_type, MPI_Comm comm, MPI_Info info,
                        MPI_Request* request) {
  return iallgatherv(in, in_count, in_type, out, counts, displacements, out_type, comm,
                     {request, FERMATA_SITE, true}, with(real.Allgatherv_init, info, request));
}

int MPI_Alltoallv_init(const void* in, const int* in_counts, const int* in_displacements,
                       MPI_Datatype in_type, void* out, const int* out_counts, const int* out_displacements,
                       MPI_Datatype out_type, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return ialltoallv(in, in_counts, in_displacements, in_type, out, out_counts, out_displacements, out_type,
                    comm, {request, FERMATA_SITE, true}, with(real.Alltoallv_init, info, request));
}

#ifdef FERMATA_MPI_LARGE

int MPI_Bcast_init_c(void* data, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Info info,
                     MPI_Request* request) {
  return ibcast(data, count, type, root, comm, {request, FERMATA_SITE, true},
                with(real.Bcast_init_c, info, request));
}

int MPI_Allreduce_init_c(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op,
                         MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return iallreduce(in, out, count, type, op, comm, {request, FERMATA_SITE, true},
                    with(real.Allreduce_init_c, info, request));
}

int MPI_Reduce_init_c(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op, int root,
                      MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return ireduce(in, out, count, type, op, root, comm, {request, FERMATA_SITE, true},
                 with(real.Reduce_init_c, info, request));
}

int MPI_Scan_init_c(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                    MPI_Info info, MPI_Request* request) {
  return iscan(in, out, count, type, op, comm, {request, FERMATA_SITE, true},
               with(real.Scan_init_c, info, request));
}

int MPI_Exscan_init_c(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                      MPI_Info info, MPI_Request* request) {
  return iexscan(in, out, count, type, op, comm, {request, FERMATA_SITE, true},
                 with(real.Exscan_init_c, info, request));
}

int MPI_Reduce_scatter_block_init_c(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op,
                                    MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return ireduce_scatter_block(in, out, count, type, op, comm, {request, FERMATA_SITE, true},
                               with(real.Reduce_scatter_block_init_c, info, request));
}

int MPI_Reduce_scatter_init_c(const void* in, void* out, const MPI_Count* counts, MPI_Datatype type,
                              MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return ireduce_scatter(in, out, counts, type, op, comm, {request, FERMATA_SITE, true},
                         with(real.Reduce_scatter_init_c, info, request));
}

int MPI_Gather_init_c(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out,
                      MPI_Count out_count, MPI_Datatype out_type, int root, MPI_Comm comm, MPI_Info info,
                      MPI_Request* request) {
  return igather(in, in_count, in_type, out, out_count, out_type, root, comm, {request, FERMATA_SITE, true},
                 with(real.Gather_init_c, info, request));
}

int MPI_Scatter_init_c(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out,
                       MPI_Count out_count, MPI_Datatype out_type, int root, MPI_Comm comm, MPI_Info info,
                       MPI_Request* request) {
  return iscatter(in, in_count, in_type, out, out_count, out_type, root, comm, {request, FERMATA_SITE, true},
                  with(real.Scatter_init_c, info, request));
}

int MPI_Allgather_init_c(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out,
                         MPI_Count out_count, MPI_Datatype out_type, MPI_Comm comm, MPI_Info info,
                         MPI_Request* request) {
  return iallgather(in, in_count, in_type, out, out_count, out_type, comm, {request, FERMATA_SITE, true},
                    with(real.Allgather_init_c, info, request));
}

int MPI_Alltoall_init_c(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out,
                        MPI_Count out_count, MPI_Datatype out_type, MPI_Comm comm, MPI_Info info,
                        MPI_Request* request) {
  return ialltoall(in, in_count, in_type, out, out_count, out_type, comm, {request, FERMATA_SITE, true},
                   with(real.Alltoall_init_c, info, request));
}

int MPI_Gatherv_init_c(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out,
                       const MPI_Count* counts, const MPI_Aint* displacements, MPI_Datatype out_type,
                       int root, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return igatherv(in, in_count, in_type, out, counts, displacements, out_type, root, comm,
                  {request, FERMATA_SITE, true}, with(real.Gatherv_init_c, info, request));
}

int MPI_Scatterv_init_c(const void* in, const MPI_Count* counts, const MPI_Aint* displacements,
                        MPI_Datatype in_type, void* out, MPI_Count out_count, MPI_Datatype out_type, int root,
                        MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return iscatterv(in, counts, displacements, in_type, out, out_count, out_type, root, comm,
                   {request, FERMATA_SITE, true}, with(real.Scatterv_init_c, info, request));
}

int MPI_Allgatherv_init_c(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out,
                          const MPI_Count* counts, const MPI_Aint* displacements, MPI_Datatype out_type,
                          MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return iallgatherv(in, in_count, in_type, out, counts, displacements, out_type, comm,
                     {request, FERMATA_SITE, true}, with(real.Allgatherv_init_c, info, request));
}

int MPI_Alltoallv_init_c(const void* in, const MPI_Count* in_counts, const MPI_Aint* in_displacements,
                         MPI_Datatype in_type, void* out, const MPI_Count* out_counts,
                         const MPI_Aint* out_displacements, MPI_Datatype out_type, MPI_Comm comm,
                         MPI_Info info, MPI_Request* request) {
  return ialltoallv(in, in_counts, in_displacements, in_type, out, out_counts, out_displacements, out_type,
                    comm, {request, FERMATA_SITE, true}, with(real.Alltoallv_init_c, info, request));
}

#endif

}  // extern "C"
#endif
