// combining_tree(k): a tree of counters; the last member to arrive climbs it, then the release goes down.
//
// Source: reduction-with-barrier, section II.B, Figure 1.
// Steps:
//   1. Members k i ... k i + k - 1 add to the counter of leaf i. Those that do not complete it poll the
//      leaf's phase.
//   2. The member that completes a counter adds to the parent's counter. If the member does not complete that
//      counter, it waits for the parent's phase.
//   3. The member that completes the root's counter flips the root's phase.
//   4. Level by level, the member that completed a node sees the parent's phase and flips the node's own
//      phase.
//   5. A leaf's phase releases its members.
// Cost: about P / (k - 1) nodes, each with at most k adders and k - 1 pollers; 2 ceil(log_k P) + 1 stages.
//   The last member to arrive at a node climbs. So the last member of all completes every node on its path.
// Why right: a counter is complete after all members below it have added, the root's counter after all
//   members. A phase is flipped only after the parent's phase. In the list of words, the counters of all
//   nodes come first, leaves to root. The phases follow in the same order. The agent of a phase is its node's
//   counter: the member that completes this counter flips the phase. Members appear at the leaves only.
// Limits: barriers only, since a word carries no data. There are no halves, since nobody knows in advance
//   which member reaches the root.
// Tried: nothing rejected yet.
#include <algorithm>

#include "algo/build.hpp"

namespace fermata::algo {
namespace {

struct Level {
  std::int32_t first = 0, count = 0;  // node numbers
};

std::vector<Level> levels_of(std::int32_t members, std::int32_t degree) {
  std::vector<Level> levels;
  std::int32_t first = 0, below = members;
  do {
    const std::int32_t count = (below + degree - 1) / degree;
    levels.push_back({first, count});
    first += count;
    below = count;
  } while (below > 1);
  return levels;
}

Schedule combining_tree_schedule(const Request& r) {
  Schedule schedule = frame_of(r, spelled("combining_tree", r.degree));
  if (r.members == 1) return schedule;
  const std::vector<Level> levels = levels_of(r.members, r.degree);
  const auto depth = static_cast<std::int32_t>(levels.size());
  const std::int32_t nodes = levels.back().first + 1;
  for (std::int32_t l = 0; l < depth; ++l) {
    const std::int32_t below = l == 0 ? r.members : levels[l - 1].count;
    for (std::int32_t i = 0; i < levels[l].count; ++i) {
      schedule.words.push_back({.threshold = std::min(r.degree, below - i * r.degree)});
    }
  }
  for (std::int32_t n = 0; n < nodes; ++n) schedule.words.push_back({.threshold = 1, .agent = n});
  const auto counter = [&](std::int32_t l, std::int32_t i) {
    return schedule.word_vertex(levels[l].first + i);
  };
  const auto phase = [&](std::int32_t l, std::int32_t i) { return counter(l, i) + nodes; };

  schedule.stages.resize(static_cast<std::size_t>(2) * depth + 1);
  const auto edge = [&](std::int32_t stage, std::int32_t from, std::int32_t to) {
    schedule.stages[stage].transfers.push_back({.from = from, .to = to});
  };
  for (std::int32_t m = 0; m < r.members; ++m) {
    edge(0, m, counter(0, m / r.degree));        // 1.
    edge(2 * depth, phase(0, m / r.degree), m);  // 5.
  }
  for (std::int32_t l = 1; l < depth; ++l) {
    for (std::int32_t i = 0; i < levels[l - 1].count; ++i) {
      edge(l, counter(l - 1, i), counter(l, i / r.degree));          // 2.
      edge(2 * depth - l, phase(l, i / r.degree), phase(l - 1, i));  // 4.
    }
  }
  edge(depth, counter(depth - 1, 0), phase(depth - 1, 0));  // 3.
  return schedule;
}

bool combining_tree_applicable(const Request& r) {
  return sane(r, 2) && r.collective == Collective::kBarrier && r.half == Half::kWhole;
}

}  // namespace

Algorithm combining_tree() {
  return {.name = "combining_tree",
          .has_degree = true,
          .source = "reduction-with-barrier II.B, Figure 1",
          .applicable = combining_tree_applicable,
          .build = combining_tree_schedule};
}

}  // namespace fermata::algo
