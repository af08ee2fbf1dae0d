// chain: each member waits for the one below, adds its own contribution and tells the one above.
//
// Source: hybrid-collectives-p7ih, section 4.2 (pipeline chaining); a scan by its definition.
// Steps:
//   1. Exscan: everybody hands its contribution to the next rank, in one stage; member r then goes on with that of
//      r - 1, and the scan is one of members 1 ... P - 1.
//   2. Member r sends the fold up to itself to r + 1, one member a stage.
// Cost: P - 1 signals in P - 1 stages (exscan: 2 P - 3 in P - 1); each member sends and awaits one slot. In a pipeline of
//   S segments P + S - 2 stages of a segment each: the way for long vectors, which every member then reads and
//   writes once.
// Why right: what arrives at r is the fold of 0 ... r - 1, and goes to the left of its own: rank order.
// Limits: scan and exscan; the chain of other kinds is kary(1), and ring.
// Tried: an exscan that keeps result and running fold in two registers sends the same value to both: twice the bytes
//   of every stage, to save one stage of P.
#include "algo/build.hpp"

namespace fermata::algo {
namespace {

Schedule build(const Request& r) {
  Schedule schedule = frame_of(r, "chain");
  if (r.members == 1) return schedule;
  std::int32_t first = 0;
  if (r.kind == Kind::kExscan) {  // 1.
    Stage& shift = schedule.stages.emplace_back();
    for (std::int32_t i = 0; i + 1 < r.members; ++i) shift.transfers.push_back(moved(i, i + 1, 0));
    first = 1;
  }
  for (std::int32_t i = first; i + 1 < r.members; ++i) {  // 2.
    schedule.stages.emplace_back().transfers.push_back(folded(i, i + 1, 0, Side::kLeft));
  }
  return schedule;
}

bool applicable(const Request& r) {
  return sane(r) && r.half == Half::kWhole && (r.kind == Kind::kScan || r.kind == Kind::kExscan);
}

}  // namespace

Algorithm chain() {
  return {.name = "chain",
          .has_degree = false,
          .source = "hybrid-collectives-p7ih 4.2 (pipeline chaining)",
          .applicable = applicable,
          .build = build,
          .redundant = false};
}

}  // namespace fermata::algo
