// ring: each member sends to the next rank only; every link carries a different piece at the same time.
//
// Source: the bandwidth-optimal ring of Patarasu and Yuan (J. Parallel Distrib. Comput. 69, 2009); broadcast:
//   hybrid-collectives-p7ih, section 4.2 (pipeline chaining).
// Steps:
//   1. Reduce_scatter, stage s = 0 ... P - 2: member i sends chunk i - s - 1 (all mod P) to i + 1, which
//      folds it. So chunk c starts at c + 1 and ends at c.
//   2. Allgather, stage s: member i sends chunk i - s to i + 1. An allreduce is step 1, then step 2.
//   3. Broadcast: a chain from the root round to the rank before it, in P segments. Segment k leaves the root
//      in stage k.
// Cost: P (P - 1) messages of one chunk, 1/P of the vector, in P - 1 stages. An allreduce does this twice: 2
//   (P - 1) / P of the vector per member, which is the least possible. A broadcast takes P (P - 1) messages
//   in 2 P - 2 stages; each link carries the vector once.
// Why right: in step 1 chunk c meets every member once on its way round. In step 2 it reaches every member
//   but its own.
// Limits: latency grows with P. Chunk c is folded in the order c + 1 ... P - 1, 0 ... c. This is the same
//   tree at every member, but operators that do not commute are refused.
// Tried: for rank order, a register of its own can carry what was folded beyond rank 0. This doubles what a
//   link carries.
#include "algo/build.hpp"
#include "schedule/compose.hpp"

namespace fermata::algo {
namespace {

void reduce_scatter(Schedule& schedule) {  // 1.
  const std::int32_t p = schedule.members;
  for (std::int32_t s = 0; s + 1 < p; ++s) {
    Stage& stage = schedule.stages.emplace_back();
    for (std::int32_t i = 0; i < p; ++i)
      stage.transfers.push_back(folded(i, (i + 1) % p, (i - s - 1 + p) % p, Side::kLeft));
  }
}

void ring_allgather(Schedule& schedule) {  // 2.
  const std::int32_t p = schedule.members;
  for (std::int32_t s = 0; s + 1 < p; ++s) {
    Stage& stage = schedule.stages.emplace_back();
    for (std::int32_t i = 0; i < p; ++i) stage.transfers.push_back(moved(i, (i + 1) % p, (i - s + p) % p));
  }
}

Schedule ring_schedule(const Request& r) {
  Schedule schedule = frame_of(r, "ring");
  if (r.collective == Collective::kBroadcast) {  // 3.
    for (std::int32_t hop = 0; hop + 1 < r.members; ++hop) {
      const std::int32_t from = (r.root + hop) % r.members;
      schedule.stages.emplace_back().transfers.push_back(moved(from, (from + 1) % r.members, 0));
    }
    return pipeline(schedule, r.members);
  }
  schedule.chunks = r.members;
  if (r.collective != Collective::kAllgather) reduce_scatter(schedule);
  if (r.collective != Collective::kReduceScatter) ring_allgather(schedule);
  return schedule;
}

bool ring_applicable(const Request& r) {
  return in_pieces_applicable(r) &&
         (r.collective == Collective::kBroadcast || r.collective == Collective::kAllreduce ||
          r.collective == Collective::kAllgather || r.collective == Collective::kReduceScatter);
}

}  // namespace

Algorithm ring() {
  return {.name = "ring",
          .source = "Patarasu and Yuan 2009; hybrid-collectives-p7ih 4.2",
          .applicable = ring_applicable,
          .build = ring_schedule,
          .cuts = true};
}

}  // namespace fermata::algo
