// Run-ahead hazards: against an explicit event graph, and on cases known by hand.
#include <gtest/gtest.h>

#include "algo/algorithm.hpp"
#include "random_schedule.hpp"
#include "schedule/verify.hpp"

namespace fermata {
namespace {

using test::Graph;
using test::Random;

// Nodes: (episode, stage, member) beginnings. A slot of stage a is read before its receiver begins stage a +
// 1.
std::vector<Hazard> brute_force(const Schedule& s, int slots) {
  const int stages = static_cast<int>(s.stages.size());
  const auto node = [&](int episode, int stage, int member) {
    return (episode * stages + stage) * s.members + member;
  };
  Graph g(node(slots + 1, 1, 0));
  for (int e = 0; e <= slots; ++e) {
    for (int a = 0; a < stages; ++a) {
      for (int m = 0; m < s.members; ++m) g.edge(node(e, a, m), node(e, a + 1, m));
      for (const Transfer& t : s.stages[a].transfers) g.edge(node(e, a, t.from), node(e, a + 1, t.to));
    }
  }
  std::vector<Hazard> out;
  for (int a = 0; a < stages; ++a) {
    for (std::size_t i = 0; i < s.stages[a].transfers.size(); ++i) {
      const Transfer& t = s.stages[a].transfers[i];
      if (!g.reachable(node(0, a + 1, t.to))[node(slots, a, t.from)]) out.push_back({a, static_cast<int>(i)});
    }
  }
  return out;
}

TEST(Reuse, AgreesWithAnEventGraph) {
  Random random(11);
  int safe = 0, unsafe = 0;
  for (int trial = 0; trial < 1500 / FERMATA_TEST_SCALE; ++trial) {
    Schedule s = test::random_barrier(random, 2 + random.below(5));
    if (!s.words.empty()) continue;
    for (const int slots : {1, 2, 4}) {
      const auto expected = brute_force(s, slots);
      ASSERT_EQ(reuse_hazards(s, slots, true), expected) << "trial " << trial << ", slots " << slots;
      ++(expected.empty() ? safe : unsafe);
    }
    ASSERT_TRUE(reuse_hazards(s, 1, false).empty());
  }
  EXPECT_GT(safe, 50 / FERMATA_TEST_SCALE);
  EXPECT_GT(unsafe, 50 / FERMATA_TEST_SCALE);
}

Schedule built(const char* name, Kind kind, int members, Half half = Half::kWhole) {
  return find_algorithm(name)->build({.kind = kind, .half = half, .members = members});
}

// One of two exchanges overwrites itself: the one that has a slot only.
TEST(Reuse, EachStageHasItsOwnSlots) {
  const Schedule s = built("butterfly", Kind::kAllreduce, 4);
  ASSERT_EQ(s.stages.size(), 2u);
  const LayoutChoice one{.slots = 1}, two{.slots = 2};
  EXPECT_TRUE(reuse_hazards(s, Layouts({two, two}), true).empty());
  EXPECT_EQ(reuse_hazards(s, Layouts({one, one}), true), reuse_hazards(s, 1, true));
  for (const std::int32_t stage : {0, 1}) {
    const auto hazards = reuse_hazards(s, stage == 0 ? Layouts({one, two}) : Layouts({two, one}), true);
    EXPECT_EQ(hazards.size(), 4u);
    for (const Hazard& h : hazards) EXPECT_EQ(h.stage, stage);
  }
}

TEST(Reuse, ExchangesNeedTwoSlots) {
  EXPECT_EQ(reuse_hazards(built("butterfly", Kind::kAllreduce, 2), 1, true).size(), 2u);
  EXPECT_TRUE(reuse_hazards(built("butterfly", Kind::kAllreduce, 2), 2, true).empty());
  EXPECT_EQ(reuse_hazards(built("complete", Kind::kAllreduce, 5), 1, true).size(),
            20u);  // not the slots to oneself
  EXPECT_TRUE(reuse_hazards(built("complete", Kind::kAllreduce, 5), 2, true).empty());
}

TEST(Reuse, ARoundTripThroughTheRootNeedsOneSlot) {
  for (const char* name : {"linear", "kary", "binomial", "binomial_high"}) {
    EXPECT_TRUE(reuse_hazards(built(name, Kind::kAllreduce, 9), 1, true).empty()) << name;
  }
}

TEST(Reuse, OneSidedCollectivesRunAheadWhateverTheSlots) {
  for (const int slots : {1, 2, 4, 8}) {
    const Schedule reduce = built("binomial", Kind::kReduce, 8);
    EXPECT_EQ(reuse_hazards(reduce, slots, true).size(), reduce.transfer_count()) << slots;
    const Schedule broadcast = built("kary", Kind::kBroadcast, 8);
    EXPECT_EQ(reuse_hazards(broadcast, slots, true).size(), broadcast.transfer_count()) << slots;
  }
}

TEST(Reuse, WordsMustNotTakeTheNextEpisodesAdds) {
  for (const char* name : {"counter", "sense_reversing", "combining_tree"}) {
    EXPECT_TRUE(reuse_hazards(built(name, Kind::kBarrier, 13), 1, false).empty()) << name;
  }
  EXPECT_EQ(reuse_hazards(built("counter", Kind::kBarrier, 4, Half::kArrive), 1, false).size(), 3u);
  EXPECT_TRUE(reuse_hazards(built("counter", Kind::kBarrier, 4, Half::kRelease), 1, false).empty());
  // A counter whose waiters do not wait for all: member 0 polls another word.
  Schedule s;
  s.members = 2;
  s.words = {{.threshold = 2}, {.threshold = 1}};
  s.stages = {{{{.from = 0, .to = 2}, {.from = 1, .to = 2}, {.from = 0, .to = 3}}},
              {{{.from = 2, .to = 0}, {.from = 3, .to = 1}}}};
  const std::vector<Hazard> hazards = reuse_hazards(s, 1, false);
  ASSERT_EQ(hazards.size(), 1u);
  EXPECT_EQ(hazards[0].transfer, 1);
}

}  // namespace
}  // namespace fermata
