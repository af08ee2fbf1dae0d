// The choice of schedules for blocks.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "algo/algorithm.hpp"
#include "operators.hpp"
#include "plan/block_knowledge.hpp"
#include "plan/choose_blocks.hpp"
#include "plan/compile_blocks.hpp"
#include "schedule/contents.hpp"

namespace fermata {
namespace {

using test::kFloatProduct;
using test::kFloatSum;
using test::kLeftToRight;
using test::kSum;
using test::roots_of;

bool goes_straight(const Schedule& s) {
  for (const Stage& stage : s.stages) {
    for (const Transfer& t : stage.transfers)
      if (t.from != rule_of(s, t.chunk).starts_at || t.to != rule_of(s, t.chunk).ends_at) return false;
  }
  return true;
}

Schedule chosen(Collective collective, std::int32_t members, std::int32_t root, std::size_t bytes,
                bool irregular, OpTraits op, const CostModel* model) {
  return choose_blocks({.collective = collective,
                        .members = members,
                        .root = root,
                        .bytes = bytes,
                        .irregular = irregular,
                        .op = op},
                       model);
}

TEST(BlockChoice, ThereAlwaysIsOne) {
  for (std::int32_t members = 1; members <= 33; members += members < 9 || FERMATA_TEST_SCALE == 1 ? 1 : 12) {
    for (int k = 1; k < kCollectiveCount; ++k) {
      const auto collective = static_cast<Collective>(k);
      for (const std::int32_t root : roots_of(collective, members)) {
        for (const std::size_t bytes : {std::size_t{8}, std::size_t{1} << 20}) {
          for (const OpTraits op : {kFloatSum, kFloatProduct, kLeftToRight}) {
            if (!folds(collective) && !op.commutative) continue;
            if (op.left_to_right && members > 9) continue;  // the next test has every size
            const bool irregular = members % 2 == 0;
            const Schedule s = chosen(collective, members, root, bytes, irregular, op, nullptr);
            SCOPED_TRACE(s.algorithm + " " + name_of(collective) + " P=" + std::to_string(members) +
                         " root=" + std::to_string(root));
            ASSERT_GT(s.chunks, 0);
            EXPECT_EQ(s.collective, collective);
            EXPECT_EQ(s.members, members);
            EXPECT_EQ(s.root, has_root(collective) ? root : 0);
            EXPECT_TRUE(verify(s, op));
            if (irregular && (collective == Collective::kGather || collective == Collective::kScatter ||
                              collective == Collective::kAlltoall)) {
              EXPECT_TRUE(goes_straight(s));
            }
            EXPECT_TRUE(compile_blocks(s, members - 1, Verified{}));
          }
        }
      }
    }
  }
}

TEST(BlockChoice, LeftToRightIsTheTreeOfASerialLoopAtEverySize) {
  std::set<std::string> names;
  for (const Collective collective : {Collective::kReduce, Collective::kAllreduce, Collective::kReduceScatter,
                                      Collective::kScan, Collective::kExscan}) {
    for (std::size_t bytes = 1; bytes <= std::size_t{1} << 26; bytes *= FERMATA_TEST_SCALE == 1 ? 2 : 64) {
      const Schedule s =
          chosen(collective, 5, has_root(collective) ? 2 : 0, bytes, false, kLeftToRight, nullptr);
      SCOPED_TRACE(s.algorithm + " " + name_of(collective) + " " + std::to_string(bytes));
      names.insert(s.algorithm);
      const std::int32_t pieces = s.chunks / blocks_of(collective, 5);
      const std::int32_t at = collective == Collective::kReduce ? 2 : 4;
      const std::int32_t chunk = collective == Collective::kReduceScatter ? at * pieces : 0;
      EXPECT_EQ(result_expression(s, at, chunk),
                collective == Collective::kExscan ? "(((0+1)+2)+3)" : "((((0+1)+2)+3)+4)");
      EXPECT_TRUE(verify(s, kLeftToRight));
    }
  }
  EXPECT_GT(names.size(), 2u);
}

TEST(BlockChoice, OtherTreesAreNotLeftToRight) {
  const Request allreduce{.collective = Collective::kAllreduce, .members = 4};
  const Schedule tree = find_algorithm("butterfly")->build(allreduce);
  EXPECT_TRUE(verify(tree, kFloatProduct));  // ((0+1)+(2+3)): in rank order
  EXPECT_NE(verify(tree, kLeftToRight).error().message.find("((0+1)+(2+3)), not left to right"),
            std::string::npos);
  EXPECT_TRUE(verify(find_algorithm("linear")->build(allreduce), kLeftToRight));
  Schedule swapped = find_algorithm("in_order")->build({.collective = Collective::kReduce, .members = 4});
  EXPECT_TRUE(verify(swapped, kLeftToRight));
  std::swap(swapped.stages[0].transfers[1], swapped.stages[0].transfers[2]);
  EXPECT_FALSE(verify(swapped, kLeftToRight));
  EXPECT_TRUE(verify(swapped, kFloatSum));
}

TEST(BlockChoice, SizeDecides) {
  const auto stages = [](Collective collective, std::size_t bytes) {
    return chosen(collective, 16, 0, bytes, false, kFloatSum, nullptr).stages.size();
  };
  // Short vectors: few stages. Long ones: more stages, in which each member moves little.
  EXPECT_LE(stages(Collective::kAllreduce, 8), 4u);
  EXPECT_GT(stages(Collective::kAllreduce, 8 << 20), 4u);
  EXPECT_GT(chosen(Collective::kAllreduce, 16, 0, 8 << 20, false, kFloatSum, nullptr).chunks, 1);
  EXPECT_GT(chosen(Collective::kBroadcast, 16, 0, 8 << 20, false, kFloatSum, nullptr).chunks, 1);
  EXPECT_EQ(chosen(Collective::kBroadcast, 16, 0, 8, false, kFloatSum, nullptr).chunks, 1);
}

TEST(BlockChoice, WhereCpusAreSharedAScanTakesTheFewestSteps) {
  for (const Collective collective : {Collective::kScan, Collective::kExscan}) {
    const BlockCase wanted{.collective = collective, .members = 8, .bytes = 8, .op = kSum};
    CostModel model = flat_model(8);
    EXPECT_NE(choose_blocks(wanted, &model).algorithm, "chain");
    model.members_per_cpu = 4;
    EXPECT_EQ(choose_blocks(wanted, &model).algorithm, "chain");
  }
}

// `each` members on each of `hosts` hosts, 200 us apart.
CostModel hosts_model(std::int32_t hosts, std::int32_t each) {
  CostModel model = flat_model(hosts * each);
  for (std::int32_t i = 0; i < model.members; ++i) model.hosts.push_back(i / each);
  for (std::int32_t i = 0; i < model.members; ++i)
    for (std::int32_t j = 0; j < model.members; ++j)
      if (model.is_message(i, j)) {
        model.o[static_cast<std::size_t>(i * model.members + j)] = 200'000;
        model.l[static_cast<std::size_t>(i * model.members + j)] = 40'000;
      }
  return model;
}

// A chain sends the fewest messages, so a stream of calls is fastest. But over many hosts a call that stands
// alone would take too long.
TEST(BlockChoice, OverHostsAScanWeighsItsPeriodAgainstItsLatency) {
  for (const Collective collective : {Collective::kScan, Collective::kExscan}) {
    const CostModel few = hosts_model(4, 2), many = hosts_model(256, 1);
    const BlockCase of_few{.collective = collective, .members = 8, .bytes = 8, .op = kSum};
    const BlockChooser chooser(of_few, &few);
    const std::vector<BlockCandidate>& ranked = chooser.ranked();
    EXPECT_EQ(ranked.front().name, "chain");
    for (const BlockCandidate& c : ranked) EXPECT_LE(ranked.front().period_ns, c.period_ns) << c.name;
    EXPECT_TRUE(std::any_of(ranked.begin(), ranked.end(),
                            [&](const BlockCandidate& c) { return c.ns < ranked.front().ns; }));
    const BlockCase of_many{.collective = collective, .members = 256, .bytes = 8, .op = kSum};
    EXPECT_NE(choose_blocks(of_many, &many).algorithm, "chain");
  }
}

TEST(BlockChoice, OverHostsAScanByItselfHasTheLeastLatencyAndARowTheLeastPeriod) {
  for (const Collective collective : {Collective::kScan, Collective::kExscan}) {
    for (const std::int32_t hosts : {4, 8, 16}) {
      const CostModel model = hosts_model(hosts, 1);
      BlockCase wanted{.collective = collective, .members = hosts, .bytes = 8, .op = kSum};
      const auto best = [&](Pattern pattern) {
        wanted.pattern = pattern;
        return BlockChooser(wanted, &model).ranked().front();
      };
      const BlockCandidate alone = best(Pattern::kAlone), row = best(Pattern::kInRow);
      const BlockCandidate either = best(Pattern::kUnknown);
      EXPECT_EQ(row.name, "chain");
      EXPECT_LT(alone.ns, row.ns);
      EXPECT_LE(alone.ns, either.ns);
      EXPECT_LE(row.period_ns, either.period_ns);
    }
  }
}

// Two blocks of 24 bytes fit on a line, so they are one message. Two of 25 bytes are two.
TEST(BlockChoice, BlocksThatShareALineAreOneMessage) {
  const CostModel model = hosts_model(4, 2);
  const auto steps = [&](std::size_t bytes) {
    const BlockCase wanted{.collective = Collective::kScatter, .members = 8, .bytes = bytes, .op = kSum};
    const BlockChooser chooser(wanted, &model);
    for (const BlockCandidate& c : chooser.ranked())
      if (c.name.starts_with("linear/linear")) return c.steps;
    return std::size_t{0};
  };
  // Three messages count twice, four blocks stay on their hosts, in two stages.
  EXPECT_EQ(steps(24), 2u * 3 + 4 + 2);
  EXPECT_EQ(steps(25), 2u * 6 + 4 + 2);
}

TEST(BlockChoice, WhatLeavesTheCachesIsCut) {
  const BlockCase wanted{
      .collective = Collective::kAllreduce, .members = 2, .bytes = std::size_t{8} << 20, .op = kSum};
  CostModel model = flat_model(2);
  model.bytes.fold_apart = 0;
  EXPECT_EQ(BlockChooser(wanted, &model).ranked().front().segments, 1);
  model.bytes.cached = 262144;
  model.bytes.beyond = 1.3;
  const BlockChooser cut(wanted, &model);
  EXPECT_GE(cut.ranked().front().segments, 16) << "halves of 4 MiB";
}

TEST(BlockChoice, TheModelDecides) {
  CostModel far;  // ranks 0-3 and 4-7 on two machines: trees that often cross cost much
  far.members = 8;
  far.o.assign(64, 100);
  far.l.assign(64, 50);
  far.g.assign(64, 0.1);
  for (int i = 0; i < 8; ++i) {
    for (int j = 0; j < 8; ++j)
      if ((i < 4) != (j < 4)) far.o[static_cast<std::size_t>(i * 8 + j)] = 50000;
  }
  const auto time = [&](const Schedule& s) { return cost(s, far, LayoutChoice{}, 64).critical_path_ns; };
  const Schedule near = chosen(Collective::kAllreduce, 8, 0, 64, false, kSum, &far);
  for (const Algorithm& algorithm : algorithms()) {
    const Request request{.collective = Collective::kAllreduce, .members = 8};
    if (!algorithm.applicable(request) || !serves(algorithm, request, kSum) || algorithm.cuts) continue;
    EXPECT_LE(time(near), time(algorithm.build(request))) << near.algorithm << " and " << algorithm.name;
  }
}

}  // namespace
}  // namespace fermata
