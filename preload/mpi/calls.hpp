// What the arguments of each collective say: one description for its blocking, non-blocking and persistent
// functions, with counts of either width. The lists in real.hpp name the functions.
#ifndef FERMATA_PRELOAD_MPI_CALLS_HPP
#define FERMATA_PRELOAD_MPI_CALLS_HPP

#include "begun.hpp"
#include "watch.hpp"

namespace fermata::preload {

enum class Form : std::uint8_t { kBlocking, kImmediate, kPersistent };

// A call of a function of this form. state null: the communicator is not known.
struct Called {
  const State* state;
  Form form;
};

// describe() takes MPI's arguments up to the root or the operator. It ignores what follows them: the
// communicator, and the info and the request of other forms.
//
// A gather or scatter that does not block runs as one with blocks that may differ, and so do a non-blocking
// allgather and all-to-all. So the ranks need not agree on the lengths. A block that its receiver has no room
// for is that rank's error alone. For a persistent allgather or all-to-all, the ranks compare their lengths
// when they make it. docs/mpi.md (lengths that differ) says what happens in other calls. Arguments
// (operation.hpp) explains irregular and pairwise.
namespace calls {

inline Side blocks(bool may_differ, const void* at, MPI_Count count, MPI_Datatype type) {
  return may_differ ? side_by_side(at, count, type) : Side{at, count, type};
}

struct Barrier {
  static constexpr Kind kKind = kBarrier;
};

struct Bcast {
  static constexpr Kind kKind = kBcast;
  static Arguments describe(Called, void* data, MPI_Count count, MPI_Datatype type, int root, auto...) {
    return {.out = {data, count, type}, .root = root};
  }
};

struct Reduce {
  static constexpr Kind kKind = kReduce;
  static Arguments describe(Called, const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op,
                            int root, auto...) {
    return {.in = {in}, .out = {out, count, type}, .op = op, .root = root};
  }
};

// Reductions without a root, and with one count.
template <Kind kind>
struct ReductionForAll {
  static constexpr Kind kKind = kind;
  static Arguments describe(Called, const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op,
                            auto...) {
    return {.in = {in}, .out = {out, count, type}, .op = op};
  }
};
using Allreduce = ReductionForAll<kAllreduce>;
using Scan = ReductionForAll<kScan>;
using Exscan = ReductionForAll<kExscan>;
using Reduce_scatter_block = ReductionForAll<kReduceScatter>;

struct Reduce_scatter {
  static constexpr Kind kKind = kReduceScatter;
  template <class Count>
  static Arguments describe(Called call, const void* in, void* out, const Count* counts, MPI_Datatype type,
                            MPI_Op op, auto...) {
    const State* const s = call.state;
    const MPI_Count own = s != nullptr && counts != nullptr ? counts[s->rank] : -1;  // no counts: a mistake
    Arguments a{.in = {in}, .out = {out, own, type}, .op = op};
    // If all blocks have the same size, which all ranks know, it is a reduce_scatter_block.
    a.irregular = own < 0;
    for (int r = 1; s != nullptr && !a.irregular && r < s->size; ++r) a.irregular = counts[r] != counts[0];
    if (a.irregular) a.out.counts = counts;
    return a;
  }
};

struct Gather {
  static constexpr Kind kKind = kGather;
  static Arguments describe(Called call, const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out,
                            MPI_Count out_count, MPI_Datatype out_type, int root, auto...) {
    const bool differ = call.form != Form::kBlocking;
    return {.in = {in, in_count, in_type},
            .out = blocks(differ, out, out_count, out_type),
            .root = root,
            .irregular = differ};
  }
};

struct Scatter {
  static constexpr Kind kKind = kScatter;
  static Arguments describe(Called call, const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out,
                            MPI_Count out_count, MPI_Datatype out_type, int root, auto...) {
    const bool differ = call.form != Form::kBlocking;
    return {.in = blocks(differ, in, in_count, in_type),
            .out = {out, out_count, out_type},
            .root = root,
            .irregular = differ};
  }
};

struct Allgather {
  static constexpr Kind kKind = kAllgather;
  static Arguments describe(Called call, const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out,
                            MPI_Count out_count, MPI_Datatype out_type, auto...) {
    const bool differ = call.form == Form::kImmediate;
    return {.in = {in, in_count, in_type},
            .out = blocks(differ, out, out_count, out_type),
            .irregular = differ,
            .pairwise = differ};
  }
};

struct Alltoall {
  static constexpr Kind kKind = kAlltoall;
  static Arguments describe(Called call, const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out,
                            MPI_Count out_count, MPI_Datatype out_type, auto...) {
    const bool differ = call.form == Form::kImmediate;
    return {.in = blocks(differ, in, in_count, in_type),
            .out = blocks(differ, out, out_count, out_type),
            .irregular = differ};
  }
};

struct Gatherv {
  static constexpr Kind kKind = kGather;
  static Arguments describe(Called, const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out,
                            Numbers counts, Numbers displacements, MPI_Datatype out_type, int root, auto...) {
    return {.in = {in, in_count, in_type},
            .out = {out, 0, out_type, counts, displacements},
            .root = root,
            .irregular = true};
  }
};

struct Scatterv {
  static constexpr Kind kKind = kScatter;
  static Arguments describe(Called, const void* in, Numbers counts, Numbers displacements,
                            MPI_Datatype in_type, void* out, MPI_Count out_count, MPI_Datatype out_type,
                            int root, auto...) {
    return {.in = {in, 0, in_type, counts, displacements},
            .out = {out, out_count, out_type},
            .root = root,
            .irregular = true};
  }
};

struct Allgatherv {
  static constexpr Kind kKind = kAllgather;
  static Arguments describe(Called call, const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out,
                            Numbers counts, Numbers displacements, MPI_Datatype out_type, auto...) {
    return {.in = {in, in_count, in_type},
            .out = {out, 0, out_type, counts, displacements},
            .irregular = true,
            .pairwise = call.form == Form::kImmediate};
  }
};

struct Alltoallv {
  static constexpr Kind kKind = kAlltoall;
  static Arguments describe(Called, const void* in, Numbers in_counts, Numbers in_displacements,
                            MPI_Datatype in_type, void* out, Numbers out_counts, Numbers out_displacements,
                            MPI_Datatype out_type, auto...) {
    return {.in = {in, 0, in_type, in_counts, in_displacements},
            .out = {out, 0, out_type, out_counts, out_displacements},
            .irregular = true};
  }
};

}  // namespace calls

template <class Collective, class... Given>
inline Arguments arguments_of(Called call, Given... given) {
  Arguments arguments = Collective::describe(call, given...);
  arguments.collective = Collective::kKind;  // Kind has the numbers of enum fermata_collective
  return arguments;
}

// As leave(), for a call that may wait in MPI: the helper is beside it.
template <class Call>
int by_library(State* s, Kind kind, const void* site, const char* why, Call&& call) {
  return leave(s, kind, site, why, [&] { return in_library(call); });
}

}  // namespace fermata::preload
#endif
