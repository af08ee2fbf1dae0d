// complete: one stage, everybody signals everybody whom it concerns.
//
// Source: the bound of one stage that heterogeneous-mpi-barriers, equation 3, allows; our own addition as an
//   algorithm.
// Steps:
//   1. Member i signals i + 1, i + 2, ... cyclically, so that not all begin with the same receiver. Allgather sends each its
//      chunk, alltoall the one meant for it, scans only the ranks above.
//   2. What is folded (allreduce, reduce_scatter, scans): everybody folds all contributions in rank order, its own (through
//      a slot to itself) at its place.
// Cost: P (P - 1) signals in one stage (scans: half); everybody sends and awaits P - 1 slots. For P = 2 it is the
//   butterfly.
// Why right: every pair has its own signal. The list is ordered by sender, so each receiver copies member 0's
//   contribution and folds 1, 2, ... P - 1 behind it: the same tree, in rank order, at every member.
// Limits: not for broadcast, reduce, gather and scatter, which are linear's. P^2 slots.
// Tried: folding others around one's own contribution needs no slot to oneself, but then every member folds
//   another tree, and floating-point sums would differ between members from P = 3 on.
#include "algo/build.hpp"

namespace fermata::algo {
namespace {

Transfer transfer(Kind kind, std::int32_t members, std::int32_t from, std::int32_t to) {
  if (kind == Kind::kAllgather) return moved(from, to, from);
  if (kind == Kind::kAlltoall) return moved(from, to, from * members + to);
  if (kind == Kind::kBarrier) return {.from = from, .to = to};
  const std::int32_t piece = kind == Kind::kReduceScatter ? to : 0;
  return from == 0 ? moved(from, to, piece) : folded(from, to, piece, Side::kRight);
}

bool concerned(Kind kind, std::int32_t from, std::int32_t to) {
  if (kind == Kind::kScan) return from <= to && to > 0;
  if (kind == Kind::kExscan) return from < to;
  // Member 0's own contribution is where its fold begins.
  return from != to || (folds(kind) && from > 0);
}

Schedule build(const Request& r) {
  Schedule schedule = frame_of(r, "complete");
  if (r.members == 1) return schedule;
  Stage& stage = schedule.stages.emplace_back();
  stage.transfers.reserve(static_cast<std::size_t>(r.members) * r.members);
  for (std::int32_t from = 0; from < r.members; ++from) {
    for (std::int32_t distance = 0; distance < r.members; ++distance) {
      const std::int32_t to = (from + distance) % r.members;
      if (concerned(r.kind, from, to)) stage.transfers.push_back(transfer(r.kind, r.members, from, to));
    }
  }
  return schedule;
}

bool applicable(const Request& r) {
  if (exchange_applicable(r)) return true;
  return in_pieces_applicable(r) && !rides_on_a_line(r.kind) && !has_root(r.kind);
}

}  // namespace

Algorithm complete() {
  return {.name = "complete",
          .has_degree = false,
          .source = "heterogeneous-mpi-barriers, equation 3 with one stage",
          .applicable = applicable,
          .build = build,
          .redundant = false};
}

}  // namespace fermata::algo
