// chain: each member waits for the rank below, folds in its own contribution and sends to the rank above.
//
// Source: hybrid-collectives-p7ih, section 4.2 (pipeline chaining); a scan by its definition.
// Steps:
//   1. Scan: member r sends the fold of 0 ... r to r + 1, which adds its own contribution. One member sends
//      per stage.
//   2. Exscan: the same, but the receiver keeps what arrives as its result.
//   3. Exscan: the receiver also folds what arrives into a copy of its own contribution, and sends that copy
//      on.
// Cost: P - 1 signals in P - 1 stages; a member sends and awaits one slot at most. In an exscan, each member
//   but the first and the last also makes one local copy and one local fold: its folds take P - 2 further
//   stages. A scan in a pipeline of S segments takes P + S - 2 stages of one segment each. This suits long
//   vectors, which no member receives or sends more than once.
// Why right: what arrives at r is the fold of 0 ... r - 1. It goes to the left of r's own contribution, which
//   is rank order.
// Limits: scan and exscan. For other collectives the chain is kary(1), or ring.
// Tried: an exscan with one register needs 2 P - 3 signals. There, every member sends its contribution to the
//   next rank, and r continues with the contribution of r - 1. With more processes than CPUs it took
//   longer than the present one.
#include "algo/build.hpp"

namespace fermata::algo {
namespace {

// Register 1 holds the fold up to and including the member.
void exscan(Schedule& schedule) {
  schedule.registers = 2;
  const std::int32_t last = schedule.members - 1;
  for (std::int32_t i = 0; i < last; ++i) {
    Stage& pass = schedule.stages.emplace_back();  // 2.
    if (i == 0) {
      for (std::int32_t m = 1; m < last; ++m)
        pass.transfers.push_back({m, m, 0, 0, 1, Action::kCopy, Side::kRight});
    }
    pass.transfers.push_back(
        {i, i + 1, 0, static_cast<std::uint8_t>(i == 0 ? 0 : 1), 0, Action::kCopy, Side::kRight});
    if (i + 1 == last) return;
    // 3.
    schedule.stages.emplace_back().transfers.push_back(
        {i + 1, i + 1, 0, 0, 1, Action::kCombine, Side::kLeft});
  }
}

Schedule chain_schedule(const Request& r) {
  Schedule schedule = frame_of(r, "chain");
  if (r.members == 1) return schedule;
  if (r.collective == Collective::kExscan) {
    exscan(schedule);
    return schedule;
  }
  for (std::int32_t i = 0; i + 1 < r.members; ++i) {  // 1.
    schedule.stages.emplace_back().transfers.push_back(folded(i, i + 1, 0, Side::kLeft));
  }
  return schedule;
}

bool chain_applicable(const Request& r) {
  return sane(r) && r.half == Half::kWhole &&
         (r.collective == Collective::kScan || r.collective == Collective::kExscan);
}

}  // namespace

Algorithm chain() {
  return {.name = "chain",
          .source = "hybrid-collectives-p7ih 4.2 (pipeline chaining)",
          .applicable = chain_applicable,
          .build = chain_schedule};
}

}  // namespace fermata::algo
