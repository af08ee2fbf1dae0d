// FERMATA_REPRODUCIBLE=1: neither the fastest nor a saved plan changes the bits of a sum.
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>
#include <vector>

#include "../../operation.hpp"
#include "../../own_folder.hpp"
#include "../../property/hosts.hpp"
#include "../../with_members.hpp"
#include "plan/plan.hpp"
#include "team/handles.hpp"
#include "team/machine.hpp"

namespace fermata::test::reproducible {
namespace {

constexpr int kMembers = 6;
constexpr double kValues[kMembers] = {1e16, 3.3, -1e16, 0.7, 5.1, 1e15};

double left_to_right(double scale = 1) {
  return std::accumulate(kValues + 1, kValues + kMembers, kValues[0] * scale,
                         [=](double a, double b) { return a + b * scale; });
}
double by_pairs() {
  return ((kValues[0] + kValues[1]) + (kValues[2] + kValues[3])) + (kValues[4] + kValues[5]);
}

class Reproducible : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(left_to_right(), by_pairs()); }
  void TearDown() override { unsetenv("FERMATA_REPRODUCIBLE"); }

  // Saves a plan that folds in another order, as `fermata plan` would after measuring it as the fastest.
  static void save(Collective collective, Engine engine) {
    const auto machine = team::this_machine();
    ASSERT_TRUE(machine);
    PlanOptions options;
    options.key.fingerprint = fingerprint(**machine);
    options.key.collective = collective;
    options.key.members = kMembers;
    options.key.payload = 8;
    options.key.engine = engine;
    options.algorithm = "linear";
    const auto plan = make_plan(**machine, team::this_profile(engine), options, nullptr);
    ASSERT_TRUE(plan);
    ASSERT_TRUE(save_plan(*plan));
  }

  OwnCache cache_;
};

TEST_F(Reproducible, SavedPlansDoNotChangeSums) {
  for (const Collective collective : {Collective::kAllreduce, Collective::kReduce})
    save(collective, Engine::kThreads);
  for (const bool wanted : {false, true}) {
    if (wanted) setenv("FERMATA_REPRODUCIBLE", "1", 1);
    const double expected = wanted ? by_pairs() : left_to_right();
    with_members(kMembers, [&](fermata_member* m, int rank) {
      double sum = 0;
      EXPECT_EQ(fermata_allreduce(m, &kValues[rank], &sum, 1, FERMATA_DOUBLE, FERMATA_SUM), FERMATA_OK);
      EXPECT_EQ(sum, expected);
      EXPECT_EQ(fermata_reduce(m, &kValues[rank], &sum, 1, FERMATA_DOUBLE, FERMATA_SUM, 0), FERMATA_OK);
      EXPECT_TRUE(rank != 0 || sum == expected) << sum;
    });
  }
}

// A sub-team inherits this from its parent, even if the environment has changed.
TEST_F(Reproducible, SubTeamsInheritIt) {
  save(Collective::kAllreduce, Engine::kThreads);
  setenv("FERMATA_REPRODUCIBLE", "1", 1);
  with_members(kMembers + 1, [&](fermata_member* m, int rank) {
    if (rank == 0) unsetenv("FERMATA_REPRODUCIBLE");
    fermata_member* half = nullptr;
    ASSERT_EQ(fermata_team_split(m, rank < kMembers ? 0 : 1, rank, &half), FERMATA_OK)
        << fermata_error_detail();
    double sum = 0;
    if (rank < kMembers) {
      EXPECT_EQ(fermata_allreduce(half, &kValues[rank], &sum, 1, FERMATA_DOUBLE, FERMATA_SUM), FERMATA_OK);
      EXPECT_EQ(sum, by_pairs());
    }
    fermata_member_leave(half);
  });
}

// Blocks are folded left to right, at every size, blocking, begun and prepared.
TEST_F(Reproducible, BlocksAreFoldedLeftToRight) {
  setenv("FERMATA_REPRODUCIBLE", "1", 1);
  with_members(kMembers, [&](fermata_member* m, int rank) {
    for (const std::size_t count : {8u, 100u, 20000u}) {
      std::vector<double> in(count), out(count);
      for (std::size_t i = 0; i < count; ++i) in[i] = kValues[rank] * static_cast<double>(1 + i % 7);
      const auto check = [&] {
        for (std::size_t i = 0; i < count; ++i)
          ASSERT_EQ(out[i], left_to_right(static_cast<double>(1 + i % 7))) << count << " " << i;
        std::fill(out.begin(), out.end(), 0.0);
      };
      EXPECT_EQ(fermata_allreduce(m, in.data(), out.data(), count, FERMATA_DOUBLE, FERMATA_SUM), FERMATA_OK);
      check();
      const fermata_operation o = operation(FERMATA_ALLREDUCE, in.data(), out.data(), count, FERMATA_DOUBLE);
      for (const auto make : {fermata_begin, fermata_prepare}) {
        fermata_request* request = nullptr;
        ASSERT_EQ(make(m, &o, &request), FERMATA_OK) << fermata_error_detail();
        if (make == fermata_prepare) {
          ASSERT_EQ(fermata_request_start(request), FERMATA_OK);
        }
        EXPECT_EQ(fermata_request_wait(request), FERMATA_OK);
        fermata_request_free(request);
        check();
      }
    }
  });
}

// Over several hosts one host plans for all, and its environment counts for all.
TEST_F(Reproducible, HostsDoAsTheOneThatPlans) {
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  config.members = kMembers;
  const std::vector<int> hosts = hosts_of_ranks(kMembers, 2, false);
  std::vector<char> plans(1 << 20);
  std::size_t length = plans.size();
  setenv("FERMATA_REPRODUCIBLE", "1", 1);
  ASSERT_EQ(fermata_hosts_plan(&config, hosts.data(), nullptr, nullptr, plans.data(), &length), FERMATA_OK)
      << fermata_error_detail();
  ASSERT_LE(length, plans.size());
  unsetenv("FERMATA_REPRODUCIBLE");
  fermata_team* team = nullptr;
  ASSERT_EQ(fermata_team_create_planned(&config, hosts.data(), 0, plans.data(), length, &team), FERMATA_OK)
      << fermata_error_detail();
  EXPECT_EQ(team->team->layout().reproducible, 1u);
  fermata_team_destroy(team);
}

TEST_F(Reproducible, OverHosts) {
  setenv("FERMATA_REPRODUCIBLE", "1", 1);
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  config.members = kMembers;
  for (const bool scattered : {false, true}) {
    PretendedHosts hosts;
    ASSERT_EQ(hosts.make(config, hosts_of_ranks(kMembers, 2, scattered), 2, kGoodLinks), "");
    std::vector<std::thread> workers;
    for (int rank = 0; rank < kMembers; ++rank)
      workers.emplace_back([&, rank] {
        fermata_member* m = nullptr;
        ASSERT_EQ(fermata_team_join(hosts.team_of(rank), rank, &m), FERMATA_OK);
        std::vector<double> in(50, kValues[rank]), out(50);
        EXPECT_EQ(fermata_allreduce(m, in.data(), out.data(), 1, FERMATA_DOUBLE, FERMATA_SUM), FERMATA_OK);
        EXPECT_EQ(out[0], by_pairs());
        EXPECT_EQ(fermata_allreduce(m, in.data(), out.data(), 50, FERMATA_DOUBLE, FERMATA_SUM), FERMATA_OK);
        EXPECT_EQ(out[49], left_to_right());
        fermata_member_leave(m);
      });
    for (std::thread& t : workers) t.join();
  }
}

}  // namespace
}  // namespace fermata::test::reproducible
