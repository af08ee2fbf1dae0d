// The table's names, and each algorithm's shape compared with the papers' figures and formulas.
#include <gtest/gtest.h>

#include <set>

#include "algo/algorithm.hpp"
#include "schedule/compose.hpp"
#include "schedule/print.hpp"
#include "schedule/verify.hpp"

namespace fermata {
namespace {

Schedule built(const char* name, int members, Kind kind = Kind::kBarrier, int degree = 2, int root = 0) {
  return find_algorithm(name)->build({.kind = kind, .members = members, .root = root, .degree = degree});
}

std::set<std::pair<int, int>> edges(const Schedule& s, std::size_t stage) {
  std::set<std::pair<int, int>> out;
  for (const Transfer& t : s.stages.at(stage).transfers) out.insert({t.from, t.to});
  return out;
}
using Edges = std::set<std::pair<int, int>>;

TEST(Table, NamesAreUniqueAndSourced) {
  std::set<std::string> names;
  for (const Algorithm& a : algorithms()) {
    EXPECT_TRUE(names.insert(a.name).second) << a.name;
    EXPECT_GT(std::string(a.source).size(), 10u) << a.name;
    EXPECT_EQ(find_algorithm(a.name), &a);
    int kinds = 0;
    for (int kind = 0; kind < kKindCount; ++kind) {
      const Request request{.kind = static_cast<Kind>(kind), .members = 4, .degree = 3};
      if (!a.applicable(request)) continue;
      ++kinds;
      EXPECT_EQ(a.build(request).algorithm, std::string(a.name) + (a.has_degree ? "(3)" : ""));
    }
    EXPECT_GT(kinds, 0) << a.name;
  }
  EXPECT_EQ(names.size(), 20u);
  EXPECT_EQ(find_algorithm("nothing"), nullptr);
}

TEST(Table, ParsesSpelledNames) {
  const auto kary = parse_algorithm("kary(4)");
  ASSERT_TRUE(kary.ok());
  EXPECT_STREQ(kary->algorithm->name, "kary");
  EXPECT_EQ(kary->degree, 4);
  EXPECT_EQ(parse_algorithm("kary")->degree, 2);
  EXPECT_EQ(parse_algorithm("kary(1)")->degree, 1);
  EXPECT_TRUE(parse_algorithm("linear").ok());
  EXPECT_EQ(parse_algorithm("string").error().status, Status::kNotFound);
  EXPECT_NE(parse_algorithm("string").error().message.find("combining_tree(k)"), std::string::npos);
  for (const char* bad : {"kary(", "kary()", "kary(0)", "kary(-1)", "kary(4", "kary(4) ", "kary(4x)",
                          "kary(99999999999)", "linear(2)", "combining_tree(1)"}) {
    ASSERT_FALSE(parse_algorithm(bad).ok()) << bad;
    EXPECT_EQ(parse_algorithm(bad).error().status, Status::kParse) << bad;
  }
}

TEST(Table, OneMemberNeedsNothing) {
  for (const Algorithm& a : algorithms()) {
    for (int kind = 0; kind < kKindCount; ++kind) {
      const Request request{.kind = static_cast<Kind>(kind), .members = 1};
      if (!a.applicable(request)) continue;
      const Schedule s = a.build(request);
      EXPECT_EQ(s.transfer_count(), 0u) << a.name;
      EXPECT_TRUE(s.words.empty()) << a.name;
    }
  }
}

TEST(Table, WhatCannotBeIsNotApplicable) {
  const auto can = [](const char* name, Request request) {
    return find_algorithm(name)->applicable(request);
  };
  EXPECT_FALSE(can("butterfly", {.members = 6}));
  EXPECT_TRUE(can("butterfly", {.members = 8}));
  EXPECT_FALSE(can("dissemination", {.kind = Kind::kBroadcast, .members = 4}));
  EXPECT_FALSE(can("dissemination", {.half = Half::kArrive, .members = 4}));
  EXPECT_FALSE(can("counter", {.kind = Kind::kAllreduce, .members = 4}));
  EXPECT_TRUE(can("counter", {.half = Half::kRelease, .members = 4}));
  EXPECT_FALSE(can("sense_reversing", {.half = Half::kArrive, .members = 4}));
  EXPECT_FALSE(can("linear", {.kind = Kind::kBroadcast, .half = Half::kArrive, .members = 4}));
  EXPECT_FALSE(can("linear", {.kind = Kind::kReduce, .half = Half::kRelease, .members = 4}));
  EXPECT_FALSE(can("linear", {.kind = Kind::kReduce, .members = 4, .root = 4}));
  EXPECT_FALSE(can("linear", {.members = 0}));
}

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
  const Schedule s = built("binomial", 8, Kind::kBroadcast);
  EXPECT_EQ(edges(s, 0), (Edges{{0, 4}}));
  EXPECT_EQ(edges(s, 1), (Edges{{0, 2}, {4, 6}}));
  EXPECT_EQ(edges(s, 2), (Edges{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
}

// power8-barriers, section V: children k r + i; r + 2^i above r's highest bit.
TEST(Shape, Power8Trees) {
  const Schedule kary = built("kary", 24, Kind::kBroadcast, 5);
  ASSERT_EQ(kary.stages.size(), 2u);
  for (const auto& [parent, child] : edges(kary, 0)) EXPECT_EQ(parent, 0);
  for (const auto& [parent, child] : edges(kary, 1)) EXPECT_EQ(parent, (child - 1) / 5);
  EXPECT_EQ(edges(kary, 0).size(), 5u);
  EXPECT_EQ(edges(kary, 1).size(), 18u);
  const Schedule spanning = built("binomial_high", 7, Kind::kBroadcast);
  EXPECT_EQ(edges(spanning, 0), (Edges{{0, 1}}));
  EXPECT_EQ(edges(spanning, 1), (Edges{{0, 2}, {1, 3}}));
  EXPECT_EQ(edges(spanning, 2), (Edges{{0, 4}, {1, 5}, {2, 6}}));
  const Schedule tournament = built("tournament", 9, Kind::kBarrier, 8);
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

TEST(Shape, CompleteFoldsInRankOrderEverywhere) {
  const Schedule s = built("complete", 4, Kind::kAllreduce);
  EXPECT_EQ(s.stages.size(), 1u);
  for (int m = 0; m < 4; ++m) EXPECT_EQ(result_expression(s, m), "(((0+1)+2)+3)");
  EXPECT_EQ(built("complete", 4).transfer_count(), 12u);
}

// The plan compiler relies on this canonical form: counters, then phases in the same order, and members at
// leaves only.
TEST(Shape, CombiningTreeIsCanonical) {
  for (const int k : {2, 3, 4}) {
    for (int p = 2; p <= 40; ++p) {
      const Schedule s = built("combining_tree", p, Kind::kBarrier, k);
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
    const Schedule zero = built(name, 6, Kind::kReduce), four = built(name, 6, Kind::kReduce, 2, 4);
    EXPECT_EQ(four.root, 4);
    const auto swapped = [](int r) { return r == 0 ? 4 : r == 4 ? 0 : r; };
    for (std::size_t a = 0; a < zero.stages.size(); ++a) {
      for (std::size_t i = 0; i < zero.stages[a].transfers.size(); ++i) {
        EXPECT_EQ(four.stages[a].transfers[i].from, swapped(zero.stages[a].transfers[i].from)) << name;
        EXPECT_EQ(four.stages[a].transfers[i].to, swapped(zero.stages[a].transfers[i].to)) << name;
      }
    }
  }
  EXPECT_EQ(result_expression(built("linear", 4, Kind::kReduce, 2, 2), 2), "((0+(1+2))+3)");
}

// Thakur, Rabenseifner and Gropp 2005: stages, and chunks moved, of each algorithm.
TEST(Shape, StagesAndChunksMovedOfTheKindsInPieces) {
  const auto stages = [](const char* name, Kind kind, int p) { return built(name, p, kind).stages.size(); };
  const auto moved = [](const char* name, Kind kind, int p) { return built(name, p, kind).transfer_count(); };
  for (std::size_t p = 2; p <= 33; ++p) {
    const int n = static_cast<int>(p);
    std::size_t log = 0;
    while ((std::size_t{1} << log) < p) ++log;
    for (const char* name : {"ring", "bruck", "recursive_doubling", "complete", "linear", "binomial"})
      EXPECT_EQ(moved(name, Kind::kAllgather, n), p * (p - 1)) << name << n;
    EXPECT_EQ(stages("ring", Kind::kAllgather, n), p - 1);
    EXPECT_EQ(stages("bruck", Kind::kAllgather, n), log);
    EXPECT_EQ(stages("bruck", Kind::kAlltoall, n), log);
    EXPECT_EQ(stages("pairwise", Kind::kAlltoall, n), p - 1);
    EXPECT_EQ(moved("pairwise", Kind::kAlltoall, n), p * (p - 1));
    EXPECT_EQ(moved("ring", Kind::kReduceScatter, n), p * (p - 1));
    EXPECT_EQ(moved("pairwise", Kind::kReduceScatter, n), p * (p - 1));
    EXPECT_EQ(moved("ring", Kind::kAllreduce, n), 2 * p * (p - 1));
    EXPECT_EQ(moved("scatter_allgather", Kind::kBroadcast, n), p * (p - 1));
    EXPECT_EQ(stages("recursive_doubling", Kind::kScan, n), log);
    EXPECT_EQ(moved("chain", Kind::kScan, n), p - 1);
    EXPECT_EQ(stages("binomial", Kind::kGather, n), log);
    if ((p & (p - 1)) != 0) continue;
    EXPECT_EQ(stages("recursive_halving", Kind::kReduceScatter, n), log);
    EXPECT_EQ(moved("recursive_halving", Kind::kReduceScatter, n), p * (p - 1));
    EXPECT_EQ(stages("recursive_halving", Kind::kAllreduce, n), 2 * log);
    EXPECT_EQ(moved("recursive_halving", Kind::kAllreduce, n), 2 * p * (p - 1));
  }
}

TEST(Shape, SubtreesOfABinomialGatherAreRangesOfChunks) {
  const Schedule s = built("binomial", 8, Kind::kGather);
  std::vector<int> chunks;
  for (const Transfer& t : s.stages[2].transfers) {
    EXPECT_EQ(t.from, 4);
    EXPECT_EQ(t.to, 0);
    chunks.push_back(t.chunk);
  }
  EXPECT_EQ(chunks, (std::vector<int>{4, 5, 6, 7}));
}

// For every algorithm, kind and root, the chunks of one message are adjacent and ascend: the compiler sends
// them as one.
TEST(Shape, MessagesAreSideBySide) {
  for (const Algorithm& a : algorithms()) {
    for (int kind = 1; kind < kKindCount; ++kind) {
      for (const int p : {2, 5, 8, 13}) {
        for (const int root : {0, p - 1}) {
          const Request request{.kind = static_cast<Kind>(kind), .members = p, .root = root, .degree = 2};
          if (!a.applicable(request)) continue;
          for (const Stage& stage : a.build(request).stages) {
            Stage ordered = stage;
            order_messages(ordered);
            ASSERT_EQ(ordered, stage)
                << a.name << " " << name_of(request.kind) << " P=" << p << " root " << root;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace fermata
