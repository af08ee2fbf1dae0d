// complete: one stage, everybody signals everybody.
//
// Source: the bound of one stage that heterogeneous-mpi-barriers, equation 3, allows; our own addition as an
//   algorithm.
// Steps:
//   1. Member i signals i + 1, i + 2, ... cyclically, so that not all begin with the same receiver.
//   2. Allreduce: everybody folds all contributions in rank order, its own (through a slot to itself) at its
//      place.
// Cost: P (P - 1) signals in one stage; everybody sends and awaits P - 1 slots. For P = 2 it is the
//   butterfly.
// Why right: every pair has its own signal. The list is ordered by sender, so each receiver copies member 0's
//   contribution and folds 1, 2, ... P - 1 behind it: the same tree, in rank order, at every member.
// Limits: barrier and allreduce only. P^2 slots.
// Tried: folding others around one's own contribution needs no slot to oneself, but then every member folds
//   another tree, and floating-point sums would differ between members from P = 3 on.
#include "algo/build.hpp"

namespace fermata::algo {
namespace {

Schedule build(const Request& r) {
  Schedule schedule = frame_of(r, "complete");
  if (r.members == 1) return schedule;
  const bool data = r.kind == Kind::kAllreduce;
  Stage& stage = schedule.stages.emplace_back();
  stage.transfers.reserve(static_cast<std::size_t>(r.members) * r.members);
  for (std::int32_t from = 0; from < r.members; ++from) {
    const std::int32_t nearest =
        data && from > 0 ? 0 : 1;  // member 0's own contribution is where the fold begins
    for (std::int32_t distance = nearest; distance < r.members; ++distance) {
      Transfer t;
      t.from = from;
      t.to = (from + distance) % r.members;
      if (data) {
        t.chunk = 0;
        t.action = from == 0 ? Action::kCopy : Action::kCombine;
      }
      stage.transfers.push_back(t);
    }
  }
  return schedule;
}

}  // namespace

Algorithm complete() {
  return {.name = "complete",
          .has_degree = false,
          .source = "heterogeneous-mpi-barriers, equation 3 with one stage",
          .applicable = exchange_applicable,
          .build = build,
          .redundant = false};
}

}  // namespace fermata::algo
