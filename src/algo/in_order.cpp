// in_order: who folds has all contributions and folds them left to right, in rank order; an allreduce in shares.
//
// Source: the fold of the naive reduction, reduction-with-barrier, Algorithm 1, where the master folds the others' values one
//   after the other; in shares our own addition.
// Steps:
//   1. Reduce: everybody sends its contribution to the root. Allreduce: cut into P shares; everybody sends share i to member i.
//      Who receives folds ((0 + 1) + 2) + ..., its own (through a slot to itself) at its place.
//   2. Allreduce: everybody sends everybody its share of the result.
// Cost: reduce: P - 1 signals in one stage, P - 1 folds at the root. Allreduce: 2 P (P - 1) signals in 2 stages, of 1/P of the
//   vector each: as many bytes over a member's links as ring, and P - 1 folds of a share.
// Why right: lists are ordered by sender, so each receiver copies member 0's contribution and folds 1, 2, ... P - 1 behind it:
//   the tree of a serial loop over the ranks, the one that operations left to right demand.
// Limits: reduce and allreduce; complete does the same for reduce_scatter and scans, and for short allreduces. P^2 slots.
// Tried: nothing rejected yet.
#include "algo/build.hpp"

namespace fermata::algo {
namespace {

Schedule build(const Request& r) {
  Schedule schedule = frame_of(r, "in_order");
  if (r.members == 1) return schedule;
  const bool shares = r.kind == Kind::kAllreduce;
  if (shares) schedule.chunks = r.members;
  Stage& fold = schedule.stages.emplace_back();
  for (std::int32_t from = 0; from < r.members; ++from) {  // 1.
    for (std::int32_t distance = 0; distance < r.members; ++distance) {
      const std::int32_t to = (from + distance) % r.members;
      if ((!shares && to != r.root) || (from == 0 && to == 0)) continue;
      const std::int32_t chunk = shares ? to : 0;
      fold.transfers.push_back(from == 0 ? moved(from, to, chunk) : folded(from, to, chunk, Side::kRight));
    }
  }
  if (!shares) return schedule;
  Stage& spread = schedule.stages.emplace_back();
  for (std::int32_t from = 0; from < r.members; ++from) {  // 2.
    for (std::int32_t distance = 1; distance < r.members; ++distance)
      spread.transfers.push_back(moved(from, (from + distance) % r.members, from));
  }
  return schedule;
}

bool applicable(const Request& r) { return in_pieces_applicable(r) && (r.kind == Kind::kReduce || r.kind == Kind::kAllreduce); }

}  // namespace

Algorithm in_order() {
  return {.name = "in_order",
          .has_degree = false,
          .source = "reduction-with-barrier, Algorithm 1",
          .applicable = applicable,
          .build = build,
          .redundant = false,
          .cuts = true,
          .serial = true};
}

}  // namespace fermata::algo
