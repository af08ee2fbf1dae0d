// dissemination: in stage s member i signals member i + 2^s mod P.
//
// Source: heterogeneous-mpi-barriers, section V.B, Figure 3; power8-barriers, section V.
// Steps:
//   1. For s = 0 ... ceil(log2 P) - 1: member i signals (i + 2^s) mod P and awaits (i - 2^s) mod P.
// Cost: P ceil(log2 P) signals, ceil(log2 P) stages of one slot sent and one awaited; no root, no release.
// Why right: after stage s member i knows of the 2^(s+1) members up to itself, cyclically; ceil(log2 P)
//   doublings reach all P.
// Limits: not for broadcast and reduce (it has no root). The last doubling overlaps unless P is a power of
//   two, so an allreduce takes contributions more than once: idempotent operators only there. The members
//   fold in cyclically shifted orders: never for operators that do not associate (floating-point sums) beyond
//   two members, powers of two included.
// Tried: nothing rejected yet.
#include "algo/build.hpp"

namespace fermata::algo {
namespace {

Schedule build(const Request& r) {
  EdgeStages stages(log2_ceil(r.members));
  std::int32_t distance = 1;
  for (std::vector<Edge>& stage : stages) {  // 1.
    for (std::int32_t i = 0; i < r.members; ++i) stage.push_back({i, (i + distance) % r.members, Side::kLeft});
    distance *= 2;
  }
  return from_exchange(r, "dissemination", stages);
}

}  // namespace

Algorithm dissemination() {
  return {.name = "dissemination",
          .has_degree = false,
          .source = "heterogeneous-mpi-barriers V.B, Figure 3; power8-barriers V",
          .applicable = exchange_applicable,
          .build = build,
          .redundant = true};
}

}  // namespace fermata::algo
