// The blocking collectives.
#include "blocking.hpp"

#include "begun.hpp"
#include "real.hpp"
#include "watch.hpp"

// Where the program called one of the functions below.
#define FERMATA_SITE __builtin_return_address(0)

namespace fermata::preload {
namespace {

// By the library, since find() or Operation::prepare() said so.
template <class Call>
int by_library(State* s, Kind kind, const void* site, Call&& call) {
  const Watched observed(s, kind, site, why_left(s, kind));
  if (s != nullptr) ++s->left;
  const Beside beside;
  return call();
}

[[gnu::noinline]] int run_failed(State& s, int status) { return failed(s, status); }

inline int answer(State& s, int status) { return status == FERMATA_OK ? MPI_SUCCESS : run_failed(s, status); }

}  // namespace

int run(State& s, const Arguments& arguments, bool* left) {
  Operation operation;
  *left = !operation.prepare(s, arguments);
  if (*left) return MPI_SUCCESS;
  const Entered entered(s);
  int rc = operation.error();
  if (rc == MPI_SUCCESS) {
    const int status = operation.execute(s);
    if (status != FERMATA_OK) return run_failed(s, status);
    rc = operation.finish();
  }
  // order: relaxed: this call's own communicator
  if (rc != MPI_SUCCESS) PMPI_Comm_call_errhandler(s.comm.load(std::memory_order_relaxed), rc);
  ++s.ours;
  return rc;
}

int run_barrier(State& s) {
  const Entered entered(s);
  ++s.ours;
  return answer(s, fermata_barrier(s.member));
}

// Blocks of different sizes: small ones as one reduction of all of them, long ones as one for each rank.
int run_reduce_scatter(State& s, const Side& in, const Side& out, MPI_Op op, bool* left) {
  bool same = true;
  MPI_Count all = 0;
  for (int r = 0; r < s.size; ++r) {
    if (out.counts[r] < 0) {
      *left = true;
      return MPI_SUCCESS;
    }
    same = same && out.counts[r] == out.counts[0];
    all += out.counts[r];
  }
  Side block{out.at, out.counts[s.rank], out.type};
  if (same) return run(s, {FERMATA_DO_REDUCE_SCATTER, in, block, op, 0}, left);
  Layout layout;
  *left = !layout_of(out.type, &layout);
  if (*left || all == 0) return MPI_SUCCESS;
  // In place the result is written over the input, so that is read from a copy.
  const bool in_place = in.at == MPI_IN_PLACE;
  const std::size_t bytes = static_cast<std::size_t>(all) * layout.size;
  MPI_Aint low = 0, true_extent = 0;
  PMPI_Type_get_true_extent(out.type, &low, &true_extent);
  const auto span = static_cast<std::size_t>(all * (layout.extent < 0 ? -layout.extent : layout.extent) + true_extent);
  constexpr std::size_t kTogether = 8192;
  if (bytes <= kTogether || in_place) {
    auto* memory = static_cast<char*>(calloc(1, span));
    if (memory == nullptr) return MPI_ERR_NO_MEM;
    char* const whole = memory - low;
    const Side from{in_place ? out.at : in.at, all, out.type};
    int rc = run(s, {FERMATA_DO_ALLREDUCE, from, {whole, all, out.type}, op, 0}, left);
    MPI_Count before = 0;
    for (int r = 0; r < s.rank; ++r) before += out.counts[r];
    if (rc == MPI_SUCCESS && !*left && block.count > 0) {
      const std::size_t mine = static_cast<std::size_t>(block.count) * layout.size;
      auto* packed = static_cast<char*>(malloc(mine));
      rc = packed == nullptr ? MPI_ERR_NO_MEM : pack(whole + before * layout.extent, block.count, out.type, layout, packed);
      if (rc == MPI_SUCCESS) rc = unpack(packed, const_cast<void*>(out.at), block.count, out.type, layout);
      free(packed);
    }
    free(memory);
    return rc;
  }
  int rc = MPI_SUCCESS;
  MPI_Count before = 0;
  for (int r = 0; r < s.size && rc == MPI_SUCCESS && !*left; ++r) {
    const Side from{static_cast<const char*>(in.at) + before * layout.extent, out.counts[r], out.type};
    rc = run(s, {FERMATA_DO_REDUCE, from, {out.at, out.counts[r], out.type}, op, r}, left);
    before += out.counts[r];
  }
  return rc;
}

namespace {

// A state whose collectives of this kind are Fermata's; null: the library's.
inline State* serving(State* s, Kind kind) { return s != nullptr && s->serves(kind) ? s : nullptr; }

// A reduction of numbers that Fermata knows by an operator that it has.
struct Simple {
  bool fits = false;
  int type = 0, op = 0;
  std::size_t count = 0;
  const void* in = nullptr;
  Simple(const State* s, Kind kind, const void* from, const void* to, int n, MPI_Datatype datatype, MPI_Op operation) {
    const Predefined* const t = predefined(datatype);
    const PredefinedOp* const o = predefined_op(operation);
    if (s == nullptr || t == nullptr || o == nullptr || !s->serves(kind) || !is_plain(*t, *o)) return;
    fits = n >= 0 && from != nullptr && (to != nullptr || kind == kReduce);
    type = t->number;
    op = o->op;
    count = static_cast<std::size_t>(n) * t->parts;
    in = from == MPI_IN_PLACE ? FERMATA_IN_PLACE : from;
  }
};

template <class Real>
inline int collective(MPI_Comm comm, Kind kind, const void* site, const Arguments& arguments, Real&& library) {
  State* const s = find(comm);
  if (serving(s, kind) != nullptr) [[likely]] {
    bool left = false;
    const Watched observed(s, kind, site, nullptr);
    const int rc = run(*s, arguments, &left);
    if (!left) return rc;
  }
  return by_library(s, kind, site, library);
}

Numbers narrow(const int* numbers) { return {numbers, nullptr}; }

}  // namespace
}  // namespace fermata::preload

