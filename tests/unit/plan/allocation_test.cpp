// Plans from the times that an MPI job has measured between its hosts.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <regex>
#include <string>
#include <vector>

#include "../../own_folder.hpp"
#include "fermata/hosts.h"
#include "plan/block_plan.hpp"
#include "plan/choose_blocks.hpp"
#include "plan/cluster.hpp"
#include "plan/hosts.hpp"
#include "profile/store.hpp"

namespace fermata {
namespace {

constexpr double kMessage = 280000, kFurther = 40000, kNear = 50, kFar = 200;

// Four hosts with four processes each, in turn, pinned to CPUs 0 to 3. CPUs 0 and 1 are near each other; CPUs
// 2 and 3 are also near each other.
Profile job_of_four(double slow = 0) {
  Profile p;
  p.machine = "four hosts";
  p.origin = "measured";
  p.engine = "processes";
  p.hosts = {"a", "b", "c", "d"};
  p.o = Matrix(16);
  p.l = Matrix(16);
  for (std::int32_t k = 0; k < 16; ++k) {
    Cpu cpu;
    cpu.os_index = cpu.core = cpu.l2 = k;
    cpu.host = cpu.package = cpu.numa = k % 4;
    cpu.l3 = k % 4 * 2 + k / 8;
    p.topology.cpus.push_back(cpu);
    p.pinned.push_back(k / 4);
  }
  p.topology.model = "job a b c d";
  p.topology.cpus_total = 16;
  p.fingerprint = fingerprint(p.topology);
  for (std::int32_t i = 0; i < 16; ++i)
    for (std::int32_t j = 0; j < 16; ++j) {
      const bool link = std::min(i % 4, j % 4) == 0 && std::max(i % 4, j % 4) == 1;
      const double memory = i / 8 == j / 8 ? kNear : kFar;
      p.o.at(i, j) = i == j ? 5 : i % 4 == j % 4 ? memory : kMessage + (link ? slow : 0);
      p.l.at(i, j) = i == j ? 0 : i % 4 == j % 4 ? memory / 4 : kFurther;
    }
  p.one_way_ns = kNear;
  p.awaited_ns = kNear / 4;
  return p;
}

PlanKey key_of(const Allocation& team, const Topology& topology, Collective collective) {
  PlanKey key;
  key.fingerprint = fingerprint(topology);
  key.collective = collective;
  key.payload = collective == Collective::kBarrier ? 0 : 8;
  key.members = static_cast<std::int32_t>(team.hosts.size());
  key.engine = Engine::kProcesses;
  key.hosts = team.hosts;
  key.cpus.resize(team.hosts.size());
  std::iota(key.cpus.begin(), key.cpus.end(), 0);
  return key;
}

Plan plan_of(const Allocation& team, const Profile& job, Collective collective = Collective::kBarrier) {
  const Topology topology = topology_of(team);
  PlanOptions options;
  options.key = key_of(team, topology, collective);
  return *make_plan(topology, *profile_of(team, topology, job), options, nullptr);
}

int messages(const Plan& plan, const std::string& from, const std::string& to, const Allocation& team) {
  int count = 0;
  for (const Stage& stage : plan.schedule.stages)
    for (const Transfer& t : stage.transfers) {
      if (t.from >= plan.key.members || t.to >= plan.key.members) continue;
      const auto name = [&](std::int32_t r) {
        return team.names[static_cast<std::size_t>(team.hosts[static_cast<std::size_t>(r)])];
      };
      count += (name(t.from) == from && name(t.to) == to) || (name(t.from) == to && name(t.to) == from);
    }
  return count;
}

const Allocation kBlocks = {{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3}, {"a", "b", "c", "d"}, {}};

TEST(PlanForAnAllocation, EachRankHasItsRow) {
  const Profile job = job_of_four();
  const Allocation team = {{0, 1, 1, 1, 0}, {"d", "b"}, {2, 1, -1, 3, 2}};
  const Topology topology = topology_of(team);
  const auto p = profile_of(team, topology, job);
  ASSERT_TRUE(p) << p.error().message;
  EXPECT_TRUE(p->hosts.empty());
  EXPECT_EQ(p->fingerprint, fingerprint(topology));
  const auto o = [&](std::int32_t a, std::int32_t b) {  // by rank
    const auto row = [&](std::int32_t rank) {
      return static_cast<std::int32_t>(topology.find(rank) - topology.cpus.data());
    };
    return p->o.at(row(a), row(b));
  };
  EXPECT_EQ(o(0, 1), kMessage);
  EXPECT_EQ(o(1, 3), kFar) << "CPUs 1 and 3";
  EXPECT_EQ(o(1, 2), kNear) << "the first that is left, CPU 0";
  EXPECT_EQ(o(0, 4), kFar) << "CPU 2 is taken, so the first that is left";
  EXPECT_EQ(profile_of({{0, 1}, {"a", "e"}, {}}, topology_of({{0, 1}, {"a", "e"}, {}}), job).error().status,
            Status::kNotFound);
}

TEST(PlanForAnAllocation, APinnedRankKeepsTheFirstRow) {
  const Allocation team = {{0, 0}, {"a"}, {0, 1}};
  const auto p = profile_of(team, topology_of(team), job_of_four());
  ASSERT_TRUE(p) << p.error().message;
  EXPECT_EQ(p->o.at(0, 1), kNear) << "CPUs 0 and 1";
}

TEST(PlanForAnAllocation, MoreRanksThanProcessesShareRows) {
  Allocation team = {{}, {"a", "b"}, {}};
  for (int r = 0; r < 12; ++r) team.hosts.push_back(r / 6);
  const auto p = profile_of(team, topology_of(team), job_of_four());
  ASSERT_TRUE(p);
  for (int i = 0; i < 12; ++i)
    for (int j = 0; j < 12; ++j)
      if (i != j && i / 6 == j / 6) {
        EXPECT_TRUE(p->o.at(i, j) == kNear || p->o.at(i, j) == kFar) << i << ", " << j;
      }
}

// Clusters by sparse spatial centres, from the matrices alone.
TEST(PlanForAnAllocation, ClustersAreHostsAndTheirCaches) {
  for (const bool blocks : {true, false}) {
    Allocation team = kBlocks;
    for (int r = 0; r < 16 && !blocks; ++r) team.hosts[static_cast<std::size_t>(r)] = r % 4;
    const Topology topology = topology_of(team);
    const CostModel model = cost_model(*profile_of(team, topology, job_of_four()), topology,
                                       key_of(team, topology, Collective::kBarrier));
    const Cluster tree = cluster_by_distance(model, 0);
    EXPECT_EQ(shape_text(tree), "4 x (2 x 2)");
    for (const Cluster& host : tree.children)
      for (const std::int32_t r : host.ranks)
        EXPECT_EQ(team.hosts[static_cast<std::size_t>(r)],
                  team.hosts[static_cast<std::size_t>(host.ranks[0])]);
  }
}

TEST(PlanForAnAllocation, BytesGoTheirWayToo) {
  Profile job = job_of_four();
  job.g = Matrix(16);
  for (std::int32_t i = 0; i < 16; ++i)
    for (std::int32_t j = 0; j < 16; ++j) job.g.at(i, j) = i % 4 == j % 4 ? 0.1 : 1 + i % 4 + j % 4;
  job.domains = {{Level::kNetwork, 16, 0.7}};
  const Allocation team = {{0, 1, 1, 0}, {"d", "b"}, {}};
  const Topology topology = topology_of(team);
  const CostModel model =
      block_costs(*profile_of(team, topology, job), topology, key_of(team, topology, Collective::kBroadcast));
  EXPECT_EQ(model.g_at(0, 1), 1 + 3 + 1) << "a message has the full cost per byte";
  EXPECT_EQ(model.g_at(0, 3), 0.05) << "into a slot, and as much out of it";
  EXPECT_EQ(model.bytes.between, 0.7);
  EXPECT_EQ(model.bytes.together, 0);
  // Long messages go in pieces: the next one begins while a piece is under way.
  const Allocation apart = {{0, 1, 2, 3}, {"a", "b", "c", "d"}, {}};
  const Topology four = topology_of(apart);
  job.domains.clear();
  const CostModel alone =
      block_costs(*profile_of(apart, four, job), four, key_of(apart, four, Collective::kBroadcast));
  const BlockCase wanted{.collective = Collective::kBroadcast,
                         .members = 4,
                         .root = 0,
                         .bytes = 8 << 20,
                         .irregular = false,
                         .op = {}};
  EXPECT_GT(choose_blocks(wanted, &alone).chunks, 1);
}

TEST(PlanForAnAllocation, ASlowLinkIsAvoided) {
  for (const Collective collective : {Collective::kBarrier, Collective::kAllreduce}) {
    const Plan even = plan_of(kBlocks, job_of_four(), collective),
               slow = plan_of(kBlocks, job_of_four(5e6), collective);
    EXPECT_GT(messages(even, "a", "b", kBlocks), 0) << even.schedule.algorithm;
    EXPECT_EQ(messages(slow, "a", "b", kBlocks), 0) << slow.schedule.algorithm;
    EXPECT_LT(slow.predicted_latency_ns, 3 * even.predicted_latency_ns);
    EXPECT_EQ(slow.origin, "predicted");
    // The text also lists the plan that would be best otherwise, with its cost over the slow link.
    const std::string text = explain(slow, false);
    EXPECT_TRUE(std::regex_search(text, std::regex("\n  complete.*predicted [2-9]"))) << text;
  }
  const Allocation alone = {{0, 1, 2, 3}, {"a", "b", "c", "d"}, {}};
  const Plan round = plan_of(alone, job_of_four(5e6));
  EXPECT_EQ(messages(round, "a", "b", alone), 0) << "a member on each host";
  const auto read = plan_from_json(to_json(round));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, round) << "not led by rank 0";
}

TEST(PlanForAnAllocation, AnotherPlacementOrASubsetIsAnotherPlan) {
  const Profile job = job_of_four(5e6);
  const Allocation part = {{0, 0, 1, 1}, {"a", "b"}, {}}, others = {{0, 0, 1, 1}, {"c", "d"}, {}};
  EXPECT_GT(plan_of(part, job).predicted_latency_ns, 5e6);
  EXPECT_LT(plan_of(others, job).predicted_latency_ns, 1e6);
  EXPECT_NE(plan_path(plan_of(part, job).key), plan_path(plan_of(others, job).key));
}

// Two plans have the same cost in the model: each member sends to its partner on the other host, or the
// leaders send for all. The plan with fewer messages is chosen.
TEST(PlanForAnAllocation, NoMoreMessagesThanItTakes) {
  const Allocation two = {{0, 1, 0, 1, 0, 1, 0, 1}, {"a", "b"}, {}};
  const Plan plan = plan_of(two, job_of_four());
  EXPECT_EQ(messages(plan, "a", "b", two), 2) << plan.schedule.algorithm;
}

// Teams use the newest profile with their hosts, else estimates.
TEST(PlanForAnAllocation, TeamsFindTheProfile) {
  test::OwnCache cache;
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  config.members = 16;
  config.engine = FERMATA_PROCESSES;
  const std::vector<int> hosts(kBlocks.hosts.begin(), kBlocks.hosts.end());
  const char* const names[] = {"a", "b", "c", "d"};
  const auto plans = [&](const char* const* known) {
    std::vector<char> text(1 << 20);
    std::size_t length = text.size();
    EXPECT_EQ(fermata_hosts_plan(&config, hosts.data(), known, nullptr, text.data(), &length), FERMATA_OK)
        << fermata_error_detail();
    std::size_t asked = 0;
    EXPECT_EQ(fermata_hosts_plan(&config, hosts.data(), known, nullptr, nullptr, &asked), FERMATA_OK);
    EXPECT_EQ(asked, length);
    text.resize(length);
    return text;
  };
  const auto hash_of = [&](const std::vector<char>& text, int host) {
    fermata_team* team = nullptr;
    const int made =
        fermata_team_create_planned(&config, hosts.data(), host, text.data(), text.size(), &team);
    EXPECT_EQ(made, FERMATA_OK) << fermata_error_detail();
    std::uint64_t hash = 0;
    EXPECT_EQ(fermata_team_hash(team, &hash), FERMATA_OK);
    fermata_team_destroy(team);
    return hash;
  };
  const auto estimated = plans(names);
  EXPECT_EQ(estimated, plans(nullptr));
  ASSERT_TRUE(save_profile(job_of_four(5e6)));
  const auto measured = plans(names);
  EXPECT_NE(measured, estimated);
  EXPECT_EQ(plans(nullptr), estimated) << "the hosts are not known";
  EXPECT_EQ(hash_of(measured, 0), hash_of(measured, 3));
  EXPECT_NE(hash_of(measured, 0), hash_of(estimated, 0));
}

}  // namespace
}  // namespace fermata
