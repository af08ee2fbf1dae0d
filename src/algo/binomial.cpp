// binomial: a binomial tree; the parent of a rank is the rank with its lowest set bit cleared.
//
// Source: heterogeneous-mpi-barriers, section V.B, Figure 4 (tree); hybrid-collectives-p7ih, Figure 4
//   (broadcast).
// Steps:
//   1. For s = 0 ... ceil(log2 P) - 1: each member i whose lowest set bit is s signals i - 2^s.
//   2. The same edges in reverse.
// Cost: 2 (P - 1) signals in 2 ceil(log2 P) stages. No member sends or awaits more than one slot per stage.
// Why right: when member i signals in stage s, it has heard from i ... i + 2^s - 1. So member 0 hears from
//   every member. The release is the transposed arrival.
// Limits: no alltoall and no scans. Subtrees are intervals of ranks, so rank order holds. It does not hold
//   for a reduce to a root other than 0, since that root changes places with rank 0.
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

Schedule binomial_schedule(const Request& r) {
  const EdgeStages arrival = binomial_arrival(r.members);         // 1.
  return from_halves(r, "binomial", arrival, reversed(arrival));  // 2.
}

}  // namespace

Algorithm binomial() {
  return {.name = "binomial",
          .source = "heterogeneous-mpi-barriers V.B, Figure 4; hybrid-collectives-p7ih, Figure 4",
          .applicable = [](const Request& r) { return rooted_applicable(r); },
          .build = binomial_schedule};
}

}  // namespace algo
}  // namespace fermata
