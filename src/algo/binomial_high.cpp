// binomial_high: the binomial spanning tree whose parent is the rank with its highest bit cleared.
//
// Source: power8-barriers, section V (BST): the children of r are r + 2^i for i above r's highest bit.
// Steps:
//   1. For s = ceil(log2 P) - 1 down to 0: the members 2^s ... 2^(s+1) - 1 signal themselves minus 2^s.
//   2. The same edges backwards.
// Cost: 2 (P - 1) signals, 2 ceil(log2 P) stages; nobody sends or awaits more than one slot a stage.
//   Distances are largest at the leaves, so far signals are many but all at once; binomial has few far ones
//   near the root.
// Why right: a member signals after all ranks above it with the same low bits did, so member 0 hears of
//   everybody; the release is the transposed arrival.
// Limits: subtrees are not intervals of ranks: operators that do not commute are refused beyond two members.
// Tried: nothing rejected yet.
#include <algorithm>

#include "algo/build.hpp"

namespace fermata::algo {
namespace {

Schedule build(const Request& r) {
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
          .has_degree = false,
          .source = "power8-barriers V (binomial spanning tree)",
          .applicable = [](const Request& r) { return rooted_applicable(r); },
          .build = build,
          .redundant = false};
}

}  // namespace fermata::algo
