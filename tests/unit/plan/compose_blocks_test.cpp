// Compositions for synthetic and recorded machines: proved, run against a serial reference, and checked for
// the data that crosses between domains.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "algo/algorithm.hpp"
#include "block_simulation.hpp"
#include "matrices.hpp"
#include "plan/choose_blocks.hpp"
#include "plan/compose_blocks.hpp"
#include "profile/store.hpp"
#include "schedule/compose.hpp"

namespace fermata {
namespace {

using test::BlockSimulation;
using test::Random;

constexpr OpTraits kFloatSum{.associative = false, .commutative = true, .idempotent = false};
constexpr OpTraits kProduct{.associative = true, .commutative = false, .idempotent = false};
constexpr Collective kComposed[] = {Collective::kBroadcast,    Collective::kReduce,  Collective::kAllreduce,
                                    Collective::kGather,       Collective::kScatter, Collective::kAllgather,
                                    Collective::kReduceScatter};

struct Placed {
  Topology topology;
  PlanKey key;
  CostModel model;
};

Placed placed(const Profile& profile, std::int32_t members, Placement how = Placement::kCore) {
  Placed p{profile.topology, {}, {}};
  p.key.members = members;
  p.key.cpus = place(p.topology, members, how);
  p.model = cost_model(profile, p.topology, p.key);
  return p;
}

Placed regular(const RegularShape& shape, Placement how = Placement::kCore, std::int32_t members = 0) {
  return placed(estimate_profile(*topology_from_regular(shape)), members == 0 ? shape.cpus() : members, how);
}

std::vector<std::int32_t> roots_of(Collective collective, std::int32_t members) {
  if (!has_root(collective)) return {0};
  return {0, 1, members / 2, members - 1};
}

void expect_right(const Schedule& s, bool run, Random& random) {
  const auto proof = verify(s, kFloatSum);
  ASSERT_TRUE(proof.ok()) << proof.error().message;
  if (!run) return;
  std::vector<CompiledBlocks> programs;
  for (std::int32_t m = 0; m < s.members; ++m) {
    auto c = compile_blocks(s, m, *proof);
    ASSERT_TRUE(c.ok()) << c.error().message;
    programs.push_back(std::move(*c));
  }
  BlockSimulation simulation(s, programs, false, random);
  simulation.run();
  simulation.check(verify(s, kProduct) ? BlockSimulation::Order::kRanks : BlockSimulation::Order::kAny);
}

// Returns the number of compositions.
int check_all(const Placed& p) {
  Random random(5);
  int count = 0, seen = 0;
  for (const double bytes : {64.0, 65536.0}) {
    for (const Cluster& tree : block_trees(p.model, bytes)) {
      for (const Collective collective : kComposed) {
        for (const std::int32_t root : roots_of(collective, p.key.members)) {
          for (const char* family :
               {"", "linear", "kary", "binomial", "ring", "recursive_halving", "complete"}) {
            if (++seen % FERMATA_TEST_SCALE != 0) continue;
            const Schedule s = compose_blocks(collective, root, bytes, p.model, tree, family);
            if (s.stages.empty()) continue;
            SCOPED_TRACE(s.algorithm + " " + name_of(collective) + " root=" + std::to_string(root));
            EXPECT_EQ(s.collective, collective);
            EXPECT_EQ(s.root, has_root(collective) ? root : 0);
            expect_right(s, ++count % 12 == 0, random);
            if (testing::Test::HasFailure()) return count;
          }
        }
      }
    }
  }
  return count;
}

TEST(ComposeBlocks, MachinesOfAnyNumberOfLevels) {
  EXPECT_GT(check_all(regular({.packages = 2, .cores = 4})), 100 / FERMATA_TEST_SCALE);
  EXPECT_GT(check_all(regular({.packages = 2, .l3 = 2, .cores = 3, .smt = 2}, Placement::kCpu)),
            100 / FERMATA_TEST_SCALE);
  // domains of 3, 3 and 1
  EXPECT_GT(check_all(regular({.packages = 3, .cores = 3}, Placement::kCore, 7)), 50 / FERMATA_TEST_SCALE);
  EXPECT_GT(
      check_all(regular({.hosts = 2, .packages = 2, .l3 = 2, .cores = 2, .smt = 2}, Placement::kRoundRobin)),
      100 / FERMATA_TEST_SCALE);
}

TEST(ComposeBlocks, RecordedMachines) {
  for (const auto& [name, members] :
       {std::pair("power8-4x6x8", 24), std::pair("cluster-8x2x4", 64), std::pair("milan-2x64", 48)}) {
    const auto profile = load_profile_file(std::string(FERMATA_SOURCE_DIR) + "/machines/" + name + ".json");
    ASSERT_TRUE(profile.ok()) << profile.error().message;
    const Placed p = placed(*profile, members);
    const std::vector<Cluster> trees = block_trees(p.model, 1024);
    for (const Cluster& tree : trees) {
      for (const Collective collective : kComposed) {
        const Schedule s =
            compose_blocks(collective, has_root(collective) ? members - 1 : 0, 1024, p.model, tree, "");
        ASSERT_FALSE(s.stages.empty()) << name << " " << name_of(collective);
        SCOPED_TRACE(s.algorithm + " " + name_of(collective) + " on " + name);
        EXPECT_TRUE(verify(s, kFloatSum).ok());
      }
    }
    if (std::string(name) != "milan-2x64") {
      EXPECT_FALSE(trees.empty()) << name;
    }
  }
}

TEST(ComposeBlocks, EachLevelIsNamed) {
  const Placed p = regular({.hosts = 2, .packages = 2, .l3 = 2, .cores = 3});
  std::size_t deepest = 0;
  for (const Cluster& tree : block_trees(p.model, 64)) {
    const Schedule s = compose_blocks(Collective::kReduce, 5, 64, p.model, tree, "linear");
    const auto levels = static_cast<std::size_t>(std::count(s.algorithm.begin(), s.algorithm.end(), '/'));
    EXPECT_EQ(levels, static_cast<std::size_t>(depth_of(tree)));
    deepest = std::max(deepest, levels);
    EXPECT_NE(s.algorithm.find(" (" + shape_text(tree) + ")"), std::string::npos) << s.algorithm;
  }
  EXPECT_EQ(deepest, 3u);
}

// Data that cross between hosts, in blocks.
double crossing(const Placed& p, const Schedule& s) {
  double chunks = 0;
  for (const Stage& stage : s.stages)
    for (const Transfer& t : stage.transfers)
      chunks += p.topology.find(p.key.cpus[static_cast<std::size_t>(t.from)])->host !=
                p.topology.find(p.key.cpus[static_cast<std::size_t>(t.to)])->host;
  return chunks * static_cast<double>(blocks_of(s.collective, s.members)) / s.chunks;
}

TEST(ComposeBlocks, EachBlockCrossesBetweenDomainsOnce) {
  const Placed p = regular({.hosts = 4, .cores = 6});
  const auto along = [&](Collective collective) {
    const Cluster tree = block_trees(p.model, 1024).front();
    EXPECT_EQ(shape_text(tree), "4 x 6");
    return crossing(p, compose_blocks(collective, 9, 1024, p.model, tree, ""));
  };
  EXPECT_DOUBLE_EQ(along(Collective::kBroadcast), 3);
  EXPECT_DOUBLE_EQ(along(Collective::kReduce), 3);
  EXPECT_DOUBLE_EQ(along(Collective::kGather), 18);
  EXPECT_DOUBLE_EQ(along(Collective::kScatter), 18);
  EXPECT_DOUBLE_EQ(along(Collective::kAllgather), 24 * 3);
}

// Each level's algorithm is chosen by the bytes of its chunks: hosts halve a long vector, and not a short
// one.
TEST(ComposeBlocks, LongVectorsAreCut) {
  const Placed p = regular({.hosts = 4, .cores = 8});
  const auto along = [&](double bytes) {
    return compose_blocks(Collective::kAllreduce, 0, bytes, p.model, block_trees(p.model, bytes).front(), "");
  };
  const Schedule of_long = along(1 << 20), of_short = along(1 << 10);
  EXPECT_TRUE(of_long.algorithm.starts_with("recursive_halving/")) << of_long.algorithm;
  EXPECT_EQ(of_long.chunks, 4);
  EXPECT_EQ(of_short.chunks, 1) << of_short.algorithm;
}

// Ranks 0-2 and 3-5; 2 and 4 are at the link between them.
TEST(ComposeBlocks, WhoIsNearestToTheOthersLeads) {
  const auto apart = [](std::int32_t i, std::int32_t j) {
    if (i / 3 == j / 3) return 100.0;
    const double detour = (i == 2 || i == 4 ? 0 : 4000) + (j == 2 || j == 4 ? 0 : 4000);
    return 10000 + detour;
  };
  const CostModel model = test::model_of(6, apart);
  const std::vector<Cluster> trees = block_trees(model, 8);
  ASSERT_FALSE(trees.empty());
  ASSERT_EQ(shape_text(trees.front()), "2 x 3");
  const auto across = [&](Collective collective, std::int32_t root) {
    std::set<std::pair<std::int32_t, std::int32_t>> edges;
    for (const Stage& stage : compose_blocks(collective, root, 8, model, trees.front(), "").stages)
      for (const Transfer& t : stage.transfers)
        if (t.from / 3 != t.to / 3) edges.insert({std::min(t.from, t.to), std::max(t.from, t.to)});
    return edges;
  };
  using Edges = std::set<std::pair<std::int32_t, std::int32_t>>;
  EXPECT_EQ(across(Collective::kAllreduce, 0), (Edges{{2, 4}}));
  EXPECT_EQ(across(Collective::kAllgather, 0), (Edges{{2, 4}}));
  EXPECT_EQ(across(Collective::kBroadcast, 0), (Edges{{0, 4}}));  // a root leads its host
  EXPECT_EQ(across(Collective::kReduce, 5), (Edges{{2, 5}}));
}

TEST(ComposeBlocks, IntervalsOfRanksKeepRankOrder) {
  const Placed p = regular({.hosts = 3, .cores = 4});
  const Cluster tree = block_trees(p.model, 64).front();
  EXPECT_TRUE(verify(compose_blocks(Collective::kAllreduce, 0, 64, p.model, tree, "linear"), kProduct).ok());
  EXPECT_TRUE(verify(compose_blocks(Collective::kReduce, 7, 64, p.model, tree, "linear"), kProduct).ok());
}

TEST(ComposeBlocks, OneDomainAndOtherCollectivesHaveNone) {
  const Placed p = regular({.cores = 8});
  EXPECT_TRUE(block_trees(p.model, 64).empty());
  const Placed two = regular({.hosts = 2, .cores = 4});
  const Cluster tree = block_trees(two.model, 64).front();
  for (const Collective collective : {Collective::kAlltoall, Collective::kScan, Collective::kExscan})
    EXPECT_TRUE(compose_blocks(collective, 0, 64, two.model, tree, "").stages.empty());
  Cluster leaf;
  leaf.ranks = {0, 1, 2, 3, 4, 5, 6, 7};
  EXPECT_TRUE(compose_blocks(Collective::kBroadcast, 0, 64, two.model, leaf, "").stages.empty());
}

TEST(ComposeBlocks, AreChosenWhereDomainsAreFarApart) {
  const Placed p = regular({.hosts = 3, .packages = 2, .cores = 5});
  for (const Collective collective : {Collective::kBroadcast, Collective::kReduce, Collective::kAllreduce}) {
    const BlockCase wanted{.collective = collective,
                           .members = 30,
                           .root = has_root(collective) ? 3 : 0,
                           .bytes = 1024,
                           .irregular = false,
                           .op = kFloatSum};
    const BlockChooser chooser(wanted, &p.model);
    const BlockCandidate& first = chooser.ranked().front();
    EXPECT_EQ(first.algorithm, nullptr) << name_of(collective) << ": " << first.name;
    const Schedule s = choose_blocks(wanted, &p.model);
    EXPECT_EQ(s.algorithm, first.name);
    EXPECT_TRUE(verify(s, kFloatSum).ok());
  }
  // Only the two ends of an irregular gather know the blocks' sizes.
  const BlockCase irregular{.collective = Collective::kGather,
                            .members = 30,
                            .root = 3,
                            .bytes = 4096,
                            .irregular = true,
                            .op = {}};
  const BlockChooser straight(irregular, &p.model);
  EXPECT_FALSE(straight.ranked().empty());
  for (const BlockCandidate& c : straight.ranked()) EXPECT_NE(c.algorithm, nullptr) << c.name;
}

}  // namespace
}  // namespace fermata
