// Plans for teams over several hosts: compositions for them, signals that know whether they leave a host, and
// a program set for each root.
#include "plan/hosts.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "algo/algorithm.hpp"
#include "exec/program.hpp"
#include "plan/block_plan.hpp"
#include "plan/choices.hpp"
#include "plan/choose_blocks.hpp"
#include "plan/emit/emit.hpp"
#include "plan/plan.hpp"

namespace fermata {
namespace {

using Hosts = std::vector<std::int32_t>;

const Hosts kBlocks = {0, 0, 1, 1, 2, 2, 3, 3}, kInTurn = {0, 1, 2, 3, 0, 1, 2, 3},
            kUneven = {0, 0, 0, 1, 2, 2};

PlanOptions options_for(Collective collective, std::int32_t payload, const Hosts& hosts) {
  PlanOptions options;
  options.key.collective = collective;
  options.key.payload = payload;
  options.key.members = static_cast<std::int32_t>(hosts.size());
  options.key.hosts = hosts;
  options.key.cpus.resize(hosts.size());
  std::iota(options.key.cpus.begin(), options.key.cpus.end(), 0);
  return options;
}

Result<Plan> plan_for(Collective collective, std::int32_t payload, const Hosts& hosts) {
  const Topology topology = topology_of_hosts(hosts);
  return make_plan(topology, profile_of_hosts(topology), options_for(collective, payload, hosts), nullptr);
}

// Returns the number of stages with a message between hosts.
int rounds_between_hosts(const Plan& plan) {
  int rounds = 0;
  for (const Stage& stage : plan.schedule.stages) {
    bool any = false;
    for (const Transfer& x : stage.transfers)
      any = any || plan.key.hosts[static_cast<std::size_t>(x.from)] !=
                       plan.key.hosts[static_cast<std::size_t>(x.to)];
    rounds += any;
  }
  return rounds;
}

TEST(PlanOverHosts, HasTheFewestRoundsBetweenHosts) {
  for (const Hosts& hosts : {kBlocks, kInTurn, kUneven})
    for (const Collective collective : {Collective::kBarrier, Collective::kAllreduce}) {
      const auto plan = plan_for(collective, collective == Collective::kBarrier ? 0 : 8, hosts);
      ASSERT_TRUE(plan) << plan.error().message;
      EXPECT_EQ(rounds_between_hosts(*plan), 1) << plan->schedule.algorithm;
      EXPECT_LT(plan->predicted_latency_ns, 40000) << plan->schedule.algorithm;
    }
}

// Checks each step of each rank, for each root.
void expect_routed(const Plan& plan, const std::vector<std::byte>& blob) {
  const auto& header = *reinterpret_cast<const ProgramHeader*>(blob.data());
  ASSERT_TRUE(program_is_sound(blob.data(), blob.size()));
  EXPECT_TRUE(leaves_host(blob.data(), header));
  EXPECT_EQ(header.roots, has_root(plan.key.collective) ? header.members : 1);
  const auto* programs = reinterpret_cast<const MemberProgram*>(blob.data() + header.programs_offset);
  const auto* steps = reinterpret_cast<const Step*>(blob.data() + header.steps_offset);
  for (std::uint32_t i = 0; i < header.roots * header.members; ++i)
    for (std::uint32_t k = 0; k < programs[i].count; ++k) {
      const Step& s = steps[programs[i].first + k];
      const std::int32_t mine = plan.key.hosts[i % header.members];
      const auto theirs = [&] { return plan.key.hosts[s.peer]; };
      if (s.code == Code::kSend || s.code == Code::kCreditGive) {
        EXPECT_EQ(mine, theirs()) << plan.schedule.algorithm;
      }
      if (s.code == Code::kSendAway || s.code == Code::kCreditGiveAway) {
        EXPECT_NE(mine, theirs()) << plan.schedule.algorithm;
      }
    }
}

TEST(PlanOverHosts, EachSignalGoesItsWay) {
  for (const Hosts& hosts : {kBlocks, kInTurn, kUneven})
    for (const Collective collective :
         {Collective::kBarrier, Collective::kAllreduce, Collective::kReduce, Collective::kBroadcast}) {
      const auto plan = plan_for(collective, collective == Collective::kBarrier ? 0 : 56, hosts);
      ASSERT_TRUE(plan) << plan.error().message;
      const auto blob = compile_lines(*plan);
      ASSERT_TRUE(blob) << blob.error().message;
      expect_routed(*plan, *blob);
    }
}

std::size_t messages_of(const Schedule& s, const Hosts& hosts) {
  std::size_t messages = 0;
  for (const Stage& stage : s.stages)
    for (const Transfer& x : stage.transfers)
      messages += hosts[static_cast<std::size_t>(x.from)] != hosts[static_cast<std::size_t>(x.to)];
  return messages;
}

// On a line and on blocks, whichever member is root: one message to each other host, in one round, and memory
// within the hosts.
TEST(PlanOverHosts, AShortBroadcastGoesOnceToEachHost) {
  for (const Hosts& hosts : {kBlocks, kInTurn, kUneven}) {
    const auto others = static_cast<std::size_t>(hosts.back());
    const auto plan = plan_for(Collective::kBroadcast, 8, hosts);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(messages_of(plan->schedule, hosts), others) << plan->schedule.algorithm;
    EXPECT_EQ(rounds_between_hosts(*plan), 1) << plan->schedule.algorithm;
    const Topology topology = topology_of_hosts(hosts);
    const CostModel model =
        block_costs(profile_of_hosts(topology), topology, options_for(Collective::kBroadcast, 0, hosts).key);
    for (std::int32_t root = 0; root < std::ssize(hosts); ++root)
      for (const std::size_t bytes : {64, 1024, 16384}) {
        const BlockCase wanted{.collective = Collective::kBroadcast,
                               .members = model.members,
                               .root = root,
                               .bytes = bytes,
                               .irregular = false,
                               .op = {}};
        const Schedule s = choose_blocks(wanted, &model);
        EXPECT_EQ(messages_of(s, hosts), others * static_cast<std::size_t>(s.chunks))
            << s.algorithm << ", root " << root;
      }
  }
}

// If each member has a host of its own, all pairs are equally far apart, and the cost of a message is still
// known.
TEST(PlanOverHosts, OneMemberOnEachHost) {
  const Hosts hosts = {0, 1, 2, 3};
  const Topology topology = topology_of_hosts(hosts);
  const CostModel model =
      block_costs(profile_of_hosts(topology), topology, options_for(Collective::kBroadcast, 0, hosts).key);
  const BlockCase wanted{.collective = Collective::kBroadcast,
                         .members = 4,
                         .root = 1,
                         .bytes = 4096,
                         .irregular = false,
                         .op = {}};
  EXPECT_EQ(choose_blocks(wanted, &model).stages.size(), 1u);
}

// With the same number of members on each host, every root costs the same number of messages.
TEST(PlanOverHosts, EveryRootHasAsManyMessages) {
  for (const Collective collective : {Collective::kReduce, Collective::kBroadcast}) {
    const auto plan = plan_for(collective, 8, kBlocks);
    ASSERT_TRUE(plan) << plan.error().message;
    const auto blob = compile_lines(*plan);
    ASSERT_TRUE(blob) << blob.error().message;
    const auto& header = *reinterpret_cast<const ProgramHeader*>(blob->data());
    const auto* programs = reinterpret_cast<const MemberProgram*>(blob->data() + header.programs_offset);
    const auto* steps = reinterpret_cast<const Step*>(blob->data() + header.steps_offset);
    std::vector<int> messages(header.roots, 0);
    for (std::uint32_t i = 0; i < header.roots * header.members; ++i)
      for (std::uint32_t k = 0; k < programs[i].count; ++k)
        messages[i / header.members] += steps[programs[i].first + k].code == Code::kSendAway;
    for (const int m : messages) EXPECT_EQ(m, messages[0]) << plan->schedule.algorithm;
  }
}

TEST(PlanOverHosts, AFileKeepsTheHosts) {
  const auto plan = plan_for(Collective::kBarrier, 0, kUneven);
  ASSERT_TRUE(plan) << plan.error().message;
  const std::string text = to_json(*plan);
  const auto read = plan_from_json(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->key, plan->key);
  std::string fewer = text;
  const std::string list = "\"hosts\": [0, 0, 0, 1, 2, 2]";
  ASSERT_NE(fewer.find(list), std::string::npos);
  fewer.replace(fewer.find(list), list.size(), "\"hosts\": [0, 0, 0, 1, 2]");
  EXPECT_FALSE(plan_from_json(fewer));
  PlanKey other = plan->key;
  other.hosts = {0, 0, 0, 1, 1, 1};
  EXPECT_NE(plan_path(other), plan_path(plan->key));
}

TEST(PlanOverHosts, WhatCannotBeIsRefused) {
  auto plan = plan_for(Collective::kBarrier, 0, kBlocks);
  ASSERT_TRUE(plan) << plan.error().message;
  const auto allreduce = plan_for(Collective::kAllreduce, 8, kBlocks);
  ASSERT_TRUE(allreduce) << allreduce.error().message;
  EXPECT_EQ(emit_code(*plan, *allreduce, "name").error().status, Status::kUnsupported);
  Plan counter = *plan;
  counter.schedule =
      parse_algorithm("counter")->algorithm->build({.collective = Collective::kBarrier, .members = 8});
  EXPECT_EQ(compile_lines(counter).error().status, Status::kUnsupported) << "a word joins no hosts";
  plan->key.hosts.pop_back();
  EXPECT_EQ(compile_lines(*plan).error().status, Status::kArgument);
  PlanOptions options = options_for(Collective::kBarrier, 0, kBlocks);
  options.key.hosts.pop_back();
  const Topology topology = topology_of_hosts(kBlocks);
  EXPECT_EQ(make_plan(topology, profile_of_hosts(topology), options, nullptr).error().status,
            Status::kArgument);
}

// Two flags in one line cost little where the line is shared. A message has no line.
TEST(PlanOverHosts, ALayoutCheapensNoMessage) {
  const Hosts apart = {0, 1}, together = {0, 0};
  const Topology topology = topology_of_hosts(together);
  const Schedule s =
      parse_algorithm("butterfly")->algorithm->build({.collective = Collective::kBarrier, .members = 2});
  CostModel model =
      cost_model(profile_of_hosts(topology), topology, options_for(Collective::kBarrier, 0, together).key);
  const LayoutChoice packed{.layout = Layout::kPacked};
  EXPECT_LT(cost(s, model, packed).critical_path_ns, cost(s, model, LayoutChoice{}).critical_path_ns);
  model.hosts = apart;
  EXPECT_EQ(cost(s, model, packed).critical_path_ns, cost(s, model, LayoutChoice{}).critical_path_ns);
}

// The cost of a further awaited slot of memory does not apply to messages.
TEST(PlanOverHosts, AFurtherMessageCostsItsL) {
  const Topology topology = topology_of_hosts({0, 1, 2, 3});
  CostModel model = cost_model(profile_of_hosts(topology), topology,
                               options_for(Collective::kBarrier, 0, {0, 1, 2, 3}).key);
  for (std::size_t i = 0; i < model.l.size(); ++i) model.l[i] = i % 2 == 0 ? 100 : 1000;
  const Schedule s =
      parse_algorithm("linear")->algorithm->build({.collective = Collective::kBarrier, .members = 4});
  model.awaited = 0;
  const double alone = cost(s, model, LayoutChoice{}).critical_path_ns;
  model.awaited = 500;
  EXPECT_EQ(cost(s, model, LayoutChoice{}).critical_path_ns, alone);
  model.hosts.clear();
  EXPECT_GT(cost(s, model, LayoutChoice{}).critical_path_ns, alone);
}

}  // namespace
}  // namespace fermata
