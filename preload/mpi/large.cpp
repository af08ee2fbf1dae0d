// The collectives whose counts are MPI_Count (MPI 4.0), if the MPI library has them.
#include "blocking_calls.hpp"
#include "immediate_calls.hpp"
#include "real.hpp"

#ifdef FERMATA_MPI_LARGE
using namespace fermata::preload;

FERMATA_MPI_LARGE_COLLECTIVES(FERMATA_INTERCEPT)

extern "C" {

int MPI_Bcast_c(void* data, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm) {
  return bcast(data, count, type, root, comm, FERMATA_SITE, real.Bcast_c);
}

int MPI_Allreduce_c(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return allreduce(in, out, count, type, op, comm, FERMATA_SITE, real.Allreduce_c);
}

int MPI_Reduce_c(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op, int root,
                 MPI_Comm comm) {
  return reduce(in, out, count, type, op, root, comm, FERMATA_SITE, real.Reduce_c);
}

int MPI_Scan_c(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return scan(in, out, count, type, op, comm, FERMATA_SITE, real.Scan_c);
}

int MPI_Exscan_c(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return exscan(in, out, count, type, op, comm, FERMATA_SITE, real.Exscan_c);
}

int MPI_Reduce_scatter_block_c(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op,
                               MPI_Comm comm) {
  return reduce_scatter_block(in, out, count, type, op, comm, FERMATA_SITE, real.Reduce_scatter_block_c);
}

int MPI_Reduce_scatter_c(const void* in, void* out, const MPI_Count* counts, MPI_Datatype type, MPI_Op op,
                         MPI_Comm comm) {
  return reduce_scatter(in, out, counts, type, op, comm, FERMATA_SITE, real.Reduce_scatter_c);
}

int MPI_Gather_c(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, MPI_Count out_count,
                 MPI_Datatype out_type, int root, MPI_Comm comm) {
  return gather(in, in_count, in_type, out, out_count, out_type, root, comm, FERMATA_SITE, real.Gather_c);
}

int MPI_Scatter_c(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, MPI_Count out_count,
                  MPI_Datatype out_type, int root, MPI_Comm comm) {
  return scatter(in, in_count, in_type, out, out_count, out_type, root, comm, FERMATA_SITE, real.Scatter_c);
}

int MPI_Allgather_c(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, MPI_Count out_count,
                    MPI_Datatype out_type, MPI_Comm comm) {
  return allgather(in, in_count, in_type, out, out_count, out_type, comm, FERMATA_SITE, real.Allgather_c);
}

int MPI_Alltoall_c(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, MPI_Count out_count,
                   MPI_Datatype out_type, MPI_Comm comm) {
  return alltoall(in, in_count, in_type, out, out_count, out_type, comm, FERMATA_SITE, real.Alltoall_c);
}

int MPI_Gatherv_c(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out,
                  const MPI_Count* counts, const MPI_Aint* displacements, MPI_Datatype out_type, int root,
                  MPI_Comm comm) {
  return gatherv(in, in_count, in_type, out, counts, displacements, out_type, root, comm, FERMATA_SITE,
                 real.Gatherv_c);
}

int MPI_Scatterv_c(const void* in, const MPI_Count* counts, const MPI_Aint* displacements,
                   MPI_Datatype in_type, void* out, MPI_Count out_count, MPI_Datatype out_type, int root,
                   MPI_Comm comm) {
  return scatterv(in, counts, displacements, in_type, out, out_count, out_type, root, comm, FERMATA_SITE,
                  real.Scatterv_c);
}

int MPI_Allgatherv_c(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out,
                     const MPI_Count* counts, const MPI_Aint* displacements, MPI_Datatype out_type,
                     MPI_Comm comm) {
  return allgatherv(in, in_count, in_type, out, counts, displacements, out_type, comm, FERMATA_SITE,
                    real.Allgatherv_c);
}

int MPI_Alltoallv_c(const void* in, const MPI_Count* in_counts, const MPI_Aint* in_displacements,
                    MPI_Datatype in_type, void* out, const MPI_Count* out_counts,
                    const MPI_Aint* out_displacements, MPI_Datatype out_type, MPI_Comm comm) {
  return alltoallv(in, in_counts, in_displacements, in_type, out, out_counts, out_displacements, out_type,
                   comm, FERMATA_SITE, real.Alltoallv_c);
}

int MPI_Ibcast_c(void* data, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm,
                 MPI_Request* request) {
  return ibcast(data, count, type, root, comm, {request, FERMATA_SITE}, with(real.Ibcast_c, request));
}

int MPI_Iallreduce_c(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                     MPI_Request* request) {
  return iallreduce(in, out, count, type, op, comm, {request, FERMATA_SITE},
                    with(real.Iallreduce_c, request));
}

int MPI_Ireduce_c(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op, int root,
                  MPI_Comm comm, MPI_Request* request) {
  return ireduce(in, out, count, type, op, root, comm, {request, FERMATA_SITE},
                 with(real.Ireduce_c, request));
}

int MPI_Iscan_c(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                MPI_Request* request) {
  return iscan(in, out, count, type, op, comm, {request, FERMATA_SITE}, with(real.Iscan_c, request));
}

int MPI_Iexscan_c(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                  MPI_Request* request) {
  return iexscan(in, out, count, type, op, comm, {request, FERMATA_SITE}, with(real.Iexscan_c, request));
}

int MPI_Ireduce_scatter_block_c(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op,
                                MPI_Comm comm, MPI_Request* request) {
  return ireduce_scatter_block(in, out, count, type, op, comm, {request, FERMATA_SITE},
                               with(real.Ireduce_scatter_block_c, request));
}

int MPI_Ireduce_scatter_c(const void* in, void* out, const MPI_Count* counts, MPI_Datatype type, MPI_Op op,
                          MPI_Comm comm, MPI_Request* request) {
  return ireduce_scatter(in, out, counts, type, op, comm, {request, FERMATA_SITE},
                         with(real.Ireduce_scatter_c, request));
}

int MPI_Igather_c(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, MPI_Count out_count,
                  MPI_Datatype out_type, int root, MPI_Comm comm, MPI_Request* request) {
  return igather(in, in_count, in_type, out, out_count, out_type, root, comm, {request, FERMATA_SITE},
                 with(real.Igather_c, request));
}

int MPI_Iscatter_c(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, MPI_Count out_count,
                   MPI_Datatype out_type, int root, MPI_Comm comm, MPI_Request* request) {
  return iscatter(in, in_count, in_type, out, out_count, out_type, root, comm, {request, FERMATA_SITE},
                  with(real.Iscatter_c, request));
}

int MPI_Iallgather_c(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, MPI_Count out_count,
                     MPI_Datatype out_type, MPI_Comm comm, MPI_Request* request) {
  return iallgather(in, in_count, in_type, out, out_count, out_type, comm, {request, FERMATA_SITE},
                    with(real.Iallgather_c, request));
}

int MPI_Ialltoall_c(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, MPI_Count out_count,
                    MPI_Datatype out_type, MPI_Comm comm, MPI_Request* request) {
  return ialltoall(in, in_count, in_type, out, out_count, out_type, comm, {request, FERMATA_SITE},
                   with(real.Ialltoall_c, request));
}

int MPI_Igatherv_c(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out,
                   const MPI_Count* counts, const MPI_Aint* displacements, MPI_Datatype out_type, int root,
                   MPI_Comm comm, MPI_Request* request) {
  return igatherv(in, in_count, in_type, out, counts, displacements, out_type, root, comm,
                  {request, FERMATA_SITE}, with(real.Igatherv_c, request));
}

int MPI_Iscatterv_c(const void* in, const MPI_Count* counts, const MPI_Aint* displacements,
                    MPI_Datatype in_type, void* out, MPI_Count out_count, MPI_Datatype out_type, int root,
                    MPI_Comm comm, MPI_Request* request) {
  return iscatterv(in, counts, displacements, in_type, out, out_count, out_type, root, comm,
                   {request, FERMATA_SITE}, with(real.Iscatterv_c, request));
}

int MPI_Iallgatherv_c(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out,
                      const MPI_Count* counts, const MPI_Aint* displacements, MPI_Datatype out_type,
                      MPI_Comm comm, MPI_Request* request) {
  return iallgatherv(in, in_count, in_type, out, counts, displacements, out_type, comm,
                     {request, FERMATA_SITE}, with(real.Iallgatherv_c, request));
}

int MPI_Ialltoallv_c(const void* in, const MPI_Count* in_counts, const MPI_Aint* in_displacements,
                     MPI_Datatype in_type, void* out, const MPI_Count* out_counts,
                     const MPI_Aint* out_displacements, MPI_Datatype out_type, MPI_Comm comm,
                     MPI_Request* request) {
  return ialltoallv(in, in_counts, in_displacements, in_type, out, out_counts, out_displacements, out_type,
                    comm, {request, FERMATA_SITE}, with(real.Ialltoallv_c, request));
}

}  // extern "C"
#endif
