// ring: each member sends to the next rank only; every link carries another piece at the same time.
//
// Source: the bandwidth-optimal ring of Patarasu and Yuan (J. Parallel Distrib. Comput. 69, 2009); broadcast:
//   hybrid-collectives-p7ih, section 4.2 (pipeline chaining).
// Steps:
//   1. Reduce_scatter, stage s = 0 ... P - 2: member i sends chunk i - s - 1 (all mod P) to i + 1, which folds it: chunk c
//      sets out at c + 1 and ends at c.
//   2. Allgather, stage s: member i sends chunk i - s to i + 1. An allreduce is 1, then 2.
//   3. Broadcast: the chain from the root round to the rank before it, in P segments: segment k leaves the root in
//      stage k.
// Cost: P (P - 1) messages of one chunk, 1/P of the vector, in P - 1 stages; allreduce both ways, so 2 (P - 1) / P of the
//   vector per member, the least there can be. Broadcast: P (P - 1) messages in 2 P - 2 stages, the vector once.
// Why right: in 1 chunk c meets every member once on its way round, in 2 it comes by every member but its own.
// Limits: latency grows with P. Chunk c is folded in the order c + 1 ... P - 1, 0 ... c: the same tree at every member,
//   but operators that do not commute are refused.
// Tried: rank order by carrying what was folded beyond rank 0 in a register of its own doubles what a link carries.
#include "algo/build.hpp"
#include "schedule/compose.hpp"

namespace fermata::algo {
namespace {

void reduce_scatter(Schedule& schedule) {  // 1.
  const std::int32_t p = schedule.members;
  for (std::int32_t s = 0; s + 1 < p; ++s) {
    Stage& stage = schedule.stages.emplace_back();
    for (std::int32_t i = 0; i < p; ++i) stage.transfers.push_back(folded(i, (i + 1) % p, (i - s - 1 + p) % p, Side::kLeft));
  }
}

void allgather(Schedule& schedule) {  // 2.
  const std::int32_t p = schedule.members;
  for (std::int32_t s = 0; s + 1 < p; ++s) {
    Stage& stage = schedule.stages.emplace_back();
    for (std::int32_t i = 0; i < p; ++i) stage.transfers.push_back(moved(i, (i + 1) % p, (i - s + p) % p));
  }
}

Schedule build(const Request& r) {
  Schedule schedule = frame_of(r, "ring");
  if (r.kind == Kind::kBroadcast) {  // 3.
    for (std::int32_t hop = 0; hop + 1 < r.members; ++hop) {
      const std::int32_t from = (r.root + hop) % r.members;
      schedule.stages.emplace_back().transfers.push_back(moved(from, (from + 1) % r.members, 0));
    }
    return pipeline(schedule, r.members);
  }
  schedule.chunks = r.members;
  if (r.kind != Kind::kAllgather) reduce_scatter(schedule);
  if (r.kind != Kind::kReduceScatter) allgather(schedule);
  return schedule;
}

bool applicable(const Request& r) {
  return in_pieces_applicable(r) &&
         (r.kind == Kind::kBroadcast || r.kind == Kind::kAllreduce || r.kind == Kind::kAllgather || r.kind == Kind::kReduceScatter);
}

}  // namespace

Algorithm ring() {
  return {.name = "ring",
          .has_degree = false,
          .source = "Patarasu and Yuan 2009; hybrid-collectives-p7ih 4.2",
          .applicable = applicable,
          .build = build,
          .redundant = false,
          .cuts = true};
}

}  // namespace fermata::algo