using namespace fermata::preload;

FERMATA_MPI_COLLECTIVES(FERMATA_INTERCEPT)

extern "C" {

int MPI_Barrier(MPI_Comm comm) {
  State* const s = find(comm);
  if (serving(s, kBarrier) != nullptr) [[likely]] {
    const Watched observed(s, kBarrier, FERMATA_SITE, nullptr);
    return run_barrier(*s);
  }
  return by_library(s, kBarrier, FERMATA_SITE, [=] { return real.Barrier(comm); });
}

int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  State* const s = find(comm);
  const Predefined* const t = predefined(type);
  if (serving(s, kBcast) != nullptr && t != nullptr && t->size == t->extent && count >= 0 && root >= 0 && root < s->size &&
      (data != nullptr || count == 0)) [[likely]] {
    const Watched observed(s, kBcast, FERMATA_SITE, nullptr);
    const Entered entered(*s);
    ++s->ours;
    return answer(*s, fermata_broadcast(s->member, data, static_cast<std::size_t>(count) * t->size, root));
  }
  return collective(comm, kBcast, FERMATA_SITE, {FERMATA_DO_BROADCAST, {}, {data, count, type}, MPI_OP_NULL, root},
                    [=] { return real.Bcast(data, count, type, root, comm); });
}

int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  State* const s = find(comm);
  const Simple simple(s, kAllreduce, in, out, count, type, op);
  if (simple.fits) [[likely]] {
    const Watched observed(s, kAllreduce, FERMATA_SITE, nullptr);
    const Entered entered(*s);
    ++s->ours;
    return answer(*s, fermata_allreduce(s->member, simple.in, out, simple.count, simple.type, simple.op));
  }
  return collective(comm, kAllreduce, FERMATA_SITE, {FERMATA_DO_ALLREDUCE, {in}, {out, count, type}, op, 0},
                    [=] { return real.Allreduce(in, out, count, type, op, comm); });
}

int MPI_Reduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
  State* const s = find(comm);
  const Simple simple(s, kReduce, in, out, count, type, op);
  if (simple.fits && root >= 0 && root < s->size && (in != MPI_IN_PLACE || s->rank == root)) [[likely]] {
    const Watched observed(s, kReduce, FERMATA_SITE, nullptr);
    const Entered entered(*s);
    ++s->ours;
    return answer(*s, fermata_reduce(s->member, simple.in, out, simple.count, simple.type, simple.op, root));
  }
  return collective(comm, kReduce, FERMATA_SITE, {FERMATA_DO_REDUCE, {in}, {out, count, type}, op, root},
                    [=] { return real.Reduce(in, out, count, type, op, root, comm); });
}

int MPI_Scan(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return collective(comm, kScan, FERMATA_SITE, {FERMATA_DO_SCAN, {in}, {out, count, type}, op, 0},
                    [=] { return real.Scan(in, out, count, type, op, comm); });
}

int MPI_Exscan(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return collective(comm, kExscan, FERMATA_SITE, {FERMATA_DO_EXSCAN, {in}, {out, count, type}, op, 0},
                    [=] { return real.Exscan(in, out, count, type, op, comm); });
}

int MPI_Reduce_scatter_block(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return collective(comm, kReduceScatter, FERMATA_SITE, {FERMATA_DO_REDUCE_SCATTER, {in}, {out, count, type}, op, 0},
                    [=] { return real.Reduce_scatter_block(in, out, count, type, op, comm); });
}

