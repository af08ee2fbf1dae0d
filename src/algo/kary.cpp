// kary(k): a tree of degree k; the children of rank r are k r + 1 ... k r + k.
//
// Source: power8-barriers, section V (k-ary tree; "centralized" there is kary(P - 1)).
// Steps:
//   1. From the deepest level up, one level per stage, the members of a level signal their parents,
//      (r - 1) / k.
//   2. The same edges in reverse, from the top level down.
// Cost: 2 (P - 1) signals. The number of stages is twice the depth of the tree: about 2 ceil(log_k P) for
//   k > 1. kary(1) is a chain, with 2 (P - 1) stages. A parent awaits and writes up to k slots per stage.
// Why right: a member signals its parent after all its children have signalled it. So member 0 hears from
//   every member. The release is the transposed arrival.
// Limits: no alltoall and no scans. Operators that do not commute are refused where folds are not in rank
//   order: in a tree deeper than one level with k > 1, and in a reduce to a root other than 0.
// Tried: nothing rejected yet.
#include <algorithm>

#include "algo/build.hpp"

namespace fermata {

EdgeStages kary_arrival(std::int32_t members, std::int32_t degree) {
  EdgeStages levels;  // from the root's children down
  for (std::int64_t begin = 1; begin < members; begin = begin * degree + 1) {
    std::vector<Edge>& level = levels.emplace_back();
    const std::int64_t end = std::min<std::int64_t>(begin * degree + 1, members);
    for (std::int64_t i = begin; i < end; ++i) {
      level.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>((i - 1) / degree)});
    }
  }
  return EdgeStages(levels.rbegin(), levels.rend());
}

namespace algo {
namespace {

Schedule kary_schedule(const Request& r) {
  const EdgeStages arrival = kary_arrival(r.members, r.degree);                  // 1.
  return from_halves(r, spelled("kary", r.degree), arrival, reversed(arrival));  // 2.
}

}  // namespace

Algorithm kary() {
  return {.name = "kary",
          .has_degree = true,
          .source = "power8-barriers V",
          .applicable = [](const Request& r) { return rooted_applicable(r, 1); },
          .build = kary_schedule};
}

}  // namespace algo
}  // namespace fermata
