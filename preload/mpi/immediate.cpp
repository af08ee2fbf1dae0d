// The non-blocking collectives.
#include "immediate_calls.hpp"
#include "real.hpp"

using namespace fermata::preload;

FERMATA_MPI_IMMEDIATE(FERMATA_INTERCEPT)

extern "C" {

int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  return begin_barrier(comm, {request, FERMATA_SITE}, with(real.Ibarrier, request));
}

int MPI_Ibcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request) {
  return ibcast(data, count, type, root, comm, {request, FERMATA_SITE}, with(real.Ibcast, request));
}

int MPI_Iallreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request* request) {
  return iallreduce(in, out, count, type, op, comm, {request, FERMATA_SITE}, with(real.Iallreduce, request));
}

int MPI_Ireduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm,
                MPI_Request* request) {
  return ireduce(in, out, count, type, op, root, comm, {request, FERMATA_SITE}, with(real.Ireduce, request));
}

int MPI_Iscan(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
              MPI_Request* request) {
  return iscan(in, out, count, type, op, comm, {request, FERMATA_SITE}, with(real.Iscan, request));
}

int MPI_Iexscan(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                MPI_Request* request) {
  return iexscan(in, out, count, type, op, comm, {request, FERMATA_SITE}, with(real.Iexscan, request));
}

int MPI_Ireduce_scatter_block(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                              MPI_Comm comm, MPI_Request* request) {
  return ireduce_scatter_block(in, out, count, type, op, comm, {request, FERMATA_SITE},
                               with(real.Ireduce_scatter_block, request));
}

int MPI_Ireduce_scatter(const void* in, void* out, const int* counts, MPI_Datatype type, MPI_Op op,
                        MPI_Comm comm, MPI_Request* request) {
  return ireduce_scatter(in, out, counts, type, op, comm, {request, FERMATA_SITE},
                         with(real.Ireduce_scatter, request));
}

int MPI_Igather(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count,
                MPI_Datatype out_type, int root, MPI_Comm comm, MPI_Request* request) {
  return igather(in, in_count, in_type, out, out_count, out_type, root, comm, {request, FERMATA_SITE},
                 with(real.Igather, request));
}

int MPI_Iscatter(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count,
                 MPI_Datatype out_type, int root, MPI_Comm comm, MPI_Request* request) {
  return iscatter(in, in_count, in_type, out, out_count, out_type, root, comm, {request, FERMATA_SITE},
                  with(real.Iscatter, request));
}

int MPI_Iallgather(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count,
                   MPI_Datatype out_type, MPI_Comm comm, MPI_Request* request) {
  return iallgather(in, in_count, in_type, out, out_count, out_type, comm, {request, FERMATA_SITE},
                    with(real.Iallgather, request));
}

int MPI_Ialltoall(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count,
                  MPI_Datatype out_type, MPI_Comm comm, MPI_Request* request) {
  return ialltoall(in, in_count, in_type, out, out_count, out_type, comm, {request, FERMATA_SITE},
                   with(real.Ialltoall, request));
}

int MPI_Igatherv(const void* in, int in_count, MPI_Datatype in_type, void* out, const int* counts,
                 const int* displacements, MPI_Datatype out_type, int root, MPI_Comm comm,
                 MPI_Request* request) {
  return igatherv(in, in_count, in_type, out, counts, displacements, out_type, root, comm,
                  {request, FERMATA_SITE}, with(real.Igatherv, request));
}

int MPI_Iscatterv(const void* in, const int* counts, const int* displacements, MPI_Datatype in_type,
                  void* out, int out_count, MPI_Datatype out_type, int root, MPI_Comm comm,
                  MPI_Request* request) {
  return iscatterv(in, counts, displacements, in_type, out, out_count, out_type, root, comm,
                   {request, FERMATA_SITE}, with(real.Iscatterv, request));
}

int MPI_Iallgatherv(const void* in, int in_count, MPI_Datatype in_type, void* out, const int* counts,
                    const int* displacements, MPI_Datatype out_type, MPI_Comm comm, MPI_Request* request) {
  return iallgatherv(in, in_count, in_type, out, counts, displacements, out_type, comm,
                     {request, FERMATA_SITE}, with(real.Iallgatherv, request));
}

int MPI_Ialltoallv(const void* in, const int* in_counts, const int* in_displacements, MPI_Datatype in_type,
                   void* out, const int* out_counts, const int* out_displacements, MPI_Datatype out_type,
                   MPI_Comm comm, MPI_Request* request) {
  return ialltoallv(in, in_counts, in_displacements, in_type, out, out_counts, out_displacements, out_type,
                    comm, {request, FERMATA_SITE}, with(real.Ialltoallv, request));
}

}  // extern "C"
