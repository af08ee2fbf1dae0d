// binomial_high: a binomial spanning tree; the parent of a rank is the rank with its highest set bit cleared.
//
// Source: power8-barriers, section V (BST): the children of r are r + 2^i for i above r's highest bit.
// Steps:
//   1. For s = ceil(log2 P) - 1 down to 0: each member i of 2^s ... 2^(s+1) - 1 signals i - 2^s.
//   2. The same edges in reverse.
// Cost: 2 (P - 1) signals in 2 ceil(log2 P) stages. No member sends or awaits more than one slot per stage.
//   Distances are largest at the leaves, so there are many far signals, but all at once. binomial has few far
//   signals, near the root.
// Why right: a member signals after all higher ranks with the same low bits. So member 0 hears from every
//   member. The release is the transposed arrival.
// Limits: no alltoall and no scans. Subtrees are not intervals of ranks. Operators that do not commute are
//   refused beyond two members, and in a reduce to a root other than 0.
// Tried: nothing rejected yet.
#include <algorithm>

#include "algo/build.hpp"

namespace fermata::algo {
namespace {

Schedule binomial_high_schedule(const Request& r) {
  EdgeStages arrival;
  for (std::int32_t bit = 1 << log2_ceil(r.members) >> 1; bit > 0; bit >>= 1) {  // 1.
    std::vector<Edge>& stage = arrival.emplace_back();
    for (std::int32_t i = bit; i < std::min(2 * bit, r.members); ++i) stage.push_back({i, i - bit});
  }
  return from_halves(r, "binomial_high", arrival, reversed(arrival));  // 2.
}

}  // namespace

Algorithm binomial_high() {
  return {.name = "binomial_high",
          .source = "power8-barriers V (binomial spanning tree)",
          .applicable = [](const Request& r) { return rooted_applicable(r); },
          .build = binomial_high_schedule};
}

}  // namespace fermata::algo
