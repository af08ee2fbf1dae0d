// Plans whose hosts are in another order, neighbours first: predicted and simulated, on networks in which
// some hosts are farther from each other than others.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "plan/cluster.hpp"
#include "sim/simulate.hpp"

namespace fermata {
namespace {

struct Machine {
  Topology topology;
  Profile profile;
};

// O + L is 1,000 ns between neighbours, and each further hop takes 100 ns.
Machine machine(const std::string& network, std::int32_t hosts, std::int32_t cores = 1) {
  const auto p = profile_from_json(
      R"({"format": "fermata-profile", "version": 1, "machine": "m", "origin": "published",
          "engine": "processes", "one_way_ns": 50, "topology": {"regular": {"hosts": )" +
      std::to_string(hosts) + ", \"cores\": " + std::to_string(cores) + "}, \"network\": {" + network +
      R"(, "hop_ns": 100}}, "levels": {"self": {"o": 0, "l": 0}, "l3": {"o": 90, "l": 10},
          "network": {"o": 900, "l": 100}}})");
  EXPECT_TRUE(p.ok()) << p.error().message;
  return {p->topology, *p};
}

Result<Plan> plan_on(const Machine& m, const std::string& algorithm, std::int32_t members,
                     Collective collective = Collective::kBarrier,
                     const std::vector<std::int32_t>& cpus = {}) {
  PlanOptions options;
  options.key.members = members;
  options.key.collective = collective;
  options.key.payload = payload_class(collective, 0);
  options.key.cpus = cpus.empty() ? place(m.topology, members, Placement::kCpu) : cpus;
  take_hosts(options.key, m.topology);
  options.algorithm = algorithm;
  if (!algorithm.empty()) options.layout = "private+2slots";
  return make_plan(m.topology, m.profile, options, nullptr);
}

double simulated(const Machine& m, const Plan& plan) {
  const auto program = compile_lines(plan);
  EXPECT_TRUE(program.ok()) << program.error().message;
  if (!program.ok()) return 0;
  const auto outcome =
      sim::simulate(*program, plan.key, m.topology, m.profile,
                    {.quantity = sim::Quantity::kLatency, .episodes = 20, .costs = {.work_ns = 0}});
  EXPECT_TRUE(outcome.ok()) << plan.schedule.algorithm << ": " << outcome.error().message;
  return outcome.ok() ? outcome->ns : 0;
}

// A barrier of 64 hosts: the plain order, and neighbours first.
TEST(NeighboursFirst, IsFasterOnATorus) {
  for (const char* network : {"\"torus\": [8, 8]", "\"torus\": [4, 4, 4]"}) {
    const Machine m = machine(network, 64);
    for (const std::string algorithm : {"kary(2)", "kary(3)", "kary(4)", "binomial_high", "butterfly"}) {
      const auto plain = plan_on(m, algorithm, 64), first = plan_on(m, algorithm + "@neighbours", 64);
      ASSERT_TRUE(plain.ok() && first.ok()) << algorithm;
      EXPECT_EQ(first->schedule.algorithm, algorithm + "@neighbours");
      EXPECT_LT(first->predicted_latency_ns, plain->predicted_latency_ns) << network << " " << algorithm;
      EXPECT_LT(simulated(m, *first), simulated(m, *plain)) << network << " " << algorithm;
    }
  }
}

// A torus of 4 x 4 x 4 contains a cube of six dimensions: each message of these goes to a neighbour, so that
// no order is better.
TEST(NeighboursFirst, FindsTheCubeInATorus) {
  const Machine m = machine("\"torus\": [4, 4, 4]", 64);
  EXPECT_EQ(plan_on(m, "binomial_high@neighbours", 64)->predicted_latency_ns, 12 * 1000);
  EXPECT_EQ(plan_on(m, "butterfly@neighbours", 64)->predicted_latency_ns, 6 * 1000);
  EXPECT_GT(plan_on(m, "butterfly", 64)->predicted_latency_ns, 6 * 1000);
}

// Ranks that lie on the hosts in no order.
TEST(NeighboursFirst, RepairsARandomPlacement) {
  const Machine m = machine("\"mesh\": [8, 8]", 64);
  const std::vector<std::int32_t> cpus = place(m.topology, 64, Placement::kRandom, 3);
  for (const std::string algorithm : {"kary(3)", "binomial", "butterfly"}) {
    const auto plain = plan_on(m, algorithm, 64, Collective::kBarrier, cpus),
               first = plan_on(m, algorithm + "@neighbours", 64, Collective::kBarrier, cpus);
    ASSERT_TRUE(plain.ok() && first.ok());
    EXPECT_LT(simulated(m, *first), 0.9 * simulated(m, *plain)) << algorithm;
  }
}

// Hosts of several members move as a whole, and a root's host stays. The simulation checks all results.
TEST(NeighboursFirst, GivesRightResults) {
  const Machine m = machine("\"torus\": [3, 4]", 12, 2);
  std::vector<std::int32_t> cpus(24);
  std::iota(cpus.begin(), cpus.end(), 0);
  std::rotate(cpus.begin(), cpus.begin() + 10, cpus.end());
  std::swap_ranges(cpus.begin(), cpus.begin() + 4, cpus.begin() + 12);
  int plans = 0;
  for (const Collective collective :
       {Collective::kBarrier, Collective::kBroadcast, Collective::kReduce, Collective::kAllreduce})
    for (const std::string algorithm : {"kary(3)", "binomial", "linear/linear", "kary(2)/kary(2)/linear"}) {
      const auto plan = plan_on(m, algorithm + "@neighbours", 24, collective, cpus);
      if (!plan) continue;
      ASSERT_EQ(prove(*plan), "");
      EXPECT_GT(simulated(m, *plan), 0);
      const auto back = plan_from_json(to_json(*plan));
      ASSERT_TRUE(back.ok()) << back.error().message;
      EXPECT_EQ(to_json(*back), to_json(*plan));
      ++plans;
    }
  EXPECT_GE(plans, 10);
}

// The search prices both orders.
TEST(NeighboursFirst, IsACandidate) {
  const Machine m = machine("\"mesh\": [8, 8]", 64);
  const auto plan = plan_on(m, "", 64, Collective::kBarrier, place(m.topology, 64, Placement::kRandom, 5));
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(plan->schedule.algorithm.ends_with("@neighbours")) << plan->schedule.algorithm;
  const std::string& name = plan->schedule.algorithm;
  const std::string plain = name.substr(0, name.find('@'));
  const auto other = std::find_if(plan->candidates.begin(), plan->candidates.end(),
                                  [&](const Candidate& c) { return c.algorithm == plain; });
  ASSERT_NE(other, plan->candidates.end());
  EXPECT_GT(other->predicted_ns, plan->predicted_latency_ns);
}

TEST(NeighboursFirst, IsRefusedWhereItCannotMatter) {
  const auto refusal = [](const Machine& m, const std::string& algorithm, std::int32_t members) {
    const auto plan = plan_on(m, algorithm, members);
    EXPECT_FALSE(plan.ok());
    return plan.ok() ? std::string() : plan.error().message;
  };
  const Machine flat = machine("\"fat_tree\": {\"down\": [8]}", 8), torus = machine("\"torus\": [8]", 8, 2);
  EXPECT_NE(refusal(flat, "kary(2)@neighbours", 8).find("equally far"), std::string::npos);
  EXPECT_NE(refusal(torus, "kary(2)@neighbours", 15).find("as many members"), std::string::npos);
  EXPECT_NE(refusal(torus, "@neighbours", 16).find("one algorithm"), std::string::npos);
  EXPECT_NE(refusal(torus, "nonsense@neighbours", 16).find("nonsense"), std::string::npos);
}

// The planes and rows of a torus, the groups of a dragonfly, and the hosts below a switch of a fat tree.
TEST(NeighboursFirst, NetworksHaveGroupsOfHosts) {
  const auto shape = [](const Machine& m) {
    PlanKey key;
    key.members = static_cast<std::int32_t>(m.topology.cpus.size());
    key.cpus = place(m.topology, key.members, Placement::kCpu);
    take_hosts(key, m.topology);
    return shape_text(
        cluster_by_topology(m.topology, key.cpus, cost_model(m.profile, m.topology, key), true));
  };
  EXPECT_EQ(shape(machine("\"torus\": [2, 3, 4]", 24, 2)), "4 x (3 x (2 x 2))");
  EXPECT_EQ(shape(machine(R"("dragonfly": {"groups": 3, "routers": 2, "hosts": 2})", 12)), "3 x (2 x 2)");
  EXPECT_EQ(shape(machine(R"("fat_tree": {"down": [4, 3]})", 12)), "3 x 4");
}

}  // namespace
}  // namespace fermata
