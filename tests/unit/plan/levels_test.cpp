// What a plan can be asked for by name: an algorithm for each level of clusters, a schedule of the user's, a
// limit on the fan-in; and the hosts of a recorded machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "algo/algorithm.hpp"
#include "plan/choices.hpp"
#include "plan/cluster.hpp"
#include "plan/plan.hpp"
#include "profile/store.hpp"
#include "schedule/verify.hpp"

namespace fermata {
namespace {

Profile recorded(const std::string& name) {
  auto profile = load_profile_file(std::string(FERMATA_SOURCE_DIR) + "/machines/" + name + ".json");
  EXPECT_TRUE(profile.ok()) << profile.error().message;
  return *profile;
}

PlanOptions options_on(const Profile& p, std::int32_t members, const std::string& algorithm = "") {
  PlanOptions options;
  options.key.members = members;
  options.key.cpus = place(p.topology, members, Placement::kCore);
  take_hosts(options.key, p.topology);
  options.algorithm = algorithm;
  return options;
}

Result<Plan> plan_on(const Profile& p, const PlanOptions& options) {
  return make_plan(p.topology, p, options, nullptr);
}

// ---- Hosts of recorded machines

TEST(HostsOfAMachine, ReachThePlan) {
  for (const char* name : {"p7ih-supernode", "mesh-64x16", "cluster-8x2x4"}) {
    const Profile p = recorded(name);
    const auto members = static_cast<std::int32_t>(p.topology.cpus.size());
    const auto plan = plan_on(p, options_on(p, members));
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    ASSERT_EQ(plan->key.hosts.size(), static_cast<std::size_t>(members)) << name;
    for (std::int32_t r = 0; r < members; ++r)
      EXPECT_EQ(plan->key.hosts[static_cast<std::size_t>(r)],
                p.topology.find(plan->key.cpus[static_cast<std::size_t>(r)])->host)
          << name << " " << r;
    EXPECT_EQ(plan->key.engine, Engine::kProcesses);
    // Not a flat schedule: the members of a host meet through memory, and only leaders send messages.
    std::set<std::int32_t> senders, hosts(plan->key.hosts.begin(), plan->key.hosts.end());
    for (const Stage& stage : plan->schedule.stages)
      for (const Transfer& t : stage.transfers)
        if (plan->key.hosts[static_cast<std::size_t>(t.from)] !=
            plan->key.hosts[static_cast<std::size_t>(t.to)])
          senders.insert(t.from);
    EXPECT_EQ(senders.size(), hosts.size()) << name << ": " << plan->schedule.algorithm;
  }
}

TEST(HostsOfAMachine, AreNumberedByTheRanks) {
  const Profile p = recorded("cluster-8x2x4");
  PlanKey key;
  key.members = 4;
  key.cpus = {24, 0, 25, 8};
  take_hosts(key, p.topology);
  EXPECT_EQ(key.hosts, (std::vector<std::int32_t>{0, 1, 0, 2}));
  key.hosts = {7, 7, 7, 7};
  take_hosts(key, p.topology);
  EXPECT_EQ(key.hosts, (std::vector<std::int32_t>{7, 7, 7, 7}));
}

TEST(HostsOfAMachine, OneHostIsOneMemory) {
  const Profile p = recorded("cluster-8x2x4");
  for (const std::vector<std::int32_t>& cpus :
       {std::vector<std::int32_t>{8, 9, 10, 11}, {}, {0, 8, 16, 999}}) {
    PlanKey key;
    key.members = 4;
    key.cpus = cpus;
    take_hosts(key, p.topology);
    EXPECT_TRUE(key.hosts.empty());
    EXPECT_EQ(key.engine, Engine::kThreads);
  }
}

// ---- Compositions by name

// Each composition of several levels that a search prints can be asked for.
TEST(Levels, WhatAPlanPrintsCanBeNamed) {
  for (const auto& [name, members] :
       {std::pair("mesh-64x16", 64), {"p7ih-drawer", 64}, {"power8-4x6x8", 24}}) {
    const Profile p = recorded(name);
    const auto found = plan_on(p, options_on(p, members));
    ASSERT_TRUE(found.ok());
    int composed = 0;
    for (const Candidate& c : found->candidates) {
      if (c.algorithm.find('/') == std::string::npos || c.algorithm.find('|') != std::string::npos) continue;
      const auto named = plan_on(p, options_on(p, members, c.algorithm));
      ASSERT_TRUE(named.ok()) << name << " " << c.algorithm << ": " << named.error().message;
      EXPECT_EQ(named->schedule.algorithm, c.algorithm) << name;
      EXPECT_TRUE(prove(*named).empty());
      ++composed;
    }
    EXPECT_GT(composed, 3) << name;
  }
}

// Section V.B of remote-store-barriers: local masters under one master (flat), and eight notifications a
// node.
TEST(Levels, OfRemoteStoreBarriers) {
  const Profile p = recorded("mesh-64x16");
  for (const auto& [name, most] : {std::pair("linear/linear/linear", 63), {"kary(8)/linear/linear", 8}}) {
    const auto plan = plan_on(p, options_on(p, 1024, name));
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_EQ(plan->schedule.algorithm, name);
    EXPECT_EQ(shape_text(plan->levels), "64 x (4 x 4)");
    std::int32_t to_hosts = 0;  // the most signals from other hosts to one member in a stage
    for (const Stage& stage : plan->schedule.stages) {
      std::map<std::int32_t, std::int32_t> come;
      for (const Transfer& t : stage.transfers)
        if (plan->key.hosts[static_cast<std::size_t>(t.from)] !=
            plan->key.hosts[static_cast<std::size_t>(t.to)])
          to_hosts = std::max(to_hosts, ++come[t.to]);
    }
    EXPECT_EQ(to_hosts, most);
  }
}

TEST(Levels, ArrivalAndReleaseByDifferentAlgorithms) {
  const Profile p = recorded("power8-4x6x8");
  const auto flat = plan_on(p, options_on(p, 24, "linear-kary(4)"));
  ASSERT_TRUE(flat.ok()) << flat.error().message;
  EXPECT_EQ(flat->schedule.algorithm, "linear-kary(4)");
  EXPECT_EQ(flat->schedule.stages.front().transfers.size(), 23u);
  const auto levels = plan_on(p, options_on(p, 24, "dissemination/kary(2)-linear"));
  ASSERT_TRUE(levels.ok()) << levels.error().message;
  EXPECT_EQ(levels->schedule.algorithm, "dissemination/kary(2)-linear");
}

TEST(Levels, OfABroadcastAndAReduce) {
  const Profile p = recorded("cluster-8x2x4");
  for (const Collective collective : {Collective::kBroadcast, Collective::kReduce, Collective::kAllreduce}) {
    PlanOptions options = options_on(p, 64, "kary(3)/linear/linear");
    options.key.collective = collective;
    options.key.payload = 8;
    const auto plan = plan_on(p, options);
    ASSERT_TRUE(plan.ok()) << name_of(collective) << ": " << plan.error().message;
    EXPECT_EQ(plan->schedule.algorithm, "kary(3)/linear/linear");
  }
}

void expect_refused(const Profile& p, std::int32_t members, const std::string& name, Status status,
                    const std::string& why) {
  const auto plan = plan_on(p, options_on(p, members, name));
  ASSERT_FALSE(plan.ok()) << name;
  EXPECT_EQ(plan.error().status, status) << name;
  EXPECT_NE(plan.error().message.find(why), std::string::npos) << name << ": " << plan.error().message;
}

TEST(Levels, WhatCannotBeBuiltIsRefusedWithTheReason) {
  const Profile mesh = recorded("mesh-64x16"), power8 = recorded("power8-4x6x8");
  expect_refused(mesh, 1024, "linear/linear/linear/linear/linear", Status::kUnsupported, "64 x (4 x 4)");
  expect_refused(mesh, 1024, "counter/linear/linear", Status::kUnsupported, "a word cannot span hosts");
  expect_refused(power8, 24, "linear/nobody", Status::kNotFound, "nobody");
  expect_refused(power8, 24, "linear/kary(0)", Status::kParse, "kary(0)");
  expect_refused(power8, 24, "linear/kary(2)|linear", Status::kParse, "one algorithm for each level");
  expect_refused(power8, 24, "linear-linear-linear", Status::kParse, "one algorithm for each level");
  expect_refused(power8, 24, "/", Status::kNotFound, "no algorithm ''");
  expect_refused(power8, 24, "linear/butterfly", Status::kUnsupported, "by butterfly among 6");
  PlanOptions options = options_on(power8, 24, "counter/linear");
  options.key.collective = Collective::kAllreduce;
  options.key.payload = 8;
  const auto plan = plan_on(power8, options);
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(plan.error().message.find("an arrival by counter among 4: there is none"), std::string::npos)
      << plan.error().message;
}

// ---- A schedule of the user's

TEST(GivenSchedule, IsProvedAndPlanned) {
  const Profile p = recorded("power8-4x6x8");
  PlanOptions options = options_on(p, 6);
  options.schedule = find_algorithm("linear")->build({.collective = Collective::kBarrier, .members = 6});
  options.schedule->algorithm = "mine";
  const auto plan = plan_on(p, options);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->schedule, *options.schedule);
  EXPECT_TRUE(compile_lines(*plan).ok());

