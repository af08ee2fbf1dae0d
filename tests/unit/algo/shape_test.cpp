// Each algorithm's shape, against the figures and formulas of the papers.
#include <gtest/gtest.h>

#include <bit>
#include <set>

#include "algo/algorithm.hpp"
#include "schedule/compose.hpp"
#include "schedule/verify.hpp"

namespace fermata {
namespace {

Schedule built(const char* name, int members, Collective collective = Collective::kBarrier, int degree = 2,
               int root = 0) {
  return find_algorithm(name)->build(
      {.collective = collective, .members = members, .root = root, .degree = degree});
}

std::set<std::pair<int, int>> edges(const Schedule& s, std::size_t stage) {
  std::set<std::pair<int, int>> out;
  for (const Transfer& t : s.stages.at(stage).transfers) out.insert({t.from, t.to});
  return out;
}
using Edges = std::set<std::pair<int, int>>;

// heterogeneous-mpi-barriers, Figures 2, 3 and 4.
TEST(Shape, TheThreeBarriersOfTheFigures) {
  const Schedule linear = built("linear", 4);
  EXPECT_EQ(edges(linear, 0), (Edges{{1, 0}, {2, 0}, {3, 0}}));
  EXPECT_EQ(edges(linear, 1), (Edges{{0, 1}, {0, 2}, {0, 3}}));
  const Schedule dissemination = built("dissemination", 4);
  EXPECT_EQ(edges(dissemination, 0), (Edges{{0, 1}, {1, 2}, {2, 3}, {3, 0}}));
  EXPECT_EQ(edges(dissemination, 1), (Edges{{0, 2}, {1, 3}, {2, 0}, {3, 1}}));
  const Schedule tree = built("binomial", 4);
  ASSERT_EQ(tree.stages.size(), 4u);
  EXPECT_EQ(edges(tree, 0), (Edges{{1, 0}, {3, 2}}));
  EXPECT_EQ(edges(tree, 1), (Edges{{2, 0}}));
  EXPECT_EQ(edges(tree, 2), (Edges{{0, 2}}));
  EXPECT_EQ(edges(tree, 3), (Edges{{0, 1}, {2, 3}}));
}

// hybrid-collectives-p7ih, Figure 4: senders 0; 0 and T/2; 0, T/4, T/2 and 3T/4.
TEST(Shape, BinomialBroadcast) {
  const Schedule s = built("binomial", 8, Collective::kBroadcast);
  EXPECT_EQ(edges(s, 0), (Edges{{0, 4}}));
  EXPECT_EQ(edges(s, 1), (Edges{{0, 2}, {4, 6}}));
  EXPECT_EQ(edges(s, 2), (Edges{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
}

// power8-barriers, section V: children k r + i; r + 2^i above r's highest bit.
TEST(Shape, Power8Trees) {
  const Schedule kary = built("kary", 24, Collective::kBroadcast, 5);
  ASSERT_EQ(kary.stages.size(), 2u);
  for (const auto& [parent, child] : edges(kary, 0)) EXPECT_EQ(parent, 0);
  for (const auto& [parent, child] : edges(kary, 1)) EXPECT_EQ(parent, (child - 1) / 5);
  EXPECT_EQ(edges(kary, 0).size(), 5u);
  EXPECT_EQ(edges(kary, 1).size(), 18u);
  const Schedule spanning = built("binomial_high", 7, Collective::kBroadcast);
  EXPECT_EQ(edges(spanning, 0), (Edges{{0, 1}}));
  EXPECT_EQ(edges(spanning, 1), (Edges{{0, 2}, {1, 3}}));
  EXPECT_EQ(edges(spanning, 2), (Edges{{0, 4}, {1, 5}, {2, 6}}));
  const Schedule tournament = built("tournament", 9, Collective::kBarrier, 8);
  EXPECT_EQ(tournament.stages.size(), 4u + 1);
  EXPECT_EQ(edges(tournament, 0), (Edges{{1, 0}, {3, 2}, {5, 4}, {7, 6}}));
}

// reduction-with-barrier: partner i XOR 2^(r-1) in step r = 1 ... log2 P; no member is paired with itself.
TEST(Shape, ButterflyPartnersAreTheExclusiveOr) {
  for (int p = 2; p <= 64; p *= 2) {
    const Schedule s = built("butterfly", p);
    int bit = 1;
    for (std::size_t a = 0; a < s.stages.size(); ++a, bit *= 2) {
      ASSERT_EQ(s.stages[a].transfers.size(), static_cast<std::size_t>(p));
      for (const Transfer& t : s.stages[a].transfers) EXPECT_EQ(t.to, t.from ^ bit);
    }
    EXPECT_EQ(bit, p);
  }
}

// reduction-with-barrier, Figure 5: 7 members, 4 groups, 4 stages; floor(log2 P) + 2 stages, log2 P at powers
// of two.
TEST(Shape, ExtendedButterflyStages) {
  for (int p = 1; p <= 130; ++p) {
    int log = 0;
    while ((2 << log) <= p) ++log;
    const bool power = (p & (p - 1)) == 0;
    EXPECT_EQ(built("extended_butterfly", p).stages.size(), static_cast<std::size_t>(power ? log : log + 2))
        << p;
  }
  const Schedule s = built("extended_butterfly", 7);
  EXPECT_EQ(edges(s, 0), (Edges{{1, 0}, {3, 2}, {5, 4}}));
  EXPECT_EQ(edges(s, 1), (Edges{{0, 2}, {2, 0}, {4, 6}, {6, 4}}));
  EXPECT_EQ(edges(s, 2), (Edges{{0, 4}, {4, 0}, {2, 6}, {6, 2}}));
  EXPECT_EQ(edges(s, 3), (Edges{{0, 1}, {2, 3}, {4, 5}}));
}

// n-way dissemination: j d further in stage s, d = (k + 1)^s, for j = 1 ... k; as many stages as digits of
// P - 1 to the base k + 1.
TEST(Shape, NWayDisseminationSignalsKMembersAStage) {
  const Schedule nine = built("n_way_dissemination", 9);
  ASSERT_EQ(nine.stages.size(), 2u);
  Edges near, far;
  for (int i = 0; i < 9; ++i) {
    for (const int j : {1, 2}) near.insert({i, (i + j) % 9}), far.insert({i, (i + 3 * j) % 9});
  }
  EXPECT_EQ(edges(nine, 0), near);
  EXPECT_EQ(edges(nine, 1), far);
  for (int p = 2; p <= 70; ++p) {
    EXPECT_EQ(built("n_way_dissemination", p, Collective::kBarrier, 1).stages,
              built("dissemination", p).stages)
        << p;
    for (const int k : {1, 2, 3, 7}) {
      const Schedule s = built("n_way_dissemination", p, Collective::kBarrier, k);
      std::size_t digits = 0;
      for (int rest = p - 1; rest > 0; rest /= k + 1) ++digits;
      EXPECT_EQ(s.stages.size(), digits) << p;
      std::set<std::pair<int, int>> in_last = edges(s, s.stages.size() - 1);
      EXPECT_EQ(in_last.size(), s.stages.back().transfers.size()) << "a signal twice, P=" << p << " k=" << k;
    }
    EXPECT_EQ(built("n_way_dissemination", p, Collective::kBarrier, p - 1).stages,
              built("complete", p).stages)
        << p;
  }
}

// reduction-with-barrier, section II.D: T - P members stand in for the missing ones of the next power of two
// T.
TEST(Shape, RedundantButterflyHasStandIns) {
  const Schedule s = built("redundant_butterfly", 6);  // 0 also stands at place 6, 1 at place 7
  ASSERT_EQ(s.stages.size(), 3u);
  EXPECT_EQ(edges(s, 0), (Edges{{0, 1}, {1, 0}, {2, 3}, {3, 2}, {4, 5}, {5, 4}}));
  EXPECT_EQ(edges(s, 1), (Edges{{0, 2}, {2, 0}, {1, 3}, {3, 1}, {4, 0}, {0, 4}, {5, 1}, {1, 5}}));
  EXPECT_EQ(edges(s, 2), (Edges{{0, 4}, {4, 0}, {1, 5}, {5, 1}, {2, 0}, {0, 2}, {3, 1}, {1, 3}}));
  for (int p = 1; p <= 70; ++p) {
    const Schedule barrier = built("redundant_butterfly", p),
                   sum = built("redundant_butterfly", p, Collective::kAllreduce);
    EXPECT_EQ(barrier.stages.size(), static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(p - 1))))
        << p;
    for (std::size_t a = 0; a < barrier.stages.size(); ++a)
      EXPECT_EQ(edges(barrier, a).size(), barrier.stages[a].transfers.size()) << "a signal twice, P=" << p;
    if (!std::has_single_bit(static_cast<unsigned>(p))) continue;
    EXPECT_EQ(barrier.stages, built("butterfly", p).stages) << p;
    EXPECT_EQ(sum.stages, built("butterfly", p, Collective::kAllreduce).stages) << p;
  }
}

TEST(Shape, CompleteFoldsInRankOrderEverywhere) {
  const Schedule s = built("complete", 4, Collective::kAllreduce);
  EXPECT_EQ(s.stages.size(), 1u);
  for (int m = 0; m < 4; ++m) EXPECT_EQ(result_expression(s, m), "(((0+1)+2)+3)");
  EXPECT_EQ(built("complete", 4).transfer_count(), 12u);
}

// The words are in this order: counters, then phases in the same order, and members at
// leaves only.
TEST(Shape, CombiningTreeIsCanonical) {
  for (const int k : {2, 3, 4}) {
    for (int p = 2; p <= 40; ++p) {
      const Schedule s = built("combining_tree", p, Collective::kBarrier, k);
      const auto nodes = static_cast<std::int32_t>(s.words.size()) / 2;
      const std::size_t depth = (s.stages.size() - 1) / 2;
      ASSERT_EQ(s.words.size() % 2, 0u);
      for (std::int32_t n = 0; n < nodes; ++n) {
        EXPECT_EQ(s.words[n].agent, -1);
        EXPECT_LE(s.words[n].threshold, k);
        EXPECT_EQ(s.words[nodes + n].agent, n);
        EXPECT_EQ(s.words[nodes + n].threshold, 1);
      }
      for (std::size_t a = 0; a < s.stages.size(); ++a) {
        for (const Transfer& t : s.stages[a].transfers) {
          const bool up = a < depth, flip = a == depth;
          EXPECT_EQ(!s.is_word(t.from), a == 0);
          EXPECT_EQ(!s.is_word(t.to), a + 1 == s.stages.size());
          if (s.is_word(t.from)) {
            EXPECT_EQ(s.word_of(t.from) < nodes, up || flip);
          }
          if (s.is_word(t.to)) {
            EXPECT_EQ(s.word_of(t.to) < nodes, up);
          }
          if (flip) {
            EXPECT_EQ(s.word_of(t.to), s.word_of(t.from) + nodes);
          }
        }
      }
    }
  }
}

TEST(Shape, OtherRootsSwapWithRankZero) {
  for (const char* name : {"kary", "binomial", "binomial_high", "tournament"}) {
    const Schedule zero = built(name, 6, Collective::kReduce),
                   four = built(name, 6, Collective::kReduce, 2, 4);
    EXPECT_EQ(four.root, 4);
    const auto swapped = [](int r) { return r == 0 ? 4 : r == 4 ? 0 : r; };
    for (std::size_t a = 0; a < zero.stages.size(); ++a) {
      for (std::size_t i = 0; i < zero.stages[a].transfers.size(); ++i) {
        EXPECT_EQ(four.stages[a].transfers[i].from, swapped(zero.stages[a].transfers[i].from)) << name;
        EXPECT_EQ(four.stages[a].transfers[i].to, swapped(zero.stages[a].transfers[i].to)) << name;
      }
    }
  }
  EXPECT_EQ(result_expression(built("linear", 4, Collective::kReduce, 2, 2), 2), "((0+(1+2))+3)");
}

// Thakur, Rabenseifner and Gropp 2005: stages, and chunks moved, of each algorithm.
TEST(Shape, StagesAndChunksMovedOfTheCollectivesInPieces) {
  const auto stages = [](const char* name, Collective collective, int p) {
    return built(name, p, collective).stages.size();
  };
  const auto moved = [](const char* name, Collective collective, int p) {
    return built(name, p, collective).transfer_count();
  };
  for (std::size_t p = 2; p <= 33; ++p) {
    const int n = static_cast<int>(p);
    std::size_t log = 0;
    while ((std::size_t{1} << log) < p) ++log;
    for (const char* name : {"ring", "bruck", "recursive_doubling", "complete", "linear", "binomial"})
      EXPECT_EQ(moved(name, Collective::kAllgather, n), p * (p - 1)) << name << n;
    EXPECT_EQ(stages("ring", Collective::kAllgather, n), p - 1);
    EXPECT_EQ(stages("bruck", Collective::kAllgather, n), log);
    EXPECT_EQ(stages("bruck", Collective::kAlltoall, n), log);
    EXPECT_EQ(stages("pairwise", Collective::kAlltoall, n), p - 1);
    EXPECT_EQ(moved("pairwise", Collective::kAlltoall, n), p * (p - 1));
    EXPECT_EQ(moved("ring", Collective::kReduceScatter, n), p * (p - 1));
    EXPECT_EQ(moved("pairwise", Collective::kReduceScatter, n), p * (p - 1));
    EXPECT_EQ(moved("ring", Collective::kAllreduce, n), 2 * p * (p - 1));
    EXPECT_EQ(moved("scatter_allgather", Collective::kBroadcast, n), p * (p - 1));
    EXPECT_EQ(stages("recursive_doubling", Collective::kScan, n), log);
    EXPECT_EQ(moved("chain", Collective::kScan, n), p - 1);
    EXPECT_EQ(stages("binomial", Collective::kGather, n), log);
    if ((p & (p - 1)) != 0) continue;
    EXPECT_EQ(stages("recursive_halving", Collective::kReduceScatter, n), log);
    EXPECT_EQ(moved("recursive_halving", Collective::kReduceScatter, n), p * (p - 1));
    EXPECT_EQ(stages("recursive_halving", Collective::kAllreduce, n), 2 * log);
    EXPECT_EQ(moved("recursive_halving", Collective::kAllreduce, n), 2 * p * (p - 1));
  }
}

TEST(Shape, SubtreesOfABinomialGatherAreRangesOfChunks) {
  const Schedule s = built("binomial", 8, Collective::kGather);
  std::vector<int> chunks;
  for (const Transfer& t : s.stages[2].transfers) {
    EXPECT_EQ(t.from, 4);
    EXPECT_EQ(t.to, 0);
    chunks.push_back(t.chunk);
  }
  EXPECT_EQ(chunks, (std::vector<int>{4, 5, 6, 7}));
}

// For every algorithm, collective and root, the chunks of one message are adjacent and ascend: the compiler
// sends them as one.
TEST(Shape, MessagesAreSideBySide) {
  for (const Algorithm& a : algorithms()) {
    for (int collective = 1; collective < kCollectiveCount; ++collective) {
      for (const int p : {2, 5, 8, 13}) {
        for (const int root : {0, p - 1}) {
          const Request request{
              .collective = static_cast<Collective>(collective), .members = p, .root = root, .degree = 2};
          if (!a.applicable(request)) continue;
          for (const Stage& stage : a.build(request).stages) {
            Stage ordered = stage;
            order_messages(ordered);
            ASSERT_EQ(ordered, stage)
                << a.name << " " << name_of(request.collective) << " P=" << p << " root " << root;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace fermata
