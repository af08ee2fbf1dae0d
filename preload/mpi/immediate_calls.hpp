// The non-blocking collectives, for counts of either width; see blocking_calls.hpp.
#ifndef FERMATA_PRELOAD_MPI_IMMEDIATE_CALLS_HPP
#define FERMATA_PRELOAD_MPI_IMMEDIATE_CALLS_HPP

#include "blocking_calls.hpp"
#include "persistent.hpp"

namespace fermata::preload {

// What a call is to make: a non-blocking request, or a persistent one.
struct Target {
  MPI_Request* request;
  const void* site;
  bool persistent = false;
};

// MPI's function with the arguments that its blocking form does not have: the request, and the info of a
// persistent one.
template <class Function, class... Last>
auto with(Function function, Last... last) {
  return [=](auto... arguments) { return function(arguments..., last...); };
}

template <class Library>
int leave_request(State* s, Kind kind, const Target& target, Library&& library) {
  const bool too_many =
      kind == kAllgather && !target.persistent && s != nullptr && s->begins(kind) && !s->pairs;
  const char* const why = too_many ? "more than 256 ranks, or 16 on several hosts" : why_left_begun(s, kind);
  if (!target.persistent) return leave(s, kind, target.site, why, library);
  testall_errs.store(true, std::memory_order_relaxed);  // order: relaxed: for threads that get the request
  return by_library(s, kind, target.site, why, library);
}

// The state of a call's communicator; null: it is not known.
inline State* state_of(MPI_Comm comm, const Target& target) {
  State* const s = find(comm);
  if (s != nullptr && target.persistent) give_team(*s);
  if (may_be_bare(s) && target.persistent) refuse_bare(comm);
  return s;
}

// *left: MPI is to do it. b null: this rank has no memory for it, so a non-blocking one is lost to this rank.
// It does not wait here for the other ranks to agree: they may need its next calls before they come to their
// next collective.
inline int begin_or_prepare(Begun* b, State& s, Kind kind, const Target& target, const Arguments& arguments,
                            bool* left) {
  if (s.mismatched) [[unlikely]] {
    int rc = b != nullptr ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    if (b != nullptr) drop(b);
    const Entered entered(s);
    *left = goes_to_library(s, kind, false, &rc);
    return rc;
  }
  if (target.persistent) return make_persistent(b, s, kind, arguments, target.request, left);
  *left = false;
  if (b == nullptr) [[unlikely]] {
    const Entered entered(s);
    note_no_memory(s);
    return lose_call(s, MPI_ERR_NO_MEM);
  }
  const Watched observed(&s, kind, target.site, nullptr);
  return begin(b, s, target.request);
}

// All ranks give the same answer, except for mistakes.
inline bool leaves_begun(const State& s, const Operation& operation, bool prepared) {
  return (operation.get().fold != nullptr && !s.folds_begun) || (!prepared && !operation.lacks_memory());
}

template <class Library>
int begin_collective(MPI_Comm comm, Kind kind, const Target& target, const Arguments& arguments,
                     Library&& library) {
  State* const s = state_of(comm, target);
  if (s != nullptr && s->begins(kind) && (s->pairs || !arguments.pairwise) && target.request != nullptr) {
    Begun* b = new_begun();
    bool left = false;
    if (b != nullptr) [[likely]] {
      left = leaves_begun(*s, b->operation, b->operation.prepare(*s, arguments));
      if (left || b->operation.lacks_memory()) {
        drop(b);
        b = nullptr;
      }
    } else {
      Operation operation;
      left = leaves_begun(*s, operation, operation.prepare(*s, arguments));
    }
    const int rc = left ? MPI_SUCCESS : begin_or_prepare(b, *s, kind, target, arguments, &left);
    if (!left) return rc;
  }
  return leave_request(s, kind, target, library);
}

template <class Library>
int begin_barrier(MPI_Comm comm, const Target& target, Library&& library) {
  State* const s = state_of(comm, target);
  bool left = s == nullptr || !s->begins(kBarrier) || target.request == nullptr;
  if (!left) {
    Begun* const b = new_begun();
    if (b != nullptr) b->is_barrier = true;
    if (b != nullptr && target.persistent) b->operation.prepare_barrier();
    const int rc = begin_or_prepare(b, *s, kBarrier, target, {}, &left);
    if (!left) return rc;
  }
  return leave_request(s, kBarrier, target, [=] { return library(comm); });
}

template <class Count, class Library>
int ibcast(void* data, Count count, MPI_Datatype type, int root, MPI_Comm comm, const Target& target,
           Library library) {
  return begin_collective(comm, kBcast, target,
                          {FERMATA_BROADCAST, {}, {data, count, type}, MPI_OP_NULL, root},
                          [=] { return library(data, count, type, root, comm); });
}

template <class Count, class Library>
int iallreduce(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
               const Target& target, Library library) {
  return begin_collective(comm, kAllreduce, target, {FERMATA_ALLREDUCE, {in}, {out, count, type}, op, 0},
                          [=] { return library(in, out, count, type, op, comm); });
}

template <class Count, class Library>
int ireduce(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm,
            const Target& target, Library library) {
  return begin_collective(comm, kReduce, target, {FERMATA_REDUCE, {in}, {out, count, type}, op, root},
                          [=] { return library(in, out, count, type, op, root, comm); });
}

template <class Count, class Library>
int iscan(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
          const Target& target, Library library) {
  return begin_collective(comm, kScan, target, {FERMATA_SCAN, {in}, {out, count, type}, op, 0},
                          [=] { return library(in, out, count, type, op, comm); });
}

template <class Count, class Library>
int iexscan(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
            const Target& target, Library library) {
  return begin_collective(comm, kExscan, target, {FERMATA_EXSCAN, {in}, {out, count, type}, op, 0},
                          [=] { return library(in, out, count, type, op, comm); });
}

template <class Count, class Library>
int ireduce_scatter_block(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                          const Target& target, Library library) {
  return begin_collective(comm, kReduceScatter, target,
                          {FERMATA_REDUCE_SCATTER, {in}, {out, count, type}, op, 0},
                          [=] { return library(in, out, count, type, op, comm); });
}

template <class Count, class Library>
int ireduce_scatter(const void* in, void* out, const Count* counts, MPI_Datatype type, MPI_Op op,
                    MPI_Comm comm, const Target& target, Library library) {
  const State* const s = find(comm);
  const auto by_library = [=](auto&&...) { return library(in, out, counts, type, op, comm); };
  if (const Count* const same = same_count(s, counts))
    return ireduce_scatter_block(in, out, *same, type, op, comm, target, by_library);
  return begin_collective(comm, kReduceScatter, target, reduced_blocks(s, in, out, counts, type, op),
                          by_library);
}

// A non-blocking gather, scatter, allgather or all-to-all runs as one with blocks that may differ. So the
// ranks need not agree on the lengths. A block that its receiver has no room for is that rank's error alone.
// Blocking ones that differ are made again. For a persistent one the ranks tell each other their lengths when
// they make it.

template <class Count, class Library>
int igather(const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count,
            MPI_Datatype out_type, int root, MPI_Comm comm, const Target& target, Library library) {
  return begin_collective(
      comm, kGather, target,
      {FERMATA_GATHER,
       {in, in_count, in_type},
       side_by_side(out, out_count, out_type),
       MPI_OP_NULL,
       root,
       true},
      [=] { return library(in, in_count, in_type, out, out_count, out_type, root, comm); });
}

template <class Count, class Library>
int iscatter(const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count,
             MPI_Datatype out_type, int root, MPI_Comm comm, const Target& target, Library library) {
  return begin_collective(
      comm, kScatter, target,
      {FERMATA_SCATTER,
       side_by_side(in, in_count, in_type),
       {out, out_count, out_type},
       MPI_OP_NULL,
       root,
       true},
      [=] { return library(in, in_count, in_type, out, out_count, out_type, root, comm); });
}

template <class Count, class Library>
int iallgather(const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count,
               MPI_Datatype out_type, MPI_Comm comm, const Target& target, Library library) {
  const bool pairwise = !target.persistent;
  const Side to = pairwise ? side_by_side(out, out_count, out_type) : Side{out, out_count, out_type};
  return begin_collective(
      comm, kAllgather, target,
      {FERMATA_ALLGATHER, {in, in_count, in_type}, to, MPI_OP_NULL, 0, pairwise, pairwise},
      [=] { return library(in, in_count, in_type, out, out_count, out_type, comm); });
}

template <class Count, class Library>
int ialltoall(const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count,
              MPI_Datatype out_type, MPI_Comm comm, const Target& target, Library library) {
  const auto blocks = [&](const void* at, Count count, MPI_Datatype type) {
    return target.persistent ? Side{at, count, type} : side_by_side(at, count, type);
  };
  return begin_collective(comm, kAlltoall, target,
                          {FERMATA_ALLTOALL, blocks(in, in_count, in_type), blocks(out, out_count, out_type),
                           MPI_OP_NULL, 0, !target.persistent},
                          [=] { return library(in, in_count, in_type, out, out_count, out_type, comm); });
}

template <class Count, class Displacement, class Library>
int igatherv(const void* in, Count in_count, MPI_Datatype in_type, void* out, const Count* counts,
             const Displacement* displacements, MPI_Datatype out_type, int root, MPI_Comm comm,
             const Target& target, Library library) {
  return begin_collective(
      comm, kGather, target,
      {FERMATA_GATHER,
       {in, in_count, in_type},
       {out, 0, out_type, numbers(counts), numbers(displacements)},
       MPI_OP_NULL,
       root,
       true},
      [=] { return library(in, in_count, in_type, out, counts, displacements, out_type, root, comm); });
}

template <class Count, class Displacement, class Library>
int iscatterv(const void* in, const Count* counts, const Displacement* displacements, MPI_Datatype in_type,
              void* out, Count out_count, MPI_Datatype out_type, int root, MPI_Comm comm,
              const Target& target, Library library) {
  return begin_collective(
      comm, kScatter, target,
      {FERMATA_SCATTER,
       {in, 0, in_type, numbers(counts), numbers(displacements)},
       {out, out_count, out_type},
       MPI_OP_NULL,
       root,
       true},
      [=] { return library(in, counts, displacements, in_type, out, out_count, out_type, root, comm); });
}

template <class Count, class Displacement, class Library>
int iallgatherv(const void* in, Count in_count, MPI_Datatype in_type, void* out, const Count* counts,
                const Displacement* displacements, MPI_Datatype out_type, MPI_Comm comm, const Target& target,
                Library library) {
  return begin_collective(
      comm, kAllgather, target,
      {FERMATA_ALLGATHER,
       {in, in_count, in_type},
       {out, 0, out_type, numbers(counts), numbers(displacements)},
       MPI_OP_NULL,
       0,
       true,
       !target.persistent},
      [=] { return library(in, in_count, in_type, out, counts, displacements, out_type, comm); });
}

template <class Count, class Displacement, class Library>
int ialltoallv(const void* in, const Count* in_counts, const Displacement* in_displacements,
               MPI_Datatype in_type, void* out, const Count* out_counts,
               const Displacement* out_displacements, MPI_Datatype out_type, MPI_Comm comm,
               const Target& target, Library library) {
  return begin_collective(comm, kAlltoall, target,
                          {FERMATA_ALLTOALL,
                           {in, 0, in_type, numbers(in_counts), numbers(in_displacements)},
                           {out, 0, out_type, numbers(out_counts), numbers(out_displacements)},
                           MPI_OP_NULL,
                           0,
                           true},
                          [=] {
                            return library(in, in_counts, in_displacements, in_type, out, out_counts,
                                           out_displacements, out_type, comm);
                          });
}

}  // namespace fermata::preload
#endif
