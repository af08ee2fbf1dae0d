#include "plan/cluster.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "matrices.hpp"
#include "profile/store.hpp"

namespace fermata {
namespace {

using test::model_of;
using Ranks = std::vector<std::int32_t>;

std::set<Ranks> groups(const Cluster& tree) {
  std::set<Ranks> all;
  for (const Cluster& child : tree.children) all.insert(child.ranks);
  return all;
}

TEST(Sparseness, LiesInTheLargestRelativeGap) {
  EXPECT_NEAR(sparseness_from_gap({10, 11, 12, 100, 110}), std::sqrt(12.0 * 100) / 110, 1e-12);
  EXPECT_DOUBLE_EQ(sparseness_from_gap({100, 101, 105, 108, 110}), kDefaultSparseness);
  EXPECT_DOUBLE_EQ(sparseness_from_gap({7}), kDefaultSparseness);
  EXPECT_DOUBLE_EQ(sparseness_from_gap({0, 0, 0}), kDefaultSparseness);
}

// The mean is over pairs that share memory; if none do, over all other pairs.
TEST(MeanDistance, IsOfPairsThatShareMemory) {
  CostModel model = model_of(4, [](int i, int j) { return i / 2 == j / 2 ? 10.0 : 1000.0; });
  const double near = distance(model, 0, 1), apart = distance(model, 0, 2);
  ASSERT_LT(near, apart);
  EXPECT_DOUBLE_EQ(mean_distance(model), (2 * near + 4 * apart) / 6);
  model.hosts = {0, 0, 1, 1};
  EXPECT_DOUBLE_EQ(mean_distance(model), near);
  model.hosts = {0, 1, 2, 3};
  EXPECT_DOUBLE_EQ(mean_distance(model), (2 * near + 4 * apart) / 6);
  EXPECT_EQ(mean_distance(model_of(1, [](int, int) { return 0.0; })), 0);
}

TEST(Clusters, Power8IsFourChipsOfSix) {
  for (const auto* table : {&test::kPower8Table1, &test::kPower8Table2}) {
    const CostModel m = model_of(24, [&](int i, int j) { return test::power8(i, j, *table); });
    const Cluster tree = cluster_by_distance(m, 0);
    ASSERT_EQ(tree.children.size(), 4u);
    EXPECT_EQ(shape_text(tree), "4 x 6");
    for (int chip = 0; chip < 4; ++chip) {
      EXPECT_EQ(tree.children[static_cast<std::size_t>(chip)].ranks.front(), 6 * chip);
      EXPECT_TRUE(tree.children[static_cast<std::size_t>(chip)].children.empty());
    }
  }
}

// The clusters of section VI: 8 hosts of 2 x 4 cores, 10 hosts of 2 x 6.
class TwoClusters : public ::testing::TestWithParam<std::pair<int, int>> {};

TEST_P(TwoClusters, BlockPlacementGivesHostsAndSockets) {
  const auto [hosts, per_socket] = GetParam();
  const int cores = 2 * per_socket, n = hosts * cores;
  const CostModel m = model_of(n, [&, c = cores, s = per_socket](int i, int j) {
    return test::cluster(i / c, i % c, j / c, j % c, s);
  });
  const Cluster tree = cluster_by_distance(m, 0);
  ASSERT_EQ(tree.children.size(), static_cast<std::size_t>(hosts));
  for (const Cluster& host : tree.children) {
    EXPECT_EQ(host.ranks.size(), static_cast<std::size_t>(cores));
    ASSERT_EQ(host.children.size(), 2u);
    EXPECT_EQ(host.children[0].ranks.size(), static_cast<std::size_t>(per_socket));
    EXPECT_TRUE(host.children[0].children.empty());
  }
}

TEST_P(TwoClusters, RoundRobinPlacementGivesHostsAndSockets) {
  const auto [hosts, per_socket] = GetParam();
  const int n = hosts * 2 * per_socket;
  const CostModel m = model_of(n, [&, h = hosts, s = per_socket](int i, int j) {
    return test::cluster(i % h, i / h, j % h, j / h, s);
  });
  const Cluster tree = cluster_by_distance(m, 0);
  ASSERT_EQ(tree.children.size(), static_cast<std::size_t>(hosts));
  for (int h = 0; h < hosts; ++h) {
    const Cluster& host = tree.children[static_cast<std::size_t>(h)];
    for (std::size_t k = 0; k < host.ranks.size(); ++k)
      EXPECT_EQ(host.ranks[k], h + static_cast<int>(k) * hosts);
    ASSERT_EQ(host.children.size(), 2u);
  }
}

TEST_P(TwoClusters, ThePapersSparsenessGivesHosts) {
  const auto [hosts, per_socket] = GetParam();
  const int cores = 2 * per_socket;
  const CostModel m = model_of(hosts * cores, [&, c = cores, s = per_socket](int i, int j) {
    return test::cluster(i / c, i % c, j / c, j % c, s);
  });
  EXPECT_EQ(cluster_by_distance(m, kDefaultSparseness).children.size(), static_cast<std::size_t>(hosts));
}

INSTANTIATE_TEST_SUITE_P(Hosts, TwoClusters, ::testing::Values(std::pair{8, 4}, std::pair{10, 6}));

// The recorded machines of machines/, one member per core.
Cluster recorded(const std::string& name, Placement placement, std::int32_t members = 0) {
  const auto profile = load_profile_file(std::string(FERMATA_SOURCE_DIR) + "/machines/" + name + ".json");
  EXPECT_TRUE(profile.ok()) << profile.error().message;
  PlanKey key;
  key.members = members > 0 ? members : static_cast<std::int32_t>(profile->topology.cpus.size());
  key.cpus = place(profile->topology, key.members, placement);
  return cluster_by_distance(cost_model(*profile, profile->topology, key), 0);
}

TEST(RecordedMachines, HaveTheirPapersLevels) {
  EXPECT_EQ(shape_text(recorded("power8-4x6x8", Placement::kCore, 24)), "4 x 6");
  EXPECT_EQ(shape_text(recorded("cluster-8x2x4", Placement::kCore)), "8 x (2 x 4)");
  EXPECT_EQ(shape_text(recorded("cluster-10x2x6", Placement::kCore)), "10 x (2 x 6)");
  EXPECT_EQ(shape_text(recorded("cluster-8x2x4", Placement::kRoundRobin)), "8 x (2 x 4)");
  EXPECT_EQ(shape_text(recorded("cluster-10x2x6", Placement::kRoundRobin)), "10 x (2 x 6)");
  EXPECT_EQ(shape_text(recorded("skl-2x18", Placement::kCore)), "2 x 18");
}

TEST(Clusters, UniformMachineIsOneLeaf) {
  for (const int n : {1, 2, 3, 17, 64}) {
    const Cluster tree = cluster_by_distance(model_of(n, [](int, int) { return 100.0; }), 0);
    EXPECT_TRUE(tree.children.empty());
    EXPECT_EQ(tree.ranks.size(), static_cast<std::size_t>(n));
  }
}

TEST(Clusters, NoiseMakesNoLevels) {
  const Cluster tree =
      cluster_by_distance(model_of(24, [](int i, int j) { return 100.0 + (i * 7 + j * 7) % 13; }), 0);
  EXPECT_TRUE(tree.children.empty());
}

TEST(Clusters, EachLevelUsesItsOwnDiameter) {  // 2 hosts x 2 sockets x 4 caches of 2
  const CostModel m = model_of(32, [](int i, int j) {
    return i / 16 != j / 16 ? 40000.0 : i / 8 != j / 8 ? 300.0 : i / 2 != j / 2 ? 120.0 : 40.0;
  });
  EXPECT_EQ(shape_text(cluster_by_distance(m, 0)), "2 x (8 x 2)");
  EXPECT_EQ(shape_text(cluster_by_distance(m, 0.5)), "2 x (2 x (4 x 2))");
}

TEST(Clusters, DistanceIsTheMeanOfBothWays) {
  CostModel m = model_of(2, [](int i, int) { return i == 0 ? 100.0 : 300.0; });
  EXPECT_DOUBLE_EQ(distance(m, 0, 1), 200);
  EXPECT_DOUBLE_EQ(distance(m, 1, 1), 0);
  EXPECT_DOUBLE_EQ(cluster_by_distance(m, 0).diameter_ns, 200);
}

TEST(Clusters, DeclaredDomainsNest) {
  const auto topology = topology_from_regular({.packages = 2, .l3 = 2, .cores = 4, .smt = 2});
  ASSERT_TRUE(topology.ok());
  const std::vector<std::int32_t> cpus = place(*topology, 32, Placement::kCpu);
  const CostModel m = model_of(32, [](int, int) { return 1.0; });
  const Cluster tree = cluster_by_topology(*topology, cpus, m);
  EXPECT_EQ(shape_text(tree), "2 x (2 x (4 x 2))");
  EXPECT_EQ(depth_of(tree), 3);
  EXPECT_EQ(shape_text(cut_below(tree, 1)), "2 x 16");
  EXPECT_EQ(shape_text(innermost(tree)), "16 x 2");
  // One member per core and package-by-package: packages, then L3 domains of single cores.
  EXPECT_EQ(shape_text(cluster_by_topology(*topology, place(*topology, 16, Placement::kCore),
                                           model_of(16, [](int, int) { return 1.0; }))),
            "2 x (2 x 4)");
  EXPECT_TRUE(cluster_by_topology(*topology, {}, m).children.empty());
}

TEST(Clusters, MembersOfOneCpuAreTogether) {
  const auto topology = topology_from_regular({.cores = 2});
  ASSERT_TRUE(topology.ok());
  const CostModel m = model_of(6, [](int, int) { return 1.0; });
  const Cluster tree = cluster_by_topology(*topology, {0, 1, 0, 1, 0, 1}, m);
  EXPECT_EQ(groups(tree), (std::set<Ranks>{{0, 2, 4}, {1, 3, 5}}));
}

TEST(Clusters, EveryRankIsInOneLeafWhateverTheMatrix) {
  for (unsigned seed = 1; seed < 200; ++seed) {
    const int n = 1 + static_cast<int>(seed % 40);
    const CostModel m = model_of(n, [&](int i, int j) {
      const unsigned x = (static_cast<unsigned>(std::min(i, j)) * 2654435761u ^
                          static_cast<unsigned>(std::max(i, j)) * 40503u) *
                         (2 * seed + 1);
      return 10.0 * static_cast<double>(1u << (x >> 13) % 12);
    });
    std::vector<int> seen(static_cast<std::size_t>(n), 0);
    const auto walk = [&](const auto& self, const Cluster& node) -> void {
      if (node.children.empty())
        for (const std::int32_t r : node.ranks) ++seen[static_cast<std::size_t>(r)];
      for (const Cluster& child : node.children) {
        EXPECT_LT(child.ranks.size(), node.ranks.size());
        self(self, child);
      }
    };
    const Cluster tree = cluster_by_distance(m, 0);
    EXPECT_EQ(tree.ranks.front(), 0);
    walk(walk, tree);
    for (const int s : seen) EXPECT_EQ(s, 1);
  }
}

}  // namespace
}  // namespace fermata
