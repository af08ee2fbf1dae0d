// Run-ahead hazards, compared with an explicit event graph, and in known cases.
#include <gtest/gtest.h>

#include "algo/algorithm.hpp"
#include "random_schedule.hpp"
#include "schedule/verify.hpp"

namespace fermata {
namespace {

using test::Graph;
using test::Random;

// Nodes: beginnings (episode, stage, member), then completions (episode, word). A slot of stage a is read
// before its receiver begins stage a + 1. A word's episode is complete after its in-edges and after the
// episode before.
class EventGraph {
 public:
  EventGraph(const Schedule& s, int episodes)
      : s_(s),
        stages_(static_cast<int>(s.stages.size())),
        episodes_(episodes),
        graph_(episodes * stages_ * s.members + s.members + episodes * static_cast<int>(s.words.size())) {
    for (int e = 0; e < episodes; ++e) {
      for (int a = 0; a < stages_; ++a) {
        for (int m = 0; m < s.members; ++m) graph_.edge(before(e, a, m), before(e, a + 1, m));
        for (const Transfer& t : s.stages[a].transfers) {
          const int to = s.is_word(t.to) ? word(e, s.word_of(t.to)) : before(e, a + 1, t.to);
          graph_.edge(before(e, a, t.from), to);
          if (s.is_word(t.from) && s.is_word(t.to)) graph_.edge(word(e, actor(t)), to);
        }
      }
      for (int w = 0; e > 0 && w < static_cast<int>(s.words.size()); ++w)
        graph_.edge(word(e - 1, w), word(e, w));
    }
  }
  int word(int episode, int w) const {
    return episodes_ * stages_ * s_.members + s_.members + episode * static_cast<int>(s_.words.size()) + w;
  }
  // The node that a vertex's signal of this stage comes after.
  int before(int episode, int stage, int vertex) const {
    return s_.is_word(vertex) ? word(episode, s_.word_of(vertex))
                              : (episode * stages_ + stage) * s_.members + vertex;
  }
  // In these schedules only targets have agents.
  int actor(const Transfer& t) const {
    const int agent = s_.words[s_.word_of(t.to)].agent;
    return agent >= 0 ? agent : s_.word_of(t.from);
  }
  bool comes_after(int later, int earlier) const { return graph_.reachable(earlier)[later]; }

 private:
  const Schedule& s_;
  const int stages_, episodes_;
  Graph graph_;
};

std::vector<Hazard> brute_force(const Schedule& s, int slots, bool carries) {
  const EventGraph g(s, std::max(slots + 1, 2));
  std::vector<Hazard> out;
  for (int a = 0; a < static_cast<int>(s.stages.size()); ++a) {
    for (std::size_t i = 0; i < s.stages[a].transfers.size(); ++i) {
      const Transfer& t = s.stages[a].transfers[i];
      bool safe = true;
      if (s.is_word(t.to)) {
        const int complete = g.word(0, s.word_of(t.to));
        safe = (!s.is_word(t.from) && s.words[s.word_of(t.to)].threshold == 1) ||
               g.comes_after(g.before(1, a, t.from), complete) ||
               (s.is_word(t.from) && g.comes_after(g.word(1, g.actor(t)), complete));
      } else if (carries && !s.is_word(t.from)) {
        safe = g.comes_after(g.before(slots, a, t.from), g.before(0, a + 1, t.to));
      }
      if (!safe) out.push_back({a, static_cast<int>(i)});
    }
  }
  return out;
}

TEST(Reuse, AgreesWithAnEventGraph) {
  Random random(11);
  int safe[2] = {}, unsafe[2] = {};  // without words, with words
  for (int trial = 0; trial < 1500 / FERMATA_TEST_SCALE; ++trial) {
    const Schedule s = test::random_barrier(random, 2 + random.below(5));
    for (const int slots : {1, 2, 4}) {
      const auto expected = brute_force(s, slots, true);
      ASSERT_EQ(reuse_hazards(s, slots, true), expected) << "trial " << trial << ", slots " << slots;
      ++(expected.empty() ? safe : unsafe)[!s.words.empty()];
    }
    ASSERT_EQ(reuse_hazards(s, 1, false), brute_force(s, 1, false)) << "trial " << trial;
  }
  for (const int words : {0, 1}) {
    EXPECT_GT(safe[words], 50 / FERMATA_TEST_SCALE);
    EXPECT_GT(unsafe[words], 50 / FERMATA_TEST_SCALE);
  }
}

Schedule built(const char* name, Collective collective, int members, Half half = Half::kWhole) {
  return find_algorithm(name)->build({.collective = collective, .half = half, .members = members});
}

// The exchange with a single slot overwrites itself, the one with a slot for each stage does not.
TEST(Reuse, EachStageHasItsOwnSlots) {
  const Schedule s = built("butterfly", Collective::kAllreduce, 4);
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
  EXPECT_EQ(reuse_hazards(built("butterfly", Collective::kAllreduce, 2), 1, true).size(), 2u);
  EXPECT_TRUE(reuse_hazards(built("butterfly", Collective::kAllreduce, 2), 2, true).empty());
  EXPECT_EQ(reuse_hazards(built("complete", Collective::kAllreduce, 5), 1, true).size(),
            20u);  // without the slots to oneself
  EXPECT_TRUE(reuse_hazards(built("complete", Collective::kAllreduce, 5), 2, true).empty());
}

TEST(Reuse, ARoundTripThroughTheRootNeedsOneSlot) {
  for (const char* name : {"linear", "kary", "binomial", "binomial_high"}) {
    EXPECT_TRUE(reuse_hazards(built(name, Collective::kAllreduce, 9), 1, true).empty()) << name;
  }
}

TEST(Reuse, OneSidedCollectivesRunAheadWhateverTheSlots) {
  for (const int slots : {1, 2, 4, 8}) {
    const Schedule reduce = built("binomial", Collective::kReduce, 8);
    EXPECT_EQ(reuse_hazards(reduce, slots, true).size(), reduce.transfer_count()) << slots;
    const Schedule broadcast = built("kary", Collective::kBroadcast, 8);
    EXPECT_EQ(reuse_hazards(broadcast, slots, true).size(), broadcast.transfer_count()) << slots;
  }
}

TEST(Reuse, WordsMustNotTakeTheNextEpisodesAdds) {
  for (const char* name : {"counter", "sense_reversing", "combining_tree"}) {
    EXPECT_TRUE(reuse_hazards(built(name, Collective::kBarrier, 13), 1, false).empty()) << name;
  }
  EXPECT_EQ(reuse_hazards(built("counter", Collective::kBarrier, 4, Half::kArrive), 1, false).size(), 3u);
  EXPECT_TRUE(reuse_hazards(built("counter", Collective::kBarrier, 4, Half::kRelease), 1, false).empty());
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
