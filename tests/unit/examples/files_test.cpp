// The C++ header's classes over files, and a team that another handle attaches to.
#include <unistd.h>

#include "workers.hpp"

namespace {

using namespace std::chrono_literals;

const std::string kRoot = FERMATA_SOURCE_DIR;

void expect_status(int status, const std::function<void()>& call) {
  try {
    call();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const fermata::Error& e) {
    EXPECT_EQ(e.status(), status) << e.what();
  }
}

TEST(Files, TopologiesProfilesAndPlansThatFit) {
#ifndef FERMATA_TEST_WITHOUT_HWLOC
  EXPECT_EQ(fermata::Topology::load(kRoot + "/tests/golden/topo/cascadelake-2vcpu.xml").cpus(), 2);
#endif
  const auto topology = fermata::Topology::load(kRoot + "/tests/golden/topo/milan-2x64.txt");
  EXPECT_EQ(topology.cpus(), 128);
  const auto profile = fermata::Profile::load(kRoot + "/machines/milan-2x64.json");
  std::vector<int> cpus(128);
  for (int i = 0; i < 128; ++i) cpus[static_cast<std::size_t>(i)] = i;
  fermata_plan_request request = FERMATA_PLAN_REQUEST_INIT;
  request.members = 128;
  request.cpus = cpus.data();
  request.algorithm = "linear";
  request.topology = topology.get();
  request.profile = profile.get();
  const std::string text = fermata::Plan::make(request).text();
  EXPECT_NE(text.find("barrier of 128 threads, on CPUs 0-127"), std::string::npos) << text;
  // the profile's one-way time is 30 ns
  EXPECT_NE(text.find("bound      60 ns (2 stages"), std::string::npos) << text;
}

TEST(Files, MissingAndMalformedOnesThrow) {
  expect_status(FERMATA_ERR_NOT_FOUND, [] { (void)fermata::Topology::load("/nowhere"); });
  expect_status(FERMATA_ERR_NOT_FOUND, [] { (void)fermata::Profile::load("/nowhere"); });
  expect_status(FERMATA_ERR_NOT_FOUND, [] { (void)fermata::Plan::load("/nowhere"); });
  const std::string of_another_kind = kRoot + "/machines/README.md";
  expect_status(FERMATA_ERR_PARSE, [&] { (void)fermata::Topology::load(of_another_kind); });
  expect_status(FERMATA_ERR_PARSE, [&] { (void)fermata::Profile::load(of_another_kind); });
  expect_status(FERMATA_ERR_PARSE, [&] { (void)fermata::Plan::load(of_another_kind); });
}

TEST(Files, ATeamRunsALoadedPlan) {
  const auto plan = fermata::Plan::load(kRoot + "/tests/fuzz/corpus/plan/good-tree");
  EXPECT_NE(plan.text().find("combining_tree(2)"), std::string::npos) << plan.text();
  fermata::TeamOptions options;
  options.plans = {plan.get()};
  expect_status(FERMATA_ERR_ARGUMENT, [&] { fermata::Team team(3, options); });  // the plan is for four
  fermata::Team team(4, options);
  std::vector<int> turn(4);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < 4; ++rank)
    threads.emplace_back([&, rank] {
      try {
        fermata::Member member = team.join(rank);
        member.set_timeout(20s * FERMATA_TEST_SCALE);
        for (int i = 1; i <= 50; ++i) {
          turn[static_cast<std::size_t>(rank)] = i;
          member.barrier();
          for (const int seen : turn) EXPECT_EQ(seen, i);
          member.barrier();
        }
      } catch (const fermata::Error& e) {
        ADD_FAILURE() << "rank " << rank << ": " << e.what();
      }
    });
}

TEST(Attach, AnotherHandleOfTheSameTeam) {
  const std::string name = "header." + std::to_string(getpid());
  fermata::TeamOptions options;
  options.engine = fermata::Engine::kProcesses;
  fermata::Team team(2, options);
  std::jthread client([&] {
    try {
      fermata::Team again = fermata::Team::attach(name, 20);
      EXPECT_EQ(again.size(), 2);
      fermata::Member member = again.join(1);
      member.set_timeout(20s * FERMATA_TEST_SCALE);
      EXPECT_EQ(member.allreduce(2, fermata::Op::kSum), 3);
    } catch (const fermata::Error& e) {
      ADD_FAILURE() << e.what();
    }
  });
  team.serve(name, 1, 20);
  fermata::Member member = team.join(0);
  member.set_timeout(20s * FERMATA_TEST_SCALE);
  EXPECT_EQ(member.allreduce(1, fermata::Op::kSum), 3);
  client.join();
  expect_status(FERMATA_ERR_TIMEOUT, [&] { (void)fermata::Team::attach(name, 0.01); });
  expect_status(FERMATA_ERR_TIMEOUT, [&] { team.serve(name, 1, 0.01); });
}

}  // namespace
