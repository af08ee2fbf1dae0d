// sense_reversing: one counter word and a separate phase word; waiting members poll the phase only.
//
// Source: reduction-with-barrier, section II.A. The sense is the episode's number, so nothing is reversed or
//   reset.
// Steps:
//   1. Every member adds one to the counter.
//   2. The member that completes the counter flips the phase.
//   3. Every member polls the phase. The member that flipped it need not poll.
// Cost: P adds on one line, one flip, P - 1 readers of another line. In counter the polling members disturb
//   the adds; here they do not. The price is one more line that moves on the critical path.
// Why right: a member that saw all P adds flips the phase, and every member awaits the phase.
// Limits: barriers only, since a word carries no data. There are no halves, since nobody knows in advance
//   which member completes the counter.
// Tried: nothing rejected yet.
#include "algo/build.hpp"

namespace fermata::algo {
namespace {

Schedule sense_reversing_schedule(const Request& r) {
  Schedule schedule = frame_of(r, "sense_reversing");
  if (r.members == 1) return schedule;
  const std::int32_t counter = schedule.members, phase = counter + 1;
  schedule.words = {{.threshold = r.members}, {.threshold = 1, .agent = 0}};
  schedule.stages.resize(3);
  for (std::int32_t i = 0; i < r.members; ++i) {
    schedule.stages[0].transfers.push_back({.from = i, .to = counter});  // 1.
    schedule.stages[2].transfers.push_back({.from = phase, .to = i});    // 3.
  }
  schedule.stages[1].transfers.push_back({.from = counter, .to = phase});  // 2.
  return schedule;
}

}  // namespace

Algorithm sense_reversing() {
  return {.name = "sense_reversing",
          .source = "reduction-with-barrier II.A",
          .applicable =
              [](const Request& r) {
                return sane(r) && r.collective == Collective::kBarrier && r.half == Half::kWhole;
              },
          .build = sense_reversing_schedule};
}

}  // namespace fermata::algo
