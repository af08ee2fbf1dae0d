// The non-blocking collectives.
#include "begun.hpp"
#include "real.hpp"
#include "watch.hpp"

// Where the program called one of the functions below.
#define FERMATA_SITE __builtin_return_address(0)

namespace fermata::preload {
namespace {

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
  const Watched observed(s, kind, site, why_left(s, kind));
  if (s != nullptr) ++s->left;
  return library();
}

Numbers narrow(const int* numbers) { return {numbers, nullptr}; }

template <class Library>
int begin_barrier(MPI_Comm comm, const void* site, MPI_Request* out, Library&& library) {
  State* const s = find(comm);
  Begun* const b = s != nullptr && s->serves(kBarrier) && out != nullptr ? new_begun() : nullptr;
  const Watched observed(s, kBarrier, site, b != nullptr ? nullptr : why_left(s, kBarrier));
  if (b == nullptr) {
    if (s != nullptr) ++s->left;
    return library();
  }
  b->is_barrier = true;
  return begin(b, *s, out);
}

// All ranks know all counts: the same ones everywhere, or different ones everywhere.
bool all_same(const State& s, const int* counts) {
  for (int r = 1; r < s.size; ++r)
    if (counts[r] != counts[0]) return false;
  return true;
}

}  // namespace
}  // namespace fermata::preload

using namespace fermata::preload;

FERMATA_MPI_IMMEDIATE(FERMATA_INTERCEPT)

extern "C" {

int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  return begin_barrier(comm, FERMATA_SITE, request, [=] { return real.Ibarrier(comm, request); });
}

int MPI_Ibcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request) {
  return begin_collective(comm, kBcast, FERMATA_SITE, {FERMATA_DO_BROADCAST, {}, {data, count, type}, MPI_OP_NULL, root}, request,
                          [=] { return real.Ibcast(data, count, type, root, comm, request); });
}

int MPI_Iallreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  return begin_collective(comm, kAllreduce, FERMATA_SITE, {FERMATA_DO_ALLREDUCE, {in}, {out, count, type}, op, 0}, request,
                          [=] { return real.Iallreduce(in, out, count, type, op, comm, request); });
}

int MPI_Ireduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm, MPI_Request* request) {
  return begin_collective(comm, kReduce, FERMATA_SITE, {FERMATA_DO_REDUCE, {in}, {out, count, type}, op, root}, request,
                          [=] { return real.Ireduce(in, out, count, type, op, root, comm, request); });
}

int MPI_Iscan(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  return begin_collective(comm, kScan, FERMATA_SITE, {FERMATA_DO_SCAN, {in}, {out, count, type}, op, 0}, request,
                          [=] { return real.Iscan(in, out, count, type, op, comm, request); });
}

int MPI_Iexscan(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  return begin_collective(comm, kExscan, FERMATA_SITE, {FERMATA_DO_EXSCAN, {in}, {out, count, type}, op, 0}, request,
                          [=] { return real.Iexscan(in, out, count, type, op, comm, request); });
}

int MPI_Ireduce_scatter_block(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  return begin_collective(comm, kReduceScatter, FERMATA_SITE, {FERMATA_DO_REDUCE_SCATTER, {in}, {out, count, type}, op, 0}, request,
                          [=] { return real.Ireduce_scatter_block(in, out, count, type, op, comm, request); });
}

int MPI_Ireduce_scatter(const void* in, void* out, const int* counts, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  State* const s = find(comm);
  const auto library = [=] { return real.Ireduce_scatter(in, out, counts, type, op, comm, request); };
  if (s == nullptr || !s->serves(kReduceScatter) || counts == nullptr || !all_same(*s, counts)) {
    const Watched observed(s, kReduceScatter, FERMATA_SITE, why_left(s, kReduceScatter));
    if (s != nullptr) ++s->left;
    return library();
  }
  return begin_collective(comm, kReduceScatter, FERMATA_SITE, {FERMATA_DO_REDUCE_SCATTER, {in}, {out, counts[0], type}, op, 0}, request,
                          library);
}

