// in_order: each receiver folds all contributions left to right, in rank order; an allreduce folds in shares.
//
// Source: the naive reduction of reduction-with-barrier, Algorithm 1, where the master folds the others'
//   values one after another. The shares are our own addition.
// Steps:
//   1. Reduce: every member sends its contribution to the root. Allreduce: the vector is cut into P shares,
//      and every member sends share i to member i. A receiver folds ((0 + 1) + 2) + ..., with its own
//      contribution at its place, through a slot to itself. (Member 0 begins with its own.)
//   2. Allreduce: every member sends its share of the result to every other member.
// Cost: a reduce takes P - 1 signals in one stage and P - 1 folds at the root. An allreduce takes 2 P (P - 1)
//   signals in 2 stages, each of 1/P of the vector. The slots of members to themselves come in addition. A
//   member sends and receives as many bytes as in ring, and each member folds P - 1 shares.
// Why right: lists are ordered by sender. So each receiver begins with member 0's contribution, then folds 1,
//   2, ... P - 1. This is the tree of a serial loop over the ranks, which left-to-right operations need.
// Limits: reduce and allreduce. complete does the same for reduce_scatter, scans and short allreduces. An
//   allreduce takes about P^2 slots in each stage.
// Tried: nothing rejected yet.
#include "algo/build.hpp"

namespace fermata::algo {
namespace {

Schedule in_order_schedule(const Request& r) {
  Schedule schedule = frame_of(r, "in_order");
  if (r.members == 1) return schedule;
  const bool shares = r.collective == Collective::kAllreduce;
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

bool in_order_applicable(const Request& r) {
  return in_pieces_applicable(r) &&
         (r.collective == Collective::kReduce || r.collective == Collective::kAllreduce);
}

}  // namespace

Algorithm in_order() {
  return {.name = "in_order",
          .source = "reduction-with-barrier, Algorithm 1",
          .applicable = in_order_applicable,
          .build = in_order_schedule,
          .cuts = true,
          .serial = true};
}

}  // namespace fermata::algo
