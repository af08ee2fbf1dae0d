// How many wake-ups follow each other once the last member of a sleeping team has arrived. One wake of all is
// faster than a chain or a tree of wakes (docs/waiting.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "algo/algorithm.hpp"
#include "search.hpp"

namespace fermata {
namespace {

constexpr int kBefore = -1;  // what does not depend on the last member's arrival has happened before

// All members but `last` sleep, each at the first signal that depends on that member. Returns the most wakes
// that lie on anybody's path from its arrival to the end of the episode.
int wakes_after(const Schedule& s, std::int32_t last) {
  // For each vertex: the wakes on the path to its newest state. A word's are those to its completion.
  std::vector<int> wakes(static_cast<std::size_t>(s.vertices()), kBefore);
  const auto at = [&](std::int32_t vertex) -> int& { return wakes[static_cast<std::size_t>(vertex)]; };
  at(last) = 0;
  for (const Stage& stage : s.stages) {
    const std::vector<int> before = wakes;
    for (const Transfer& t : stage.transfers) {
      const int from = before[static_cast<std::size_t>(t.from)];
      if (from == kBefore) continue;
      // Who sends to a word goes on, and its completer does not wait: it is the last one to add.
      const bool sleeps = !s.is_word(t.to) && t.to != t.from && !(s.is_word(t.from) && t.to == last);
      at(t.to) = std::max(at(t.to), from + (sleeps ? 1 : 0));
    }
  }
  return *std::max_element(wakes.begin(), wakes.end());
}

int most_wakes(const Schedule& s) {
  int most = 0;
  for (std::int32_t last = 0; last < s.members; ++last) most = std::max(most, wakes_after(s, last));
  return most;
}

Schedule barrier(const char* algorithm, std::int32_t members) {
  return find_algorithm(algorithm)->build({.members = members});
}

TEST(Wakes, AreCountedAlongThePath) {
  EXPECT_EQ(most_wakes(barrier("sense_reversing", 16)), 1);
  EXPECT_EQ(most_wakes(barrier("counter", 16)), 1);
  EXPECT_EQ(most_wakes(barrier("complete", 16)), 1);
  EXPECT_EQ(most_wakes(barrier("linear", 16)), 2);  // the root, then the others
  EXPECT_EQ(most_wakes(barrier("dissemination", 16)), 4);
  EXPECT_EQ(most_wakes(barrier("dissemination", 2)), 1);
}

TEST(Wakes, ABarrierOfMembersThatShareCpusHasOneOnThePath) {
  const Topology two = test::machine({.cores = 2});
  const Profile profile = estimate_profile(two);
  for (const std::int32_t n : {3, 4, 5, 8, 16, 17, 32, 64, 128}) {
    const auto plan = make_plan(two, profile, test::options_for(two, Collective::kBarrier, n), nullptr);
    ASSERT_TRUE(plan.ok());
    EXPECT_EQ(most_wakes(plan->schedule), 1) << n << " " << plan->schedule.algorithm;
  }
}

}  // namespace
}  // namespace fermata
