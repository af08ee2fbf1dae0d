// pairs: neighbours pair up, then the even ranks signal member 0.
//
// Source: the local-leader idea of remote-store-barriers with groups of two; the example of
//   docs/adding-an-algorithm.md.
// Steps:
//   1. Each odd rank signals the even rank below it.
//   2. Each even rank but 0 signals member 0.
//   3. The same edges in reverse.
// Cost: 2 (P - 1) signals in 4 stages; member 0 awaits about P / 2 slots.
// Why right: after step 1 an even rank knows of its pair, after step 2 member 0 of all members. The release
//   is the transposed arrival.
// Limits: no alltoall and no scans. Pairs are neighbours, so rank order holds for root 0.
// Tried: nothing rejected yet.
#include "algo/build.hpp"

namespace fermata::algo {
namespace {

Schedule build(const Request& r) {
  std::vector<Edge> to_even, to_root;
  for (std::int32_t i = 1; i < r.members; i += 2) to_even.push_back({i, i - 1});  // 1.
  for (std::int32_t i = 2; i < r.members; i += 2) to_root.push_back({i, 0});      // 2.
  const EdgeStages arrival{to_even, to_root};
  return from_halves(r, "pairs", arrival, reversed(arrival));  // 3.
}

}  // namespace

Algorithm pairs() {
  return {.name = "pairs",
          .source = "remote-store-barriers, groups of two",
          .applicable = [](const Request& r) { return rooted_applicable(r); },
          .build = build};
}

}  // namespace fermata::algo
