// The blocking collectives.
#include "calls.hpp"
#include "flat.hpp"
#include "real.hpp"
#include "recovery.hpp"

namespace fermata::preload {
namespace {

// ---- At once: a call that needs no Operation. It has predefined types without gaps, an operator that
// Fermata has, and nothing is wrong. All other calls get an Operation, and come to the same call of
// Fermata's, so ranks may differ in this. The functions are inline in the call, which knows most of what the
// description says.

// False: Fermata has refused the arguments before it did anything, mostly because buffers overlap; or it has
// no memory; or the ranks' calls differ. An Operation handles all three.
template <class Call>
inline bool try_call(State& s, Kind kind, const void* site, int* rc, Call&& call) {
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

constexpr bool has_root(Kind kind) { return rules_of(static_cast<int>(kind)).has_root(); }

// Blocks of different sizes; null: this rank has none on that side.
inline int execute(fermata_member* m, const Arguments& a, const FlatBlocks* from, const FlatBlocks* to,
                   std::size_t count) {
  fermata_operation o = FERMATA_OPERATION_INIT;
  o.collective = a.collective;
  o.in = a.in.at;
  o.out = const_cast<void*>(a.out.at);
  o.count = count;
  o.type = FERMATA_UINT8;
  o.root = a.root;
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

// A v function, except for an all-to-all: one side has a block of each rank, and `one` is a rank's own block.
template <Kind kind>
[[gnu::always_inline]] inline bool blocks_at_once(State& s, const void* site, int* rc, const Arguments& a) {
  constexpr bool gives_all = kind == kScatter;
  const Side &one = gives_all ? a.out : a.in, &all = gives_all ? a.in : a.out;
  const std::size_t bytes = flat(one);
  if (bytes == kNotFlat || (has_root(kind) && !is_root(s, a.root))) return false;
  if (has_root(kind) && s.rank != a.root) {
    Arguments of_one = a;
    (gives_all ? of_one.in : of_one.out).at = nullptr;
    return try_call(s, kind, site, rc,
                    [&](fermata_member* m) { return execute(m, of_one, nullptr, nullptr, bytes); });
  }
  const FlatBlocks blocks(s, all);
  return blocks.fit() && blocks.counts[s.rank] == bytes && blocks.is_apart_from(one.at, bytes) &&
         try_call(s, kind, site, rc, [&](fermata_member* m) {
           return execute(m, a, gives_all ? &blocks : nullptr, gives_all ? nullptr : &blocks, bytes);
         });
}

[[gnu::always_inline]] inline bool alltoallv_at_once(State& s, const void* site, int* rc,
                                                     const Arguments& a) {
  const FlatBlocks from(s, a.in), to(s, a.out);
  return from.fit() && to.fit() && from.counts[s.rank] == to.counts[s.rank] && from.is_apart_from(to) &&
         try_call(s, kAlltoall, site, rc, [&](fermata_member* m) { return execute(m, a, &from, &to, 0); });
}

// Blocks of one size.
template <Kind kind>
[[gnu::always_inline]] inline bool move_at_once(State& s, const void* site, int* rc, const Arguments& a) {
  const Side &own = kind == kGather ? a.in : a.out, &other = kind == kGather ? a.out : a.in;
  const std::size_t bytes = flat(own);
  const bool has_both = kind != kBcast && (!has_root(kind) || s.rank == a.root);
  if (bytes == kNotFlat || (has_root(kind) && !is_root(s, a.root)) || (has_both && flat(other) != bytes))
    return false;
  return try_call(s, kind, site, rc, [&](fermata_member* m) {
    void* const out = const_cast<void*>(a.out.at);
    if constexpr (kind == kBcast) return fermata_broadcast(m, out, bytes, a.root);
    if constexpr (kind == kGather) return fermata_gather(m, a.in.at, out, bytes, FERMATA_UINT8, a.root);
    if constexpr (kind == kScatter) return fermata_scatter(m, a.in.at, out, bytes, FERMATA_UINT8, a.root);
    if constexpr (kind == kAllgather) return fermata_allgather(m, a.in.at, out, bytes, FERMATA_UINT8);
    if constexpr (kind == kAlltoall) return fermata_alltoall(m, a.in.at, out, bytes, FERMATA_UINT8);
  });
}

// A reduction of numbers that Fermata knows, by an operator that it has.
template <Kind kind>
[[gnu::always_inline]] inline bool reduce_at_once(State& s, const void* site, int* rc, const Arguments& a) {
  const Predefined* const t = predefined(a.out.type);
  const PredefinedOp* const o = predefined_op(a.op);
  const void* const from = a.in.at;
  void* const out = const_cast<void*>(a.out.at);
  if (t == nullptr || o == nullptr || !is_plain(*t, *o) || a.out.count < 0 || from == nullptr || from == out)
    return false;
  if (kind != kReduce && (out == nullptr || out == MPI_IN_PLACE)) return false;
  if (kind == kReduce && (!is_root(s, a.root) || (s.rank == a.root ? out : from) == MPI_IN_PLACE))
    return false;
  const std::size_t count = static_cast<std::size_t>(a.out.count) * t->parts;
  const void* const in = from == MPI_IN_PLACE ? FERMATA_IN_PLACE : from;
  return try_call(s, kind, site, rc, [&](fermata_member* m) {
    if constexpr (kind == kReduce) return fermata_reduce(m, in, out, count, t->number, o->op, a.root);
    if constexpr (kind == kAllreduce) return fermata_allreduce(m, in, out, count, t->number, o->op);
    if constexpr (kind == kScan) return fermata_scan(m, in, out, count, t->number, o->op);
    if constexpr (kind == kExscan) return fermata_exscan(m, in, out, count, t->number, o->op);
    if constexpr (kind == kReduceScatter) return fermata_reduce_scatter(m, in, out, count, t->number, o->op);
  });
}

template <Kind kind>
[[gnu::always_inline]] inline bool at_once(State& s, const void* site, int* rc, const Arguments& a) {
  if constexpr (rules_of(static_cast<int>(kind)).folds())
    return !a.irregular && reduce_at_once<kind>(s, site, rc, a);
  else if (!a.irregular) return move_at_once<kind>(s, site, rc, a);
  else if constexpr (kind == kAlltoall) return alltoallv_at_once(s, site, rc, a);
  else if constexpr (kind != kBcast) return blocks_at_once<kind>(s, site, rc, a);
  return false;
}

// ---- With an Operation. *left: nothing was done, and MPI is to do it.

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
  if (rc != MPI_SUCCESS) report(s, rc);
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

// Runs the collective with run(&left) if it is Fermata's, else with MPI's function.
template <class Run, class Library>
int run_or_leave(State* s, Kind kind, MPI_Comm comm, const void* site, Run&& run, Library&& library) {
  if (may_be_bare(s)) [[unlikely]]
    count_bare(comm);
  // Counts the call for a communicator that has no team yet.
  if (s != nullptr && (s->serves(kind) || gets_team(*s, kind))) [[likely]] {
    bool left = false;
    Watched observed(s, kind, site, nullptr);
    const int rc = run(&left);
    if (!left) [[likely]]
      return rc;
    observed.forget();
  }
  return by_library(s, kind, site, why_left(s, kind), library);
}

template <class Collective, auto kLibrary>
struct Blocking;
template <class Collective, class... Given, int (*Real::*kLibrary)(Given...)>
struct Blocking<Collective, kLibrary> {
  static int call(Given... given) {
    constexpr Kind kKind = Collective::kKind;
    const MPI_Comm comm = from_end<0>(given...);
    State* const s = find(comm);
    const Called called{s, Form::kBlocking};
    // The arguments are described again if it comes to an Operation: a description that is passed on would
    // have to be in memory here as well.
    if (int rc; s != nullptr && s->serves(kKind) &&
                at_once<kKind>(*s, FERMATA_SITE, &rc, arguments_of<Collective>(called, given...))) [[likely]]
      return rc;
    return run_or_leave(
        s, kKind, comm, FERMATA_SITE,
        [&](bool* left) { return run(*s, kKind, arguments_of<Collective>(called, given...), left); },
        [=] { return (real.*kLibrary)(given...); });
  }
};

}  // namespace
}  // namespace fermata::preload

using namespace fermata::preload;

#define FERMATA_BLOCKING(name, collective) \
  FERMATA_LEAD(name, (Blocking<calls::collective, &Real::name>::call))
FERMATA_MPI_BLOCKING(FERMATA_BLOCKING)
FERMATA_INTERCEPT(Barrier)

extern "C" int MPI_Barrier(MPI_Comm comm) {
  State* const s = find(comm);
  return run_or_leave(
      s, kBarrier, comm, FERMATA_SITE, [s](bool* left) { return run_barrier(*s, left); },
      [=] { return real.Barrier(comm); });
}
