// The blocking collectives.
#include "blocking_calls.hpp"

#include "begun.hpp"
#include "real.hpp"

namespace fermata::preload {

int run(State& s, Kind kind, const Arguments& arguments, bool* left) {
  Operation operation;
  const bool prepared = operation.prepare(s, arguments);
  *left = !prepared && !operation.lacks_memory();
  if (*left) return MPI_SUCCESS;
  if (several_threads && prepared) operation.use_objects(true);
  const Entered entered(s);
  int rc = prepared ? MPI_SUCCESS : MPI_ERR_NO_MEM;
  const bool met = !s.mismatched;
  if (prepared && met && (rc = operation.pack_inputs()) == MPI_SUCCESS) {
    const int status = operation.execute(s);
    if (is_mismatch(status)) note_mismatch(s);
    else if (has_come(status)) rc = operation.finish(status);
    else if (status == FERMATA_ERR_MEMORY) rc = MPI_ERR_NO_MEM;
    else return failed(s, status);
  }
  if (rc == MPI_ERR_NO_MEM) note_no_memory(s);
  if (s.mismatched) {
    *left = goes_to_library(s, kind, met, &rc);
    return rc;
  }
  // order: relaxed: this call's own communicator
  if (rc != MPI_SUCCESS) PMPI_Comm_call_errhandler(s.comm.load(std::memory_order_relaxed), rc);
  ++s.ours;
  return rc;
}

int run_barrier(State& s, bool* left) {
  const Entered entered(s);
  ++s.ours;
  const int status = fermata_barrier(s.member);
  if (status == FERMATA_OK) [[likely]]
    return MPI_SUCCESS;
  const bool lacks_memory = status == FERMATA_ERR_MEMORY;
  if (!lacks_memory && !is_mismatch(status)) return failed(s, status);
  --s.ours;
  const bool met = !s.mismatched;
  lacks_memory ? note_no_memory(s) : note_mismatch(s);
  int rc = lacks_memory ? MPI_ERR_NO_MEM : MPI_SUCCESS;
  *left = goes_to_library(s, kBarrier, met, &rc);
  return rc;
}

}  // namespace fermata::preload

using namespace fermata::preload;

FERMATA_MPI_COLLECTIVES(FERMATA_INTERCEPT)

extern "C" {

int MPI_Barrier(MPI_Comm comm) {
  State* const s = find(comm);
  if (serving_now(s, kBarrier, comm) != nullptr) [[likely]] {
    Watched observed(s, kBarrier, FERMATA_SITE, nullptr);
    bool left = false;
    const int rc = run_barrier(*s, &left);
    if (!left) [[likely]]
      return rc;
    observed.forget();
  }
  return by_library(s, kBarrier, FERMATA_SITE, [=] { return real.Barrier(comm); });
}

int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  return bcast(data, count, type, root, comm, FERMATA_SITE, real.Bcast);
}

int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return allreduce(in, out, count, type, op, comm, FERMATA_SITE, real.Allreduce);
}

int MPI_Reduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
  return reduce(in, out, count, type, op, root, comm, FERMATA_SITE, real.Reduce);
}

int MPI_Scan(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return scan(in, out, count, type, op, comm, FERMATA_SITE, real.Scan);
}

int MPI_Exscan(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return exscan(in, out, count, type, op, comm, FERMATA_SITE, real.Exscan);
}

int MPI_Reduce_scatter_block(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                             MPI_Comm comm) {
  return reduce_scatter_block(in, out, count, type, op, comm, FERMATA_SITE, real.Reduce_scatter_block);
}

int MPI_Reduce_scatter(const void* in, void* out, const int* counts, MPI_Datatype type, MPI_Op op,
                       MPI_Comm comm) {
  return reduce_scatter(in, out, counts, type, op, comm, FERMATA_SITE, real.Reduce_scatter);
}

int MPI_Gather(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count,
               MPI_Datatype out_type, int root, MPI_Comm comm) {
  return gather(in, in_count, in_type, out, out_count, out_type, root, comm, FERMATA_SITE, real.Gather);
}

int MPI_Scatter(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count,
                MPI_Datatype out_type, int root, MPI_Comm comm) {
  return scatter(in, in_count, in_type, out, out_count, out_type, root, comm, FERMATA_SITE, real.Scatter);
}

int MPI_Allgather(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count,
                  MPI_Datatype out_type, MPI_Comm comm) {
  return allgather(in, in_count, in_type, out, out_count, out_type, comm, FERMATA_SITE, real.Allgather);
}

int MPI_Alltoall(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count,
                 MPI_Datatype out_type, MPI_Comm comm) {
  return alltoall(in, in_count, in_type, out, out_count, out_type, comm, FERMATA_SITE, real.Alltoall);
}

int MPI_Gatherv(const void* in, int in_count, MPI_Datatype in_type, void* out, const int* counts,
                const int* displacements, MPI_Datatype out_type, int root, MPI_Comm comm) {
  return gatherv(in, in_count, in_type, out, counts, displacements, out_type, root, comm, FERMATA_SITE,
                 real.Gatherv);
}

int MPI_Scatterv(const void* in, const int* counts, const int* displacements, MPI_Datatype in_type, void* out,
                 int out_count, MPI_Datatype out_type, int root, MPI_Comm comm) {
  return scatterv(in, counts, displacements, in_type, out, out_count, out_type, root, comm, FERMATA_SITE,
                  real.Scatterv);
}

int MPI_Allgatherv(const void* in, int in_count, MPI_Datatype in_type, void* out, const int* counts,
                   const int* displacements, MPI_Datatype out_type, MPI_Comm comm) {
  return allgatherv(in, in_count, in_type, out, counts, displacements, out_type, comm, FERMATA_SITE,
                    real.Allgatherv);
}

int MPI_Alltoallv(const void* in, const int* in_counts, const int* in_displacements, MPI_Datatype in_type,
                  void* out, const int* out_counts, const int* out_displacements, MPI_Datatype out_type,
                  MPI_Comm comm) {
  return alltoallv(in, in_counts, in_displacements, in_type, out, out_counts, out_displacements, out_type,
                   comm, FERMATA_SITE, real.Alltoallv);
}

}  // extern "C"