int MPI_Reduce_scatter(const void* in, void* out, const int* counts, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  State* const s = find(comm);
  if (serving(s, kReduceScatter) != nullptr && counts != nullptr) {
    bool left = false;
    const Watched observed(s, kReduceScatter, FERMATA_SITE, nullptr);
    const int rc = run_reduce_scatter(*s, {in}, {out, 0, type, narrow(counts)}, op, &left);
    if (!left) return rc;
  }
  return by_library(s, kReduceScatter, FERMATA_SITE, [=] { return real.Reduce_scatter(in, out, counts, type, op, comm); });
}

int MPI_Gather(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count, MPI_Datatype out_type, int root,
               MPI_Comm comm) {
  return collective(comm, kGather, FERMATA_SITE,
                    {FERMATA_DO_GATHER, {in, in_count, in_type}, {out, out_count, out_type}, MPI_OP_NULL, root},
                    [=] { return real.Gather(in, in_count, in_type, out, out_count, out_type, root, comm); });
}

int MPI_Scatter(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count, MPI_Datatype out_type, int root,
                MPI_Comm comm) {
  return collective(comm, kScatter, FERMATA_SITE,
                    {FERMATA_DO_SCATTER, {in, in_count, in_type}, {out, out_count, out_type}, MPI_OP_NULL, root},
                    [=] { return real.Scatter(in, in_count, in_type, out, out_count, out_type, root, comm); });
}

int MPI_Allgather(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count, MPI_Datatype out_type, MPI_Comm comm) {
  return collective(comm, kAllgather, FERMATA_SITE, {FERMATA_DO_ALLGATHER, {in, in_count, in_type}, {out, out_count, out_type}},
                    [=] { return real.Allgather(in, in_count, in_type, out, out_count, out_type, comm); });
}

int MPI_Alltoall(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count, MPI_Datatype out_type, MPI_Comm comm) {
  return collective(comm, kAlltoall, FERMATA_SITE, {FERMATA_DO_ALLTOALL, {in, in_count, in_type}, {out, out_count, out_type}},
                    [=] { return real.Alltoall(in, in_count, in_type, out, out_count, out_type, comm); });
}

int MPI_Gatherv(const void* in, int in_count, MPI_Datatype in_type, void* out, const int* counts, const int* displacements,
                MPI_Datatype out_type, int root, MPI_Comm comm) {
  return collective(
      comm, kGather, FERMATA_SITE,
      {FERMATA_DO_GATHER, {in, in_count, in_type}, {out, 0, out_type, narrow(counts), narrow(displacements)}, MPI_OP_NULL, root, true},
      [=] { return real.Gatherv(in, in_count, in_type, out, counts, displacements, out_type, root, comm); });
}

int MPI_Scatterv(const void* in, const int* counts, const int* displacements, MPI_Datatype in_type, void* out, int out_count,
                 MPI_Datatype out_type, int root, MPI_Comm comm) {
  return collective(
      comm, kScatter, FERMATA_SITE,
      {FERMATA_DO_SCATTER, {in, 0, in_type, narrow(counts), narrow(displacements)}, {out, out_count, out_type}, MPI_OP_NULL, root, true},
      [=] { return real.Scatterv(in, counts, displacements, in_type, out, out_count, out_type, root, comm); });
}

int MPI_Allgatherv(const void* in, int in_count, MPI_Datatype in_type, void* out, const int* counts, const int* displacements,
                   MPI_Datatype out_type, MPI_Comm comm) {
  return collective(
      comm, kAllgather, FERMATA_SITE,
      {FERMATA_DO_ALLGATHER, {in, in_count, in_type}, {out, 0, out_type, narrow(counts), narrow(displacements)}, MPI_OP_NULL, 0, true},
      [=] { return real.Allgatherv(in, in_count, in_type, out, counts, displacements, out_type, comm); });
}

int MPI_Alltoallv(const void* in, const int* in_counts, const int* in_displacements, MPI_Datatype in_type, void* out, const int* out_counts,
                  const int* out_displacements, MPI_Datatype out_type, MPI_Comm comm) {
  return collective(
      comm, kAlltoall, FERMATA_SITE,
      {FERMATA_DO_ALLTOALL,
       {in, 0, in_type, narrow(in_counts), narrow(in_displacements)},
       {out, 0, out_type, narrow(out_counts), narrow(out_displacements)},
       MPI_OP_NULL,
       0,
       true},
      [=] { return real.Alltoallv(in, in_counts, in_displacements, in_type, out, out_counts, out_displacements, out_type, comm); });
}

}  // extern "C"
