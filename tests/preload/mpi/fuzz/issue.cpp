// The call itself, in every form that this MPI library offers.
#include "call.hpp"

namespace fuzz {
namespace {

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define PERSISTENT(name, suffix, ...) \
  return MPI_##name##_init##suffix(__VA_ARGS__, c.comm, MPI_INFO_NULL, &c.request)
#else
#define PERSISTENT(name, suffix, ...) return MPI_##name(__VA_ARGS__, c.comm)
#endif
#define FORMS(name, begun, suffix, ...)                                                 \
  do {                                                                                  \
    if (c.form == kBegun) return MPI_I##begun##suffix(__VA_ARGS__, c.comm, &c.request); \
    if (c.form == kPersistent) PERSISTENT(name, suffix, __VA_ARGS__);                   \
    return MPI_##name##suffix(__VA_ARGS__, c.comm);                                     \
  } while (0)
#if defined(MPICH) && MPI_VERSION >= 4
#define WIDTHS(name, begun, ...)                     \
  do {                                               \
    if (c.wide) FORMS(name, begun, _c, __VA_ARGS__); \
    FORMS(name, begun, , __VA_ARGS__);               \
  } while (0)
#define V_WIDTHS(name, begun, narrow, wide_ones)            \
  do {                                                      \
    if (c.wide) FORMS(name, begun, _c, UNPACKED wide_ones); \
    FORMS(name, begun, , UNPACKED narrow);                  \
  } while (0)
#else
#define WIDTHS(name, begun, ...) FORMS(name, begun, , __VA_ARGS__)
#define V_WIDTHS(name, begun, narrow, wide_ones) FORMS(name, begun, , UNPACKED narrow)
#endif
#define UNPACKED(...) __VA_ARGS__

int barrier(Call& c) {
  if (c.form == kBegun) return MPI_Ibarrier(c.comm, &c.request);
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
  if (c.form == kPersistent) return MPI_Barrier_init(c.comm, MPI_INFO_NULL, &c.request);
#endif
  return MPI_Barrier(c.comm);
}

int reduction(Call& c) {
  const void* const in = c.in_address();
  void* const out = c.out_address();
  switch (c.kind) {
    case kReduce: WIDTHS(Reduce, reduce, in, out, c.out_count, c.out_type, c.op.handle, c.root);
    case kAllreduce: WIDTHS(Allreduce, allreduce, in, out, c.out_count, c.out_type, c.op.handle);
    case kReduceScatterBlock:
      WIDTHS(Reduce_scatter_block, reduce_scatter_block, in, out, c.out_count, c.out_type, c.op.handle);
    case kReduceScatter:
      V_WIDTHS(Reduce_scatter, reduce_scatter, (in, out, c.out_counts.data(), c.out_type, c.op.handle),
               (in, out, c.wide_out_counts.data(), c.out_type, c.op.handle));
    case kScan: WIDTHS(Scan, scan, in, out, c.out_count, c.out_type, c.op.handle);
    default: WIDTHS(Exscan, exscan, in, out, c.out_count, c.out_type, c.op.handle);
  }
}

int irregular(Call& c) {
  const void* const in = c.in_address();
  void* const out = c.out_address();
  switch (c.kind) {
    case kGatherv:
      V_WIDTHS(Gatherv, gatherv,
               (in, c.in_count, c.in_type, out, c.out_counts.data(), c.out_places.data(), c.out_type, c.root),
               (in, c.in_count, c.in_type, out, c.wide_out_counts.data(), c.wide_out_places.data(),
                c.out_type, c.root));
    case kScatterv:
      V_WIDTHS(Scatterv, scatterv,
               (in, c.in_counts.data(), c.in_places.data(), c.in_type, out, c.out_count, c.out_type, c.root),
               (in, c.wide_in_counts.data(), c.wide_in_places.data(), c.in_type, out, c.out_count, c.out_type,
                c.root));
    case kAllgatherv:
      V_WIDTHS(
          Allgatherv, allgatherv,
          (in, c.in_count, c.in_type, out, c.out_counts.data(), c.out_places.data(), c.out_type),
          (in, c.in_count, c.in_type, out, c.wide_out_counts.data(), c.wide_out_places.data(), c.out_type));
    case kAlltoallv:
      V_WIDTHS(Alltoallv, alltoallv,
               (in, c.in_counts.data(), c.in_places.data(), c.in_type, out, c.out_counts.data(),
                c.out_places.data(), c.out_type),
               (in, c.wide_in_counts.data(), c.wide_in_places.data(), c.in_type, out,
                c.wide_out_counts.data(), c.wide_out_places.data(), c.out_type));
    default:
      V_WIDTHS(Alltoallw, alltoallw,
               (in, c.in_counts.data(), c.in_places.data(), c.in_types.data(), out, c.out_counts.data(),
                c.out_places.data(), c.out_types.data()),
               (in, c.wide_in_counts.data(), c.wide_in_places.data(), c.in_types.data(), out,
                c.wide_out_counts.data(), c.wide_out_places.data(), c.out_types.data()));
  }
}

int regular(Call& c) {
  const void* const in = c.in_address();
  void* const out = c.out_address();
  switch (c.kind) {
    case kBcast: WIDTHS(Bcast, bcast, out, c.out_count, c.out_type, c.root);
    case kGather: WIDTHS(Gather, gather, in, c.in_count, c.in_type, out, c.out_count, c.out_type, c.root);
    case kScatter: WIDTHS(Scatter, scatter, in, c.in_count, c.in_type, out, c.out_count, c.out_type, c.root);
    case kAllgather: WIDTHS(Allgather, allgather, in, c.in_count, c.in_type, out, c.out_count, c.out_type);
    default: WIDTHS(Alltoall, alltoall, in, c.in_count, c.in_type, out, c.out_count, c.out_type);
  }
}

}  // namespace

int issue(Call& c) {
  int error;
  if (c.kind == kBarrier) error = barrier(c);
  else if (c.reduces()) error = reduction(c);
  else if (c.kind == kGatherv || c.kind == kScatterv || c.kind == kAllgatherv || c.kind == kAlltoallv ||
           c.kind == kAlltoallw)
    error = irregular(c);
  else error = regular(c);
  if (error == MPI_SUCCESS && c.form == kPersistent && c.request != MPI_REQUEST_NULL)
    error = MPI_Start(&c.request);
  int error_class = MPI_SUCCESS;
  MPI_Error_class(error, &error_class);
  return error_class;
}

}  // namespace fuzz
