// The blocking collectives.
#include "blocking_calls.hpp"

#include "begun.hpp"
#include "real.hpp"

namespace fermata::preload {
int run(State& s, const Arguments& arguments, bool* left) {
  Operation operation;
  *left = !operation.prepare(s, arguments);
  if (*left) return MPI_SUCCESS;
  const Entered entered(s);
  int rc = operation.pack_inputs();
  if (rc == MPI_SUCCESS) {
    const int status = operation.execute(s);
    if (status != FERMATA_OK) return failed(s, status);
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

namespace {

// Elements of a type to where as many others of it are.
int copy(const void* from, void* to, MPI_Count count, MPI_Datatype type, const Layout& layout) {
  const std::size_t bytes = static_cast<std::size_t>(count) * layout.size;
  if (layout.dense) {
    memcpy(to, from, bytes);
    return MPI_SUCCESS;
  }
  auto* packed = static_cast<char*>(malloc(bytes));
  int rc = packed == nullptr ? MPI_ERR_NO_MEM : pack(from, count, type, layout, packed);
  if (rc == MPI_SUCCESS) rc = unpack(packed, to, count, type, layout);
  free(packed);
  return rc;
}

}  // namespace

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
  constexpr std::size_t kTogether = 8192;
  if (bytes <= kTogether || in_place) {
    alignas(16) char here[kTogether];
    MPI_Aint low = 0, true_extent = 0;
    if (!layout.dense) PMPI_Type_get_true_extent(out.type, &low, &true_extent);
    const auto span = static_cast<std::size_t>(all * (layout.extent < 0 ? -layout.extent : layout.extent) + true_extent);
    const bool fits = layout.dense && bytes <= kTogether;
    auto* memory = fits ? here : static_cast<char*>(calloc(1, span));
    if (memory == nullptr) return MPI_ERR_NO_MEM;
    char* const whole = memory - low;
    const Side from{in_place ? out.at : in.at, all, out.type};
    int rc = run(s, {FERMATA_DO_ALLREDUCE, from, {whole, all, out.type}, op, 0}, left);
    MPI_Count before = 0;
    for (int r = 0; r < s.rank; ++r) before += out.counts[r];
    const char* const own = whole + before * layout.extent;
    if (rc == MPI_SUCCESS && !*left && block.count > 0) rc = copy(own, const_cast<void*>(out.at), block.count, out.type, layout);
    if (!fits) free(memory);
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

int MPI_Reduce_scatter_block(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return reduce_scatter_block(in, out, count, type, op, comm, FERMATA_SITE, real.Reduce_scatter_block);
}

int MPI_Reduce_scatter(const void* in, void* out, const int* counts, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return reduce_scatter(in, out, counts, type, op, comm, FERMATA_SITE, real.Reduce_scatter);
}

int MPI_Gather(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count, MPI_Datatype out_type, int root,
               MPI_Comm comm) {
  return gather(in, in_count, in_type, out, out_count, out_type, root, comm, FERMATA_SITE, real.Gather);
}

int MPI_Scatter(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count, MPI_Datatype out_type, int root,
                MPI_Comm comm) {
  return scatter(in, in_count, in_type, out, out_count, out_type, root, comm, FERMATA_SITE, real.Scatter);
}

int MPI_Allgather(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count, MPI_Datatype out_type, MPI_Comm comm) {
  return allgather(in, in_count, in_type, out, out_count, out_type, comm, FERMATA_SITE, real.Allgather);
}

int MPI_Alltoall(const void* in, int in_count, MPI_Datatype in_type, void* out, int out_count, MPI_Datatype out_type, MPI_Comm comm) {
  return alltoall(in, in_count, in_type, out, out_count, out_type, comm, FERMATA_SITE, real.Alltoall);
}

int MPI_Gatherv(const void* in, int in_count, MPI_Datatype in_type, void* out, const int* counts, const int* displacements,
                MPI_Datatype out_type, int root, MPI_Comm comm) {
  return gatherv(in, in_count, in_type, out, counts, displacements, out_type, root, comm, FERMATA_SITE, real.Gatherv);
}

int MPI_Scatterv(const void* in, const int* counts, const int* displacements, MPI_Datatype in_type, void* out, int out_count,
                 MPI_Datatype out_type, int root, MPI_Comm comm) {
  return scatterv(in, counts, displacements, in_type, out, out_count, out_type, root, comm, FERMATA_SITE, real.Scatterv);
}

int MPI_Allgatherv(const void* in, int in_count, MPI_Datatype in_type, void* out, const int* counts, const int* displacements,
                   MPI_Datatype out_type, MPI_Comm comm) {
  return allgatherv(in, in_count, in_type, out, counts, displacements, out_type, comm, FERMATA_SITE, real.Allgatherv);
}

int MPI_Alltoallv(const void* in, const int* in_counts, const int* in_displacements, MPI_Datatype in_type, void* out, const int* out_counts,
                  const int* out_displacements, MPI_Datatype out_type, MPI_Comm comm) {
  return alltoallv(in, in_counts, in_displacements, in_type, out, out_counts, out_displacements, out_type, comm, FERMATA_SITE,
                   real.Alltoallv);
}

}  // extern "C"
