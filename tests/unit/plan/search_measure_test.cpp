// The search with a measure callback, whose times come from a table.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/text.hpp"
#include "exec/program.hpp"
#include "search.hpp"

namespace fermata {
namespace {

using test::expect_sound;
using test::machine;
using test::options_for;

const ProgramHeader& header(const std::vector<std::byte>& program) {
  return *reinterpret_cast<const ProgramHeader*>(program.data());
}

TEST(Measuring, TheRobustFastestWinsNotTheLuckiest) {
  const Topology t = machine({.cores = 4});
  PlanOptions o = options_for(t, Collective::kBarrier, 4);
  o.measure_best = 20;
  std::map<std::string, int> calls;
  const Measure measure = [&](const std::vector<std::byte>& program, const PlanKey&,
                              int repeat) -> Result<double> {
    const std::string name = header(program).algorithm;
    ++calls[name + header(program).layout];
    if (name == "linear") return repeat == 1 ? 10.0 : 300.0;  // one lucky shot
    if (name == "kary(2)") return 100.0 + repeat % 2;
    return 200.0 + repeat;
  };
  o.algorithm.clear();
  const auto plan = make_plan(t, estimate_profile(t), o, measure);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->origin, "measured");
  EXPECT_NE(plan->schedule.algorithm, "linear");
  EXPECT_GT(plan->measured_period_ns, 0);
  // the fastest four again with four poll intervals, one with layouts for its parts
  EXPECT_LE(calls.size(), 20u + 16u + 24u);
  int most = 0;
  for (const auto& [name, count] : calls) most = std::max(most, count);
  EXPECT_GE(most, 5);
  expect_sound(*plan);
}

TEST(Measuring, WhoWasDroppedStaysOutThoughTheMachineSlowsDown) {
  const Topology t = machine({.cores = 4});
  PlanOptions o = options_for(t, Collective::kBarrier, 4);
  o.measure_best = 16;
  const Measure drifting = [](const std::vector<std::byte>& program, const PlanKey&,
                              int repeat) -> Result<double> {
    const double far = repeat < 5 ? 1 : 4;  // near, then far for the rest of the run
    return (std::string(header(program).algorithm) == "linear" ? 100.0 : 150.0) * far;
  };
  const auto plan = make_plan(t, estimate_profile(t), o, drifting);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->schedule.algorithm, "linear");
}

// A layout that helps one part of the schedule only is found by timing, whatever was predicted.
TEST(Measuring, OnePartOfAPlanMayHaveAnotherLayout) {
  const Topology t = machine({.cores = 16});
  PlanOptions o = options_for(t, Collective::kBarrier, 16);
  o.measure_best = 8;
  std::set<std::string> mixed;
  const Measure measure = [&](const std::vector<std::byte>& program, const PlanKey&, int) -> Result<double> {
    const std::string layout = header(program).layout;
    if (layout.find(':') != std::string::npos) mixed.insert(layout);
    return layout.find(':') != std::string::npos && layout.find("line128") != std::string::npos ? 50.0
                                                                                                : 100.0;
  };
  const auto plan = make_plan(t, estimate_profile(t), o, measure);
  ASSERT_TRUE(plan.ok());
  EXPECT_GT(plan->layout.listed().size(), 1u) << to_string(plan->layout);
  EXPECT_EQ(plan->layout.longest_line(), 128);
  EXPECT_GE(mixed.size(), 3u);
  expect_sound(*plan);
}

TEST(Measuring, FinalistsDifferInAlgorithmAndLayout) {
  const Topology t = machine({.packages = 2, .cores = 8});
  PlanOptions o = options_for(t, Collective::kBarrier, 16);
  o.measure_best = 16;
  std::set<std::string> algorithms, layouts;
  const Measure measure = [&](const std::vector<std::byte>& program, const PlanKey&, int) -> Result<double> {
    algorithms.insert(header(program).algorithm);
    layouts.insert(header(program).layout);
    return 100.0;
  };
  ASSERT_TRUE(make_plan(t, estimate_profile(t), o, measure).ok());
  EXPECT_GE(algorithms.size(), 4u);
  EXPECT_GE(layouts.size(), 3u);
}