int MPI_Igather(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count, MPI_Datatype out_type, int root,
                MPI_Comm comm, MPI_Request* request) {
  return begin_collective(comm, kGather, FERMATA_SITE,
                          {FERMATA_DO_GATHER, {in, in_count, in_type}, {out, out_count, out_type}, MPI_OP_NULL, root}, request,
                          [=] { return real.Igather(in, in_count, in_type, out, out_count, out_type, root, comm, request); });
}

int MPI_Iscatter(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count, MPI_Datatype out_type, int root,
                 MPI_Comm comm, MPI_Request* request) {
  return begin_collective(comm, kScatter, FERMATA_SITE,
                          {FERMATA_DO_SCATTER, {in, in_count, in_type}, {out, out_count, out_type}, MPI_OP_NULL, root}, request,
                          [=] { return real.Iscatter(in, in_count, in_type, out, out_count, out_type, root, comm, request); });
}

int MPI_Iallgather(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count, MPI_Datatype out_type, MPI_Comm comm,
                   MPI_Request* request) {
  return begin_collective(comm, kAllgather, FERMATA_SITE, {FERMATA_DO_ALLGATHER, {in, in_count, in_type}, {out, out_count, out_type}},
                          request, [=] { return real.Iallgather(in, in_count, in_type, out, out_count, out_type, comm, request); });
}

int MPI_Ialltoall(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count, MPI_Datatype out_type, MPI_Comm comm,
                  MPI_Request* request) {
  return begin_collective(comm, kAlltoall, FERMATA_SITE, {FERMATA_DO_ALLTOALL, {in, in_count, in_type}, {out, out_count, out_type}},
                          request, [=] { return real.Ialltoall(in, in_count, in_type, out, out_count, out_type, comm, request); });
}

int MPI_Igatherv(const void* in, int in_count, MPI_Datatype in_type, void* out, const int* counts, const int* displacements,
                 MPI_Datatype out_type, int root, MPI_Comm comm, MPI_Request* request) {
  return begin_collective(
      comm, kGather, FERMATA_SITE,
      {FERMATA_DO_GATHER, {in, in_count, in_type}, {out, 0, out_type, narrow(counts), narrow(displacements)}, MPI_OP_NULL, root, true},
      request, [=] { return real.Igatherv(in, in_count, in_type, out, counts, displacements, out_type, root, comm, request); });
}

int MPI_Iscatterv(const void* in, const int* counts, const int* displacements, MPI_Datatype in_type, void* out, int out_count,
                  MPI_Datatype out_type, int root, MPI_Comm comm, MPI_Request* request) {
  return begin_collective(
      comm, kScatter, FERMATA_SITE,
      {FERMATA_DO_SCATTER, {in, 0, in_type, narrow(counts), narrow(displacements)}, {out, out_count, out_type}, MPI_OP_NULL, root, true},
      request, [=] { return real.Iscatterv(in, counts, displacements, in_type, out, out_count, out_type, root, comm, request); });
}

int MPI_Iallgatherv(const void* in, int in_count, MPI_Datatype in_type, void* out, const int* counts, const int* displacements,
                    MPI_Datatype out_type, MPI_Comm comm, MPI_Request* request) {
  return begin_collective(
      comm, kAllgather, FERMATA_SITE,
      {FERMATA_DO_ALLGATHER, {in, in_count, in_type}, {out, 0, out_type, narrow(counts), narrow(displacements)}, MPI_OP_NULL, 0, true},
      request, [=] { return real.Iallgatherv(in, in_count, in_type, out, counts, displacements, out_type, comm, request); });
}

int MPI_Ialltoallv(const void* in, const int* in_counts, const int* in_displacements, MPI_Datatype in_type, void* out,
                   const int* out_counts, const int* out_displacements, MPI_Datatype out_type, MPI_Comm comm, MPI_Request* request) {
  return begin_collective(comm, kAlltoall, FERMATA_SITE,
                          {FERMATA_DO_ALLTOALL,
                           {in, 0, in_type, narrow(in_counts), narrow(in_displacements)},
                           {out, 0, out_type, narrow(out_counts), narrow(out_displacements)},
                           MPI_OP_NULL,
                           0,
                           true},
                          request, [=] {
                            return real.Ialltoallv(in, in_counts, in_displacements, in_type, out, out_counts, out_displacements, out_type,
                                                   comm, request);
                          });
}

}  // extern "C"
