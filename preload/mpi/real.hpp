// MPI's own versions of the functions that this library intercepts: those listed here, and those of
// waiting.hpp.
#ifndef FERMATA_PRELOAD_MPI_REAL_HPP
#define FERMATA_PRELOAD_MPI_REAL_HPP

#include <cstddef>
#include <tuple>

#include "mpi.hpp"
#include "waiting.hpp"

// clang-format off
// The collectives that can be Fermata's, but MPI_Barrier: Y(X, blocking function, non-blocking function). The
// lists below, for each form, are X(function, description in calls.hpp).
#define FERMATA_MPI_DATA(Y, X) \
  Y(X, Bcast, Ibcast) Y(X, Reduce, Ireduce) Y(X, Allreduce, Iallreduce) Y(X, Gather, Igather) \
  Y(X, Gatherv, Igatherv) Y(X, Scatter, Iscatter) Y(X, Scatterv, Iscatterv) Y(X, Allgather, Iallgather) \
  Y(X, Allgatherv, Iallgatherv) Y(X, Alltoall, Ialltoall) Y(X, Alltoallv, Ialltoallv) \
  Y(X, Reduce_scatter, Ireduce_scatter) Y(X, Reduce_scatter_block, Ireduce_scatter_block) \
  Y(X, Scan, Iscan) Y(X, Exscan, Iexscan)
#ifdef FERMATA_MPI_LARGE
#define FERMATA_MPI_WIDTHS(X, form, name) X(form, name) X(form##_c, name)
#else
#define FERMATA_MPI_WIDTHS(X, form, name) X(form, name)
#endif
#define FERMATA_MPI_BLOCKING_FORM(X, name, immediate) FERMATA_MPI_WIDTHS(X, name, name)
#define FERMATA_MPI_IMMEDIATE_FORM(X, name, immediate) FERMATA_MPI_WIDTHS(X, immediate, name)
#define FERMATA_MPI_PERSISTENT_FORM(X, name, immediate) FERMATA_MPI_WIDTHS(X, name##_init, name)
#define FERMATA_MPI_BLOCKING(X) FERMATA_MPI_DATA(FERMATA_MPI_BLOCKING_FORM, X)
#define FERMATA_MPI_IMMEDIATE(X) X(Ibarrier, Barrier) FERMATA_MPI_DATA(FERMATA_MPI_IMMEDIATE_FORM, X)
#ifdef FERMATA_MPI_PERSISTENT
#define FERMATA_MPI_PERSISTENT_COLLECTIVES(X) \
  X(Barrier_init, Barrier) FERMATA_MPI_DATA(FERMATA_MPI_PERSISTENT_FORM, X)
#else
#define FERMATA_MPI_PERSISTENT_COLLECTIVES(X)
#endif
// The functions whose communicators are watched, as X(function, where its communicator comes from). If any
// other function but MPI_Init makes a communicator, MPI does all its collectives. no_child_of: not all ranks
// of the parent make the call.
#define FERMATA_MPI_MAKERS(X) \
  X(Comm_dup, copy_of) X(Comm_dup_with_info, copy_of) X(Comm_split, child_of) X(Comm_split_type, child_of) \
  X(Comm_create, child_of) X(Comm_create_group, no_child_of) X(Cart_create, child_of) \
  X(Cart_sub, child_of) X(Graph_create, child_of) X(Dist_graph_create, child_of) \
  X(Dist_graph_create_adjacent, child_of)
#define FERMATA_MPI_ENVIRONMENT(X) X(Init) X(Init_thread) X(Finalize)
// The functions that start, free or cancel requests.
#define FERMATA_MPI_STARTS(X) X(Start) X(Startall) X(Request_free) X(Cancel)
#define FERMATA_MPI_FREES(X) X(Op_free) X(Type_free)

#define FERMATA_MPI_ALL(X) \
  X(Barrier) FERMATA_MPI_BLOCKING(X) FERMATA_MPI_IMMEDIATE(X) FERMATA_MPI_MAKERS(X) \
  FERMATA_MPI_ENVIRONMENT(X) FERMATA_MPI_STARTS(X) FERMATA_MPI_FREES(X) FERMATA_MPI_WAITING(X) \
  FERMATA_MPI_PERSISTENT_COLLECTIVES(X)
// clang-format on

namespace fermata::preload {

struct Real {
#define FERMATA_MEMBER(name, ...) decltype(&PMPI_##name) name;
  FERMATA_MPI_ALL(FERMATA_MEMBER)
#undef FERMATA_MEMBER
};
extern Real real;  // written at load
// Written at load. True: libfermata-net has found MPI's own functions, and calls these.
extern bool transport_is_ready;
// The MPI library has functions that wait for requests and that this preload library does not replace: it is
// a newer release than the one for which this library was built.
extern bool library_is_newer;

// Written at load. Open MPI's switch for yields in calls that find nothing to do; it returns the value
// before. Null: another library, or a release without it.
extern bool (*set_library_yields)(bool);
// Likewise. Open MPI calls a function in its progress, until the function is removed; 0: it is done.
extern int (*add_to_progress)(int (*)());
extern int (*remove_from_progress)(int (*)());
#ifdef FERMATA_MPI_ASYNC
// Likewise for MPICH, until the function returns MPIX_ASYNC_DONE.
extern decltype(&PMPIX_Async_start) start_async;
#endif

// From now on every call leads to where it would lead without this library: to a profiling tool, or else to
// the MPI library (entries.cpp). Must come before the first MPI call that has any effect.
void leave_everything();

// Argument `place` of a call, counted from its end: the last one is 0.
template <std::size_t place, class... Given>
auto from_end(Given... given) {
  return std::get<sizeof...(given) - 1 - place>(std::make_tuple(given...));
}

}  // namespace fermata::preload
#endif