TEST(Measuring, TiesGoToTheSimpler) {
  const Topology t = machine({.cores = 4});
  PlanOptions o = options_for(t, Collective::kBarrier, 2);
  o.measure_best = 20;
  const Measure equal = [](const std::vector<std::byte>&, const PlanKey&, int) -> Result<double> {
    return 50.0;
  };
  const auto plan = make_plan(t, estimate_profile(t), o, equal);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->layout.least_slots(), 1);
  EXPECT_LE(plan->schedule.transfer_count() + plan->schedule.stages.size(), 3u);
}

TEST(Measuring, WhoCannotBeTimedIsNotChosen) {
  const Topology t = machine({.cores = 4});
  PlanOptions o = options_for(t, Collective::kBarrier, 4);
  o.measure_best = 12;
  std::string spared;
  const Measure measure = [&](const std::vector<std::byte>& program, const PlanKey&, int) -> Result<double> {
    const std::string name = std::string(header(program).algorithm) + header(program).layout;
    if (spared.empty()) spared = name;
    if (name == spared) return 500.0;
    return Error{Status::kTimeout, "never came back"};
  };
  const auto plan = make_plan(t, estimate_profile(t), o, measure);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->schedule.algorithm + to_string(plan->layout), spared);
  const Measure never = [](const std::vector<std::byte>&, const PlanKey&, int) -> Result<double> {
    return Error{Status::kSystem, "no threads"};
  };
  EXPECT_FALSE(make_plan(t, estimate_profile(t), o, never).ok());
}

// A simulated machine always gives the same time, so each program runs once. Its polls cost nothing, so no
// plan has longer poll intervals.
TEST(Measuring, ASimulatedMachineIsAskedOnceAndNotTakenForMeasured) {
  const Topology t = machine({.cores = 8});
  PlanOptions o = options_for(t, Collective::kBarrier, 4);
  o.measure_best = 16;
  o.simulated = true;
  std::map<std::string, int> calls;
  const Measure simulate = [&](const std::vector<std::byte>& program, const PlanKey&,
                               int repeat) -> Result<double> {
    EXPECT_EQ(repeat, 0);
    ++calls[std::string(header(program).algorithm) + " " + header(program).layout];
    return std::string(header(program).algorithm) == "linear" ? 100.0 : 150.0;
  };
  const auto plan = make_plan(t, estimate_profile(t), o, simulate);
  ASSERT_TRUE(plan.ok());
  EXPECT_GE(calls.size(), 16u);
  for (const auto& [name, count] : calls) EXPECT_LE(count, 2) << name;  // two drafts may have one name
  EXPECT_EQ(plan->origin, "simulated");
  EXPECT_EQ(plan->schedule.algorithm, "linear");
  EXPECT_EQ(plan->simulated_period_ns, 100);
  EXPECT_EQ(plan->measured_period_ns, 0);
  int slower = 0;
  for (const Candidate& c : plan->candidates) {
    EXPECT_EQ(c.measured_ns, 0);
    EXPECT_EQ(c.layout.at(0).pauses, plan->layout.at(0).pauses) << to_string(c.layout);
    slower += c.verdict == "simulated 1.5x slower" && c.simulated_ns == 150;
  }
  EXPECT_GT(slower, 0);
  const auto again = plan_from_json(to_json(*plan));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_TRUE(*again == *plan);
  const std::string text = explain(*plan, false);
  EXPECT_NE(text.find("simulated  100 ns per episode"), std::string::npos) << text;
  EXPECT_NE(text.find("measured   not yet"), std::string::npos) << text;
  EXPECT_NE(text.find("predicted simulated"), std::string::npos) << text;
  expect_sound(*plan);
}

}  // namespace
}  // namespace fermata
