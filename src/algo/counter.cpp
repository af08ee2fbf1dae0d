// counter: one shared word; everybody adds one and polls the word itself.
//
// Source: the naive centralized barrier of reduction-with-barrier, section II.A, with a monotonic counter
//   instead of a flag.
// Steps:
//   1. Every member adds one to the word.
//   2. Every member polls the word until the episode's P adds have come; whoever added last need not poll.
// Cost: P adds on one line, which queue up, and P - 1 readers of it, which disturb the adds. 2 stages.
// Why right: the word is complete after all P adds, and each add carries what its member knew. Run-ahead is
//   harmless: a member adds for the next episode only after it saw this one complete.
// Limits: barriers only: a word carries no data. Halves: the others add and member 0 polls; member 0 adds and
//   the others poll.
// Tried: nothing rejected yet. Between two cores of a Zen 4 machine it was the fastest hand-written barrier
//   (27 ns an episode where lines of one's own took 57 and the one-way latency of a line was 58).
#include "algo/build.hpp"

namespace fermata::algo {
namespace {

Schedule build(const Request& r) {
  Schedule schedule = frame_of(r, "counter");
  if (r.members == 1) return schedule;
  const std::int32_t word = schedule.members;
  const std::int32_t first_adder = r.half == Half::kArrive ? 1 : 0;
  const std::int32_t adders = r.half == Half::kRelease ? 1 : r.members;
  const std::int32_t first_poller = r.half == Half::kRelease ? 1 : 0;
  const std::int32_t pollers = r.half == Half::kArrive ? 1 : r.members;
  schedule.words.push_back({.threshold = adders - first_adder});
  schedule.stages.resize(2);
  for (std::int32_t i = first_adder; i < adders; ++i) schedule.stages[0].transfers.push_back({.from = i, .to = word});    // 1.
  for (std::int32_t i = first_poller; i < pollers; ++i) schedule.stages[1].transfers.push_back({.from = word, .to = i});  // 2.
  return schedule;
}

}  // namespace

Algorithm counter() {
  return {.name = "counter",
          .has_degree = false,
          .source = "reduction-with-barrier II.A (naive centralized), monotonic",
          .applicable = [](const Request& r) { return sane(r) && r.kind == Kind::kBarrier; },
          .build = build,
          .redundant = false};
}

}  // namespace fermata::algo
