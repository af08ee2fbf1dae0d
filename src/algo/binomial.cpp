// binomial: the binomial tree whose parent is the rank with its lowest bit cleared.
//
// Source: heterogeneous-mpi-barriers, section V.B, Figure 4 (tree); hybrid-collectives-p7ih, Figure 4
//   (broadcast).
// Steps:
//   1. For s = 0 ... ceil(log2 P) - 1: a member whose lowest set bit is s signals itself minus 2^s.
//   2. The same edges backwards.
// Cost: 2 (P - 1) signals, 2 ceil(log2 P) stages; nobody sends or awaits more than one slot a stage.
// Why right: when member i signals, it has heard of i ... i + 2^s - 1, so member 0 hears of everybody; the
//   release is the transposed arrival.
// Limits: none. Subtrees are intervals of ranks, so rank order holds (but not for a reduce to a root other
//   than 0, which changes places with rank 0).
// Tried: nothing rejected yet.
#include "algo/build.hpp"

namespace fermata {

EdgeStages binomial_arrival(std::int32_t members) {
  EdgeStages stages(log2_ceil(members));
  std::int32_t bit = 1;
  for (std::vector<Edge>& stage : stages) {
    for (std::int32_t i = bit; i < members; i += 2 * bit) stage.push_back({i, i - bit});
    bit *= 2;
  }
  return stages;
}

namespace algo {
namespace {

Schedule build(const Request& r) {
  const EdgeStages arrival = binomial_arrival(r.members);         // 1.
  return from_halves(r, "binomial", arrival, reversed(arrival));  // 2.
}

}  // namespace

Algorithm binomial() {
  return {.name = "binomial",
          .has_degree = false,
          .source = "heterogeneous-mpi-barriers V.B, Figure 4; hybrid-collectives-p7ih, Figure 4",
          .applicable = [](const Request& r) { return rooted_applicable(r); },
          .build = build,
          .redundant = false};
}

}  // namespace algo
}  // namespace fermata
