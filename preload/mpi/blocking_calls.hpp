// The blocking collectives, for counts of either width: what MPI_Bcast and MPI_Bcast_c have in common. site:
// where the program called it; library: MPI's own function.
#ifndef FERMATA_PRELOAD_MPI_BLOCKING_CALLS_HPP
#define FERMATA_PRELOAD_MPI_BLOCKING_CALLS_HPP

#include "begun.hpp"
#include "blocking.hpp"
#include "flat.hpp"
#include "recovery.hpp"
#include "watch.hpp"

namespace fermata::preload {

// Waits in MPI.
template <class Call>
int by_library(State* s, Kind kind, const void* site, const char* why, Call&& call) {
  return leave(s, kind, site, why, [&] {
    const Beside beside;
    return call();
  });
}

template <class Call>
int by_library(State* s, Kind kind, const void* site, Call&& call) {
  return by_library(s, kind, site, why_left(s, kind), call);
}

inline int answer(State& s, int status) { return status == FERMATA_OK ? MPI_SUCCESS : failed(s, status); }

// The state, if its collectives of this kind are Fermata's; null: they are MPI's.
inline State* serving(State* s, Kind kind) { return s != nullptr && s->serves(kind) ? s : nullptr; }
// Likewise, and counts the call for a communicator that has no team yet.
inline State* serving_now(State* s, Kind kind, MPI_Comm comm) {
  if (may_be_bare(s)) [[unlikely]]
    count_bare(comm);
  return s != nullptr && (s->serves(kind) || gets_team(*s, kind)) ? s : nullptr;
}

// A call that needs no Operation: predefined types without gaps, operators that Fermata has, nothing wrong.
// All other calls get an Operation, and come to the same call of Fermata's, so ranks may differ in this.
// False: Fermata has refused the arguments before it did anything, mostly because buffers overlap; or it has
// no memory; or the ranks' calls differ. An Operation handles all three.
template <class Call>
inline bool at_once(State& s, Kind kind, const void* site, int* rc, Call&& call) {
  Watched observed(&s, kind, site, nullptr);
  const Entered entered(s);
  ++s.ours;
  const int status = call(s.member);
  *rc = MPI_SUCCESS;
  if (status == FERMATA_OK) [[likely]]
    return true;
  if (status == FERMATA_ERR_ARGUMENT || status == FERMATA_ERR_MEMORY || is_mismatch(status)) {
    --s.ours;
    observed.forget();
    return false;
  }
  *rc = failed(s, status);
  return true;
}

inline bool is_root(const State& s, int root) { return root >= 0 && root < s.size; }

// Blocks of different sizes; null: this rank has none on that side.
inline int execute(fermata_member* m, int collective, const void* in, const FlatBlocks* from, void* out,
                   const FlatBlocks* to, std::size_t count, int root) {
  fermata_operation o = FERMATA_OPERATION_INIT;
  o.collective = collective;
  o.in = in;
  o.out = out;
  o.count = count;
  o.type = FERMATA_UINT8;
  o.root = root;
  o.irregular = 1;
  if (from != nullptr) {
    o.in_counts = from->counts;
    o.in_displacements = from->displacements;
  }
  if (to != nullptr) {
    o.out_counts = to->counts;
    o.out_displacements = to->displacements;
  }
  return fermata_execute(m, &o);
}

// A reduction of numbers that Fermata knows, by an operator that it has.
struct Simple {
  bool fits = false;
  int type = 0, op = 0;
  std::size_t count = 0;
  const void* in = nullptr;
  Simple(const State* s, Kind kind, const void* from, const void* to, MPI_Count n, MPI_Datatype datatype,
         MPI_Op operation) {
    const Predefined* const t = predefined(datatype);
    const PredefinedOp* const o = predefined_op(operation);
    if (s == nullptr || t == nullptr || o == nullptr || !s->serves(kind) || !is_plain(*t, *o)) return;
    fits =
        n >= 0 && from != nullptr && from != to && ((to != nullptr && to != MPI_IN_PLACE) || kind == kReduce);
    type = t->number;
    op = o->op;
    count = static_cast<std::size_t>(n) * t->parts;
    in = from == MPI_IN_PLACE ? FERMATA_IN_PLACE : from;
  }
};

template <class Real>
inline int collective(MPI_Comm comm, Kind kind, const void* site, const Arguments& arguments,
                      Real&& library) {
  State* const s = find(comm);
  if (serving_now(s, kind, comm) != nullptr) [[likely]] {
    bool left = false;
    Watched observed(s, kind, site, nullptr);
    const int rc = run(*s, kind, arguments, &left);
    if (!left) return rc;
    observed.forget();
  }
  return by_library(s, kind, site, library);
}

template <class Count, class Library>
int bcast(void* data, Count count, MPI_Datatype type, int root, MPI_Comm comm, const void* site,
          Library library) {
  State* const s = find(comm);
  const std::size_t bytes = flat(data, count, type);
  if (int rc; serving(s, kBcast) != nullptr && bytes != kNotFlat && is_root(*s, root) &&
              at_once(*s, kBcast, site, &rc,
                      [=](fermata_member* m) { return fermata_broadcast(m, data, bytes, root); })) [[likely]]
    return rc;
  return collective(comm, kBcast, site, {FERMATA_BROADCAST, {}, {data, count, type}, MPI_OP_NULL, root},
                    [=] { return library(data, count, type, root, comm); });
}

template <class Count, class Library>
int reduce(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm,
           const void* site, Library library) {
  State* const s = find(comm);
  const Simple simple(s, kReduce, in, out, count, type, op);
  const bool rightly_placed = s != nullptr && (s->rank == root ? out != MPI_IN_PLACE : in != MPI_IN_PLACE);
  if (int rc; simple.fits && is_root(*s, root) && rightly_placed &&
              at_once(*s, kReduce, site, &rc, [&](fermata_member* m) {
                return fermata_reduce(m, simple.in, out, simple.count, simple.type, simple.op, root);
              })) [[likely]]
    return rc;
  return collective(comm, kReduce, site, {FERMATA_REDUCE, {in}, {out, count, type}, op, root},
                    [=] { return library(in, out, count, type, op, root, comm); });
}

// Reductions that give all ranks a result. call: Fermata's function of this kind.
template <int (*call)(fermata_member*, const void*, void*, std::size_t, int, int), class Count, class Library>
int reduction(Kind kind, int collects, const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op,
              MPI_Comm comm, const void* site, Library library) {
  State* const s = find(comm);
  const Simple simple(s, kind, in, out, count, type, op);
  if (int rc; simple.fits && at_once(*s, kind, site, &rc, [&](fermata_member* m) {
                return call(m, simple.in, out, simple.count, simple.type, simple.op);
              })) [[likely]]
    return rc;
  return collective(comm, kind, site, {collects, {in}, {out, count, type}, op, 0},
                    [=] { return library(in, out, count, type, op, comm); });
}

template <class Count, class Library>
int allreduce(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
              const void* site, Library library) {
  return reduction<fermata_allreduce>(kAllreduce, FERMATA_ALLREDUCE, in, out, count, type, op, comm, site,
                                      library);
}

template <class Count, class Library>
int scan(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
         const void* site, Library library) {
  return reduction<fermata_scan>(kScan, FERMATA_SCAN, in, out, count, type, op, comm, site, library);
}

template <class Count, class Library>
int exscan(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
           const void* site, Library library) {
  return reduction<fermata_exscan>(kExscan, FERMATA_EXSCAN, in, out, count, type, op, comm, site, library);
}

template <class Count, class Library>
int reduce_scatter_block(const void* in, void* out, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                         const void* site, Library library) {
  return reduction<fermata_reduce_scatter>(kReduceScatter, FERMATA_REDUCE_SCATTER, in, out, count, type, op,
                                           comm, site, library);
}

// The count, if all blocks have the same size; else null. All ranks give the same answer.
template <class Count>
const Count* same_count(const State* s, const Count* counts) {
  if (s == nullptr || counts == nullptr) return nullptr;
  for (int r = 1; r < s->size; ++r)
    if (counts[r] != counts[0]) return nullptr;
  return counts;
}

// A reduce_scatter with blocks of different sizes.
template <class Count>
Arguments reduced_blocks(const State* s, const void* in, void* out, const Count* counts, MPI_Datatype type,
                         MPI_Op op) {
  const MPI_Count own = s != nullptr && counts != nullptr ? counts[s->rank] : -1;  // no counts are a mistake
  return {FERMATA_REDUCE_SCATTER, {in}, {out, own, type, numbers(counts)}, op, 0, true};
}

template <class Count, class Library>
int reduce_scatter(const void* in, void* out, const Count* counts, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, const void* site, Library library) {
  const State* const s = find(comm);
  const auto by_library = [=](auto&&...) { return library(in, out, counts, type, op, comm); };
  if (const Count* const same = same_count(s, counts))
    return reduce_scatter_block(in, out, *same, type, op, comm, site, by_library);
  return collective(comm, kReduceScatter, site, reduced_blocks(s, in, out, counts, type, op), by_library);
}

template <class Count, class Library>
int gather(const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count,
           MPI_Datatype out_type, int root, MPI_Comm comm, const void* site, Library library) {
  State* const s = find(comm);
  const std::size_t bytes = flat(in, in_count, in_type);
  if (int rc; serving(s, kGather) != nullptr && bytes != kNotFlat && is_root(*s, root) &&
              (s->rank != root || flat(out, out_count, out_type) == bytes) &&
              at_once(*s, kGather, site, &rc, [=](fermata_member* m) {
                return fermata_gather(m, in, out, bytes, FERMATA_UINT8, root);
              })) [[likely]]
    return rc;
  return collective(comm, kGather, site,
                    {FERMATA_GATHER, {in, in_count, in_type}, {out, out_count, out_type}, MPI_OP_NULL, root},
                    [=] { return library(in, in_count, in_type, out, out_count, out_type, root, comm); });
}

template <class Count, class Library>
int scatter(const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count,
            MPI_Datatype out_type, int root, MPI_Comm comm, const void* site, Library library) {
  State* const s = find(comm);
  const std::size_t bytes = flat(out, out_count, out_type);
  if (int rc; serving(s, kScatter) != nullptr && bytes != kNotFlat && is_root(*s, root) &&
              (s->rank != root || flat(in, in_count, in_type) == bytes) &&
              at_once(*s, kScatter, site, &rc, [=](fermata_member* m) {
                return fermata_scatter(m, in, out, bytes, FERMATA_UINT8, root);
              })) [[likely]]
    return rc;
  return collective(comm, kScatter, site,
                    {FERMATA_SCATTER, {in, in_count, in_type}, {out, out_count, out_type}, MPI_OP_NULL, root},
                    [=] { return library(in, in_count, in_type, out, out_count, out_type, root, comm); });
}

template <class Count, class Library>
int allgather(const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count,
              MPI_Datatype out_type, MPI_Comm comm, const void* site, Library library) {
  State* const s = find(comm);
  const std::size_t bytes = flat(out, out_count, out_type);
  if (int rc; serving(s, kAllgather) != nullptr && bytes != kNotFlat &&
              flat(in, in_count, in_type) == bytes &&
              at_once(*s, kAllgather, site, &rc, [=](fermata_member* m) {
                return fermata_allgather(m, in, out, bytes, FERMATA_UINT8);
              })) [[likely]]
    return rc;
  return collective(comm, kAllgather, site,
                    {FERMATA_ALLGATHER, {in, in_count, in_type}, {out, out_count, out_type}},
                    [=] { return library(in, in_count, in_type, out, out_count, out_type, comm); });
}

template <class Count, class Library>
int alltoall(const void* in, Count in_count, MPI_Datatype in_type, void* out, Count out_count,
             MPI_Datatype out_type, MPI_Comm comm, const void* site, Library library) {
  State* const s = find(comm);
  const std::size_t bytes = flat(out, out_count, out_type);
  if (int rc; serving(s, kAlltoall) != nullptr && bytes != kNotFlat && flat(in, in_count, in_type) == bytes &&
              at_once(*s, kAlltoall, site, &rc, [=](fermata_member* m) {
                return fermata_alltoall(m, in, out, bytes, FERMATA_UINT8);
              })) [[likely]]
    return rc;
  return collective(comm, kAlltoall, site,
                    {FERMATA_ALLTOALL, {in, in_count, in_type}, {out, out_count, out_type}},
                    [=] { return library(in, in_count, in_type, out, out_count, out_type, comm); });
}

template <class Count, class Displacement, class Library>
int gatherv(const void* in, Count in_count, MPI_Datatype in_type, void* out, const Count* counts,
            const Displacement* displacements, MPI_Datatype out_type, int root, MPI_Comm comm,
            const void* site, Library library) {
  State* const s = find(comm);
  const std::size_t bytes = flat(in, in_count, in_type);
  if (serving(s, kGather) != nullptr && bytes != kNotFlat && is_root(*s, root)) [[likely]] {
    if (int rc; s->rank != root && at_once(*s, kGather, site, &rc, [&](fermata_member* m) {
                  return execute(m, FERMATA_GATHER, in, nullptr, nullptr, nullptr, bytes, root);
                }))
      return rc;
    const FlatBlocks to(*s, s->rank == root ? out : nullptr, counts, displacements, out_type);
    if (int rc; to.fit() && to.counts[s->rank] == bytes && to.is_apart_from(in, bytes) &&
                at_once(*s, kGather, site, &rc, [&](fermata_member* m) {
                  return execute(m, FERMATA_GATHER, in, nullptr, out, &to, bytes, root);
                }))
      return rc;
  }
  return collective(
      comm, kGather, site,
      {FERMATA_GATHER,
       {in, in_count, in_type},
       {out, 0, out_type, numbers(counts), numbers(displacements)},
       MPI_OP_NULL,
       root,
       true},
      [=] { return library(in, in_count, in_type, out, counts, displacements, out_type, root, comm); });
}

template <class Count, class Displacement, class Library>
int scatterv(const void* in, const Count* counts, const Displacement* displacements, MPI_Datatype in_type,
             void* out, Count out_count, MPI_Datatype out_type, int root, MPI_Comm comm, const void* site,
             Library library) {
  State* const s = find(comm);
  const std::size_t bytes = flat(out, out_count, out_type);
  if (serving(s, kScatter) != nullptr && bytes != kNotFlat && is_root(*s, root)) [[likely]] {
    if (int rc; s->rank != root && at_once(*s, kScatter, site, &rc, [&](fermata_member* m) {
                  return execute(m, FERMATA_SCATTER, nullptr, nullptr, out, nullptr, bytes, root);
                }))
      return rc;
    const FlatBlocks from(*s, s->rank == root ? in : nullptr, counts, displacements, in_type);
    if (int rc; from.fit() && from.counts[s->rank] == bytes && from.is_apart_from(out, bytes) &&
                at_once(*s, kScatter, site, &rc, [&](fermata_member* m) {
                  return execute(m, FERMATA_SCATTER, in, &from, out, nullptr, bytes, root);
                }))
      return rc;
  }
  return collective(
      comm, kScatter, site,
      {FERMATA_SCATTER,
       {in, 0, in_type, numbers(counts), numbers(displacements)},
       {out, out_count, out_type},
       MPI_OP_NULL,
       root,
       true},
      [=] { return library(in, counts, displacements, in_type, out, out_count, out_type, root, comm); });
}

template <class Count, class Displacement, class Library>
int allgatherv(const void* in, Count in_count, MPI_Datatype in_type, void* out, const Count* counts,
               const Displacement* displacements, MPI_Datatype out_type, MPI_Comm comm, const void* site,
               Library library) {
  State* const s = find(comm);
  const std::size_t bytes = flat(in, in_count, in_type);
  if (serving(s, kAllgather) != nullptr && bytes != kNotFlat) [[likely]] {
    const FlatBlocks to(*s, out, counts, displacements, out_type);
    if (int rc; to.fit() && to.counts[s->rank] == bytes && to.is_apart_from(in, bytes) &&
                at_once(*s, kAllgather, site, &rc, [&](fermata_member* m) {
                  return execute(m, FERMATA_ALLGATHER, in, nullptr, out, &to, bytes, 0);
                }))
      return rc;
  }
  return collective(
      comm, kAllgather, site,
      {FERMATA_ALLGATHER,
       {in, in_count, in_type},
       {out, 0, out_type, numbers(counts), numbers(displacements)},
       MPI_OP_NULL,
       0,
       true},
      [=] { return library(in, in_count, in_type, out, counts, displacements, out_type, comm); });
}

template <class Count, class Displacement, class Library>
int alltoallv(const void* in, const Count* in_counts, const Displacement* in_displacements,
              MPI_Datatype in_type, void* out, const Count* out_counts, const Displacement* out_displacements,
              MPI_Datatype out_type, MPI_Comm comm, const void* site, Library library) {
  State* const s = find(comm);
  if (serving(s, kAlltoall) != nullptr) [[likely]] {
    const FlatBlocks from(*s, in, in_counts, in_displacements, in_type),
        to(*s, out, out_counts, out_displacements, out_type);
    if (int rc; from.fit() && to.fit() && from.counts[s->rank] == to.counts[s->rank] &&
                from.is_apart_from(to) && at_once(*s, kAlltoall, site, &rc, [&](fermata_member* m) {
                  return execute(m, FERMATA_ALLTOALL, in, &from, out, &to, 0, 0);
                }))
      return rc;
  }
  return collective(comm, kAlltoall, site,
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
