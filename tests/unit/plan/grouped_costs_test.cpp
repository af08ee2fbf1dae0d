// Costs by groups of members are those of the matrices.
#include <gtest/gtest.h>

#include "plan/cluster.hpp"
#include "search.hpp"

namespace fermata {
namespace {

using test::machine;
using test::options_for;

PlanKey key_for(const Topology& t, std::int32_t members, Placement placement) {
  PlanKey key;
  key.members = members;
  key.cpus = place(t, members, placement);
  take_hosts(key, t);
  return key;
}

void expect_same(const CostModel& grouped, const CostModel& full) {
  ASSERT_FALSE(grouped.grouped.empty());
  ASSERT_TRUE(full.grouped.empty());
  for (std::int32_t i = 0; i < full.members; ++i)
    for (std::int32_t j = 0; j < full.members; ++j) {
      ASSERT_EQ(grouped.o_at(i, j), full.o_at(i, j)) << i << " " << j;
      ASSERT_EQ(grouped.l_at(i, j), full.l_at(i, j)) << i << " " << j;
    }
  EXPECT_EQ(further_share(grouped), further_share(full));
  EXPECT_NEAR(mean_distance(grouped), mean_distance(full), 1e-9 * mean_distance(full));
  EXPECT_EQ(grouped.word_read, full.word_read);
  EXPECT_TRUE(cluster_by_distance(grouped, 0) == cluster_by_distance(full, 0));
  EXPECT_TRUE(cluster_by_distance(grouped, 0.1) == cluster_by_distance(full, 0.1));
}

TEST(GroupedCosts, AreThoseOfTheMatrices) {
  for (const RegularShape& shape :
       {RegularShape{.cores = 70}, RegularShape{.packages = 2, .numa = 2, .l3 = 2, .cores = 5, .smt = 2},
        RegularShape{.hosts = 9, .packages = 2, .cores = 5},
        RegularShape{.hosts = 3, .packages = 1, .l3 = 3, .l2 = 2, .cores = 2, .smt = 2}}) {
    const Topology t = machine(shape);
    const Profile p = estimate_profile(t);
    for (const std::int32_t members : {65, 70, 72, 100})
      for (const Placement placement : {Placement::kCore, Placement::kCpu, Placement::kRandom}) {
        const PlanKey key = key_for(t, members, placement);
        expect_same(signal_model(p, t, key), cost_model(p, t, key));
      }
  }
}

TEST(GroupedCosts, OfUnpinnedMembersAreAllAlike) {
  const Topology t = machine({.packages = 2, .cores = 4});
  PlanKey key;
  key.members = 80;
  const Profile p = estimate_profile(t);
  expect_same(signal_model(p, t, key), cost_model(p, t, key));
}

TEST(GroupedCosts, OnePairThatDiffersSpoilsThem) {
  const Topology t = machine({.hosts = 9, .packages = 2, .cores = 5});
  const PlanKey key = key_for(t, 90, Placement::kCpu);
  Profile p = estimate_profile(t);
  ASSERT_FALSE(signal_model(p, t, key).grouped.empty());
  p.l.at(77, 3) += 0.25;
  const CostModel model = signal_model(p, t, key);
  EXPECT_TRUE(model.grouped.empty());
  EXPECT_EQ(model.l_at(77, 3), p.l.at(77, 3));
  EXPECT_TRUE(signal_model(estimate_profile(t), t, key_for(t, 64, Placement::kCpu)).grouped.empty());
}

Network mesh_of(std::int32_t columns, std::int32_t rows) {
  Network network;
  network.kind = Network::Kind::kMesh;
  network.sides = {columns, rows};
  return network;
}

TEST(GroupedCosts, KnowTheWaysOfANetwork) {
  Topology t = machine({.hosts = 12, .packages = 2, .cores = 4});
  t.network = mesh_of(4, 3);
  const Profile p = estimate_profile(t);
  for (const Placement placement : {Placement::kCore, Placement::kRandom}) {
    const PlanKey key = key_for(t, 90, placement);
    const CostModel model = signal_model(p, t, key);
    expect_same(model, cost_model(p, t, key));
    EXPECT_TRUE(cluster_by_topology(t, key.cpus, model, true) ==
                cluster_by_topology(t, key.cpus, cost_model(p, t, key), true));
  }
}

// 3,000 CPUs are more than the profile's matrices have.
TEST(GroupedCosts, ByLevelAreThoseBetweenTheCpus) {
  Topology t = machine({.hosts = 150, .packages = 2, .cores = 5, .smt = 2});
  t.network = mesh_of(15, 10);
  const Profile p = estimate_profile(t);
  ASSERT_TRUE(p.levels.has_value());
  const PlanKey key = key_for(t, 3000, Placement::kRandom);
  const CostModel model = signal_model(p, t, key);
  ASSERT_FALSE(model.grouped.empty());
  LevelLinks links(*p.levels, t.network);
  for (std::int32_t i = 0; i < 3000; i += 13)
    for (std::int32_t j = 0; j < 3000; ++j) {
      const LinkCost cost = links.between(*t.find(key.cpus[static_cast<std::size_t>(i)]),
                                          *t.find(key.cpus[static_cast<std::size_t>(j)]));
      ASSERT_EQ(model.o_at(i, j), cost.o) << i << " " << j;
      ASSERT_EQ(model.l_at(i, j), i == j ? 0 : cost.l) << i << " " << j;
    }
}

TEST(GroupedCosts, PlansOfLargeTeams) {
  const Topology t = machine({.hosts = 400, .packages = 4, .cores = 4});
  PlanOptions o = options_for(t, Collective::kBarrier, 6400);
  take_hosts(o.key, t);
  const auto plan = make_plan(t, estimate_profile(t), o, nullptr);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  test::expect_sound(*plan);
  EXPECT_EQ(shape_text(plan->levels), "400 x (4 x 4)");
  const auto again = plan_from_json(to_json(*plan));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_TRUE(*again == *plan);
}

// The profile has costs by level, but not of the network's last row.
TEST(GroupedCosts, ByLevelNeedCostsOfAllCpus) {
  Topology t = machine({.hosts = 150, .packages = 2, .cores = 10});
  t.network = mesh_of(15, 10);
  Profile p = estimate_profile(t);
  const PlanKey key = key_for(t, 3000, Placement::kCpu);
  ASSERT_FALSE(signal_model(p, t, key).grouped.empty());
  p.topology.network = mesh_of(15, 9);
  EXPECT_TRUE(signal_model(p, t, key).grouped.empty());
}

TEST(GroupedCosts, LargeTeamsNeedThem) {
  const Topology t = machine({.hosts = 9, .packages = 2, .cores = 5});
  Profile p = estimate_profile(t);
  p.l.at(77, 3) += 0.25;
  PlanOptions o = options_for(t, Collective::kBarrier, 4500);
  o.algorithm = "kary(8)";
  const auto plan = make_plan(t, p, o, nullptr);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().status, Status::kUnsupported);
  EXPECT_NE(plan.error().message.find("costs by level"), std::string::npos) << plan.error().message;
}

}  // namespace
}  // namespace fermata
