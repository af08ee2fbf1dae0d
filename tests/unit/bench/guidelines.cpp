// A mock-up does the same as the collective, and findings depend on the interval.
#include "bench/guidelines.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "bench/mockups.hpp"
#include "bench/report.hpp"

namespace fermata::bench {
namespace {

TEST(Mockups, EachGivesWhatItsCollectiveGives) {
  for (const Mockup& mockup : mockups()) {
    for (const int members : {2, 3}) {
      for (const Engine engine : {Engine::kThreads, Engine::kProcesses}) {
        SCOPED_TRACE(std::string(name_of(mockup.collective)) + " by " + mockup.name + ", " +
                     std::to_string(members) + " " + name_of(engine));
        Case what;
        what.collective = mockup.collective;
        what.engine = engine;
        what.members = members;
        what.bytes = mockup.collective == Collective::kBarrier ? 0 : members == 2 ? 48 : 24000;
        Launch launch;
        launch.make = [&mockup] { return make_mockup(mockup); };
        Remote remote;
        ASSERT_EQ(remote.start(launch, what), "");
        Order order;
        order.episodes = 8;
        EXPECT_EQ(remote.turn(order, 60).error, "");
      }
    }
  }
}

TEST(Mockups, WhatCannotBeDividedIsRefused) {
  for (const Mockup& mockup : mockups()) {
    if (!mockup.divides) continue;
    Case what;
    what.collective = mockup.collective;
    what.bytes = 24;
    Launch launch;
    launch.make = [&mockup] { return make_mockup(mockup); };
    Remote remote;
    EXPECT_NE(remote.start(launch, what).find("divided"), std::string::npos);
  }
}

// A call and a mock-up whose ratios are spread evenly over [low, high].
Outcome outcome_of(double low, double high, int rounds = 9) {
  Outcome outcome;
  std::vector<Row> rows(2);
  rows[0].subject = "planned";
  rows[0].variant = "butterfly/packed";
  rows[1].subject = "reduce + broadcast";
  for (Row& row : rows) {
    row.role = Role::kOwn;
    row.what.collective = Collective::kAllreduce;
    row.what.bytes = 8;
    for (int i = 0; i < rounds; ++i)
      row.rounds.push_back(100 * (row.subject == "planned" ? 1 : low + (high - low) * i / (rounds - 1)));
    row.summary = summarize(row.rounds);
  }
  settle(rows);
  outcome.rows = rows;
  return outcome;
}

Finding finding(const Outcome& outcome) {
  const std::vector<Guideline> guidelines = judge(outcome);
  EXPECT_EQ(guidelines.size(), 1u);
  return guidelines.at(0).finding;
}

TEST(Guidelines, AFindingNeedsTheWholeInterval) {
  EXPECT_EQ(finding(outcome_of(1.2, 1.4)), Finding::kHolds);
  EXPECT_EQ(finding(outcome_of(0.6, 0.8)), Finding::kViolated);
  EXPECT_EQ(finding(outcome_of(0.6, 1.3)), Finding::kClose) << "the median is below 1, the interval is not";
  EXPECT_EQ(finding(outcome_of(0.96, 0.99)), Finding::kClose) << "within what is tolerated";
  EXPECT_EQ(finding(outcome_of(0.6, 0.8, 5)), Finding::kUnknown);
}

TEST(Guidelines, TheTableNamesViolationsAndTheirPlans) {
  const std::vector<Guideline> guidelines = judge(outcome_of(0.6, 0.8));
  const std::string text = guidelines_table(guidelines);
  EXPECT_NE(text.find("allreduce <= reduce + broadcast: threads, n = 2, 8 bytes, butterfly/packed"),
            std::string::npos)
      << text;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    EXPECT_LE(line.size(), static_cast<std::size_t>(kTableWidth)) << line;
  EXPECT_EQ(guidelines_table(judge(outcome_of(1.2, 1.4))).find("violated"), std::string::npos);

  const nlohmann::json json = guidelines_json(guidelines);
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json[0].at("collective"), "allreduce");
  EXPECT_EQ(json[0].at("mockup"), "reduce + broadcast");
  EXPECT_DOUBLE_EQ(json[0].at("ratio"), 0.7);
  EXPECT_LT(json[0].at("ratio_interval")[1], 0.8);
}

TEST(Guidelines, CollectivesWithoutAnotherWayAreRefused) {
  EXPECT_NE(check_guidelines(Options(), {Collective::kExscan}), "");
  EXPECT_EQ(check_guidelines(Options(), {Collective::kBarrier, Collective::kAllreduce}), "");
}

}  // namespace
}  // namespace fermata::bench