  PlanOptions broken = options;
  broken.schedule->stages.back().transfers.pop_back();
  const auto unproved = plan_on(p, broken);
  ASSERT_FALSE(unproved.ok());
  EXPECT_EQ(unproved.error().status, Status::kVerify) << unproved.error().message;

  for (auto& [change, why] : std::vector<std::pair<void (*)(PlanOptions&), std::string>>{
           {[](PlanOptions& o) { o.algorithm = "linear"; }, "not both"},
           {[](PlanOptions& o) { o.key.members = 7, o.key.cpus.clear(); }, "has 6 members, not 7"},
           {[](PlanOptions& o) { o.key.collective = Collective::kReduce; },
            "is of a barrier, not of a reduce"},
           {[](PlanOptions& o) { o.schedule->root = 1; }, "has root 1"}}) {
    PlanOptions wrong = options;
    change(wrong);
    const auto refused = plan_on(p, wrong);
    ASSERT_FALSE(refused.ok()) << why;
    EXPECT_EQ(refused.error().status, Status::kArgument);
    EXPECT_NE(refused.error().message.find(why), std::string::npos) << refused.error().message;
  }
}

// ---- A limit on the fan-in

TEST(FanIn, CountsSignalsToAMemberAWordAndAHost) {
  const auto built = [](const char* name, std::int32_t members, std::int32_t degree) {
    return find_algorithm(name)->build(
        {.collective = Collective::kBarrier, .members = members, .degree = degree});
  };
  const std::vector<std::int32_t> one(9, 0), pairs = {0, 0, 1, 1, 2, 2, 3, 3, 4};
  EXPECT_EQ(fan_in(built("linear", 9, 2), one), 8);
  EXPECT_EQ(fan_in(built("kary", 9, 3), one), 3);
  EXPECT_EQ(fan_in(built("counter", 9, 2), one), 9);
  EXPECT_EQ(fan_in(built("dissemination", 9, 2), one), 1);
  EXPECT_EQ(fan_in(built("dissemination", 9, 2), pairs), 2);  // each member of a host gets one from elsewhere
}

TEST(FanIn, LimitsWhatIsChosen) {
  const Profile p = recorded("mesh-64x16");
  for (const std::int32_t most : {2, 8}) {
    PlanOptions options = options_on(p, 1024);
    options.fan_in = most;
    const auto plan = plan_on(p, options);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_LE(fan_in(plan->schedule, plan->key.hosts), most) << plan->schedule.algorithm;
  }
  PlanOptions linear = options_on(p, 32, "linear");
  linear.fan_in = 8;
  const auto refused = plan_on(p, linear);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("at most 8; the least is 31"), std::string::npos)
      << refused.error().message;
}

}  // namespace
}  // namespace fermata
