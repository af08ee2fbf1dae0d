// The proof of heterogeneous-mpi-barriers section VI, over hosts: each rank in turn is late by a fixed time,
// and every other rank leaves only after it. The test runs a composed plan, a plan that avoids a slow link,
// and the paper's three algorithms.
#include <gtest/gtest.h>

#include <barrier>
#include <chrono>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "../../loop.hpp"
#include "api/values.hpp"
#include "fermata/hosts.h"
#include "plan/hosts.hpp"
#include "plan/plan.hpp"
#include "team/handles.hpp"

namespace fermata::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kLate = std::chrono::milliseconds(20);
const std::vector<std::int32_t> kHostOf = {0, 1, 2, 3, 0, 1, 2, 3};
constexpr int kMembers = 8, kHosts = 4;

struct Case {
  const char* name;
  const char* algorithm;  // "": the best composed one
  Collective collective;
  bool slow_link;
};

Plan plan_of(const Case& c) {
  const Topology topology = topology_of_hosts(kHostOf);
  Profile profile = profile_of_hosts(topology);
  for (std::int32_t i = 0; i < kMembers; ++i)
    for (std::int32_t j = 0; j < kMembers; ++j) {
      const std::int32_t a = topology.cpus[static_cast<std::size_t>(i)].host,
                         b = topology.cpus[static_cast<std::size_t>(j)].host;
      if (c.slow_link && std::min(a, b) == 0 && std::max(a, b) == 1) profile.o.at(i, j) *= 100;
    }
  PlanOptions options;
  options.algorithm = c.algorithm;
  options.key.collective = c.collective;
  options.key.payload = c.collective == Collective::kBarrier ? 0 : 8;
  options.key.members = kMembers;
  options.key.hosts = kHostOf;
  options.key.cpus.resize(kMembers);
  std::iota(options.key.cpus.begin(), options.key.cpus.end(), 0);
  auto plan = make_plan(topology, profile, options, nullptr);
  EXPECT_TRUE(plan) << plan.error().message;
  return *plan;
}

class HostsLate : public testing::TestWithParam<Case> {};

TEST_P(HostsLate, RankInTurnIsSeenByAll) {
  const Case& c = GetParam();
  const fermata_plan plan{plan_of(c)};
  const fermata_plan* const plans[] = {&plan};
  net::Loop loop(std::vector<std::uint32_t>(kHostOf.begin(), kHostOf.end()), {.delay_ns = 100'000});
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  config.members = kMembers;
  config.plans = plans;
  config.plan_count = 1;
  fermata_team* teams[kHosts] = {};
  for (int host = 0; host < kHosts; ++host) {
    ASSERT_EQ(fermata_team_create_hosts(&config, kHostOf.data(), host, &teams[host]), FERMATA_OK)
        << fermata_error_detail();
    const auto* port = reinterpret_cast<const fermata_port*>(loop.port(static_cast<std::uint32_t>(host)));
    ASSERT_EQ(fermata_team_connect(teams[host], port), FERMATA_OK) << fermata_error_detail();
  }
  std::barrier<> together(kMembers);
  std::vector<Clock::time_point> entered(kMembers), left(kMembers);
  const auto body = [&](int rank) {
    fermata_member* member = nullptr;
    ASSERT_EQ(fermata_team_join(teams[kHostOf[static_cast<std::size_t>(rank)]], rank, &member), FERMATA_OK)
        << fermata_error_detail();
    fermata_member_set_timeout(member, 20);
    for (int late = 0; late < kMembers; ++late) {
      together.arrive_and_wait();
      if (rank == late) std::this_thread::sleep_for(kLate);
      const auto me = static_cast<std::size_t>(rank);
      entered[me] = Clock::now();
      double one = 1, all = 0;
      const int status = c.collective == Collective::kBarrier
                             ? fermata_barrier(member)
                             : fermata_allreduce(member, &one, &all, 1, FERMATA_DOUBLE, FERMATA_SUM);
      left[me] = Clock::now();
      EXPECT_EQ(status, FERMATA_OK) << fermata_error_detail();
      together.arrive_and_wait();
      const auto whom = static_cast<std::size_t>(late);
      EXPECT_GE((left[me] - entered[whom]).count(), 0)
          << "rank " << rank << " left before rank " << late << " came";
    }
    fermata_member_leave(member);
  };
  std::vector<std::thread> forked;
  for (int r = 0; r < kMembers; ++r) forked.emplace_back(body, r);
  for (std::thread& t : forked) t.join();
  std::vector<std::thread> ends;
  for (fermata_team* team : teams) ends.emplace_back([team] { fermata_team_destroy(team); });
  for (std::thread& t : ends) t.join();
}

INSTANTIATE_TEST_SUITE_P(OverHosts, HostsLate,
                         testing::Values(Case{"Composed", "", Collective::kBarrier, false},
                                         Case{"RoundASlowLink", "", Collective::kBarrier, true},
                                         Case{"Linear", "linear", Collective::kBarrier, false},
                                         Case{"Binomial", "binomial", Collective::kBarrier, false},
                                         Case{"Dissemination", "dissemination", Collective::kBarrier, false},
                                         Case{"Allreduce", "", Collective::kAllreduce, false}),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace fermata::test
