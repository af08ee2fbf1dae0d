// chain: each member waits for the one below, adds its own contribution and tells the one above.
//
// Source: hybrid-collectives-p7ih, section 4.2 (pipeline chaining); a scan by its definition.
// Steps:
//   1. Scan: member r sends the fold up to itself to r + 1, one member a stage, which adds its own.
//   2. Exscan: the same, but what arrives stays as it is: it is the result.
//   3. The receiver folds it into a copy of its own contribution, which is what it sends on.
// Cost: P - 1 signals in P - 1 stages; each member sends and awaits one slot. (Exscan: each member but the first and
//   the last also copies and folds once, alone.) In a pipeline of S segments P + S - 2 stages of a segment each: the
//   way for long vectors, which every member then reads and writes once.
// Why right: what arrives at r is the fold of 0 ... r - 1, and goes to the left of its own: rank order.
// Limits: scan and exscan; the chain of other kinds is kary(1), and ring.
// Tried: an exscan of one register, where everybody hands its contribution to the next rank and r goes on with that of
//   r - 1, needs 2 P - 3 signals (16 processes on 2 CPUs, 8 bytes: 1.1 us a call, 0.7 so).
#include "algo/build.hpp"

namespace fermata::algo {
namespace {

// Register 1: the fold up to oneself.
void exscan(Schedule& schedule) {
  schedule.registers = 2;
  const std::int32_t last = schedule.members - 1;
  for (std::int32_t i = 0; i < last; ++i) {
    Stage& pass = schedule.stages.emplace_back();  // 2.
    if (i == 0) {
      for (std::int32_t m = 1; m < last; ++m) pass.transfers.push_back({m, m, 0, 0, 1, Action::kCopy, Side::kRight});
    }
    pass.transfers.push_back({i, i + 1, 0, static_cast<std::uint8_t>(i == 0 ? 0 : 1), 0, Action::kCopy, Side::kRight});
    if (i + 1 == last) return;
    schedule.stages.emplace_back().transfers.push_back({i + 1, i + 1, 0, 0, 1, Action::kCombine, Side::kLeft});  // 3.
  }
}

Schedule build(const Request& r) {
  Schedule schedule = frame_of(r, "chain");
  if (r.members == 1) return schedule;
  if (r.kind == Kind::kExscan) {
    exscan(schedule);
    return schedule;
  }
  for (std::int32_t i = 0; i + 1 < r.members; ++i) {  // 1.
    schedule.stages.emplace_back().transfers.push_back(folded(i, i + 1, 0, Side::kLeft));
  }
  return schedule;
}

bool applicable(const Request& r) { return sane(r) && r.half == Half::kWhole && (r.kind == Kind::kScan || r.kind == Kind::kExscan); }

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
