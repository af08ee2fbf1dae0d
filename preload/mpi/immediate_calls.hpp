// The non-blocking collectives for counts of either width, as blocking_calls.hpp.
#ifndef FERMATA_PRELOAD_MPI_IMMEDIATE_CALLS_HPP
#define FERMATA_PRELOAD_MPI_IMMEDIATE_CALLS_HPP

#include "begun.hpp"
#include "watch.hpp"

namespace fermata::preload {

template <class Library>
int begin_collective(MPI_Comm comm, Kind kind, const void* site, const Arguments& arguments, MPI_Request* out, Library&& library) {
  State* const s = find(comm);
  if (s != nullptr && s->serves(kind) && out != nullptr) {
    Begun* const b = new_begun();
    if (b == nullptr) return MPI_ERR_NO_MEM;
    if (b->operation.prepare(*s, arguments)) {
      const Watched observed(s, kind, site, nullptr);
      return begin(b, *s, out);
    }
    drop(b);
  }
  return leave(s, kind, site, library);
}

template <class Library>
int begin_barrier(MPI_Comm comm, const void* site, MPI_Request* out, Library&& library) {
  State* const s = find(comm);
  Begun* const b = s != nullptr && s->serves(kBarrier) && out != nullptr ? new_begun() : nullptr;
  if (b == nullptr) return leave(s, kBarrier, site, library);
  const Watched observed(s, kBarrier, site, nullptr);
  b->is_barrier = true;
  return begin(b, *s, out);
}

// All ranks know all counts: the same ones everywhere, or different ones everywhere.
template <class Count>
bool all_same(const State& s, const Count* counts) {
  for (int r = 1; r < s.size; ++r)
    if (counts[r] != counts[0]) return false;
  return true;
}

template <class Count, class Library>
int ibcast(void* data, Count count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request, const void* site, Library library) {
  return begin_collective(comm, kBcast, site, {FERMATA_DO_BROADCAST, {}, {data, count, type}, MPI_OP_NULL, root}, request,
                          [=] { return library(data, count, type, root, comm, request); });
}

template <class Count, class Library>
int iallreduce(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request* request, const void* site,
               Library library) {
  return begin_collective(comm, kAllreduce, site, {FERMATA_DO_ALLREDUCE, {in}, {out, count, type}, op, 0}, request,
                          [=] { return library(in, out, count, type, op, comm, request); });
}

template <class Count, class Library>
int ireduce(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm, MPI_Request* request,
            const void* site, Library library) {
  return begin_collective(comm, kReduce, site, {FERMATA_DO_REDUCE, {in}, {out, count, type}, op, root}, request,
                          [=] { return library(in, out, count, type, op, root, comm, request); });
}

template <class Count, class Library>
int iscan(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request* request, const void* site,
          Library library) {
  return begin_collective(comm, kScan, site, {FERMATA_DO_SCAN, {in}, {out, count, type}, op, 0}, request,
                          [=] { return library(in, out, count, type, op, comm, request); });
}

template <class Count, class Library>
int iexscan(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request* request, const void* site,
            Library library) {
  return begin_collective(comm, kExscan, site, {FERMATA_DO_EXSCAN, {in}, {out, count, type}, op, 0}, request,
                          [=] { return library(in, out, count, type, op, comm, request); });
}

template <class Count, class Library>
int ireduce_scatter_block(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request* request,
                          const void* site, Library library) {
  return begin_collective(comm, kReduceScatter, site, {FERMATA_DO_REDUCE_SCATTER, {in}, {out, count, type}, op, 0}, request,
                          [=] { return library(in, out, count, type, op, comm, request); });
}

template <class Count, class Library>
int ireduce_scatter(const void* in, void* out, const Count* counts, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request* request,
                    const void* site, Library library) {
  State* const s = find(comm);
  const auto by_library = [=] { return library(in, out, counts, type, op, comm, request); };
  if (s == nullptr || !s->serves(kReduceScatter) || counts == nullptr || !all_same(*s, counts))
    return leave(s, kReduceScatter, site, by_library);
  const Arguments arguments{FERMATA_DO_REDUCE_SCATTER, {in}, {out, counts[0], type}, op, 0};
  return begin_collective(comm, kReduceScatter, site, arguments, request, by_library);
}

template <class Count, class Library>
int igather(const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count, MPI_Datatype out_type, int root,
            MPI_Comm comm, MPI_Request* request, const void* site, Library library) {
  return begin_collective(comm, kGather, site, {FERMATA_DO_GATHER, {in, in_count, in_type}, {out, out_count, out_type}, MPI_OP_NULL, root},
                          request, [=] { return library(in, in_count, in_type, out, out_count, out_type, root, comm, request); });
}

template <class Count, class Library>
int iscatter(const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count, MPI_Datatype out_type, int root,
             MPI_Comm comm, MPI_Request* request, const void* site, Library library) {
  return begin_collective(comm, kScatter, site,
                          {FERMATA_DO_SCATTER, {in, in_count, in_type}, {out, out_count, out_type}, MPI_OP_NULL, root}, request,
                          [=] { return library(in, in_count, in_type, out, out_count, out_type, root, comm, request); });
}

template <class Count, class Library>
int iallgather(const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count, MPI_Datatype out_type, MPI_Comm comm,
               MPI_Request* request, const void* site, Library library) {
  return begin_collective(comm, kAllgather, site, {FERMATA_DO_ALLGATHER, {in, in_count, in_type}, {out, out_count, out_type}}, request,
                          [=] { return library(in, in_count, in_type, out, out_count, out_type, comm, request); });
}

template <class Count, class Library>
int ialltoall(const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count, MPI_Datatype out_type, MPI_Comm comm,
              MPI_Request* request, const void* site, Library library) {
  return begin_collective(comm, kAlltoall, site, {FERMATA_DO_ALLTOALL, {in, in_count, in_type}, {out, out_count, out_type}}, request,
                          [=] { return library(in, in_count, in_type, out, out_count, out_type, comm, request); });
}

template <class Count, class Displacement, class Library>
int igatherv(const void* in, Count in_count, MPI_Datatype in_type, void* out, const Count* counts, const Displacement* displacements,
             MPI_Datatype out_type, int root, MPI_Comm comm, MPI_Request* request, const void* site, Library library) {
  return begin_collective(
      comm, kGather, site,
      {FERMATA_DO_GATHER, {in, in_count, in_type}, {out, 0, out_type, numbers(counts), numbers(displacements)}, MPI_OP_NULL, root, true},
      request, [=] { return library(in, in_count, in_type, out, counts, displacements, out_type, root, comm, request); });
}

template <class Count, class Displacement, class Library>
int iscatterv(const void* in, const Count* counts, const Displacement* displacements, MPI_Datatype in_type, void* out, Count out_count,
              MPI_Datatype out_type, int root, MPI_Comm comm, MPI_Request* request, const void* site, Library library) {
  return begin_collective(
      comm, kScatter, site,
      {FERMATA_DO_SCATTER, {in, 0, in_type, numbers(counts), numbers(displacements)}, {out, out_count, out_type}, MPI_OP_NULL, root, true},
      request, [=] { return library(in, counts, displacements, in_type, out, out_count, out_type, root, comm, request); });
}

template <class Count, class Displacement, class Library>
int iallgatherv(const void* in, Count in_count, MPI_Datatype in_type, void* out, const Count* counts, const Displacement* displacements,
                MPI_Datatype out_type, MPI_Comm comm, MPI_Request* request, const void* site, Library library) {
  return begin_collective(
      comm, kAllgather, site,
      {FERMATA_DO_ALLGATHER, {in, in_count, in_type}, {out, 0, out_type, numbers(counts), numbers(displacements)}, MPI_OP_NULL, 0, true},
      request, [=] { return library(in, in_count, in_type, out, counts, displacements, out_type, comm, request); });
}

template <class Count, class Displacement, class Library>
int ialltoallv(const void* in, const Count* in_counts, const Displacement* in_displacements, MPI_Datatype in_type, void* out,
               const Count* out_counts, const Displacement* out_displacements, MPI_Datatype out_type, MPI_Comm comm, MPI_Request* request,
               const void* site, Library library) {
  return begin_collective(
      comm, kAlltoall, site,
      {FERMATA_DO_ALLTOALL,
       {in, 0, in_type, numbers(in_counts), numbers(in_displacements)},
       {out, 0, out_type, numbers(out_counts), numbers(out_displacements)},
       MPI_OP_NULL,
       0,
       true},
      request,
      [=] { return library(in, in_counts, in_displacements, in_type, out, out_counts, out_displacements, out_type, comm, request); });
}

}  // namespace fermata::preload
#endif
