// Statistics, and the bounds that numbers are compared with.
#include "bench/stats.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "bench/own.hpp"
#include "bench/session.hpp"

namespace fermata::bench {
namespace {

constexpr double kNever = std::numeric_limits<double>::quiet_NaN();

Row row(const char* subject, const char* variant, Role role, std::vector<double> rounds) {
  Row r;
  r.subject = subject;
  r.variant = variant;
  r.role = role;
  r.what.cpus = {0, 1};
  r.rounds = std::move(rounds);
  r.summary = summarize(r.rounds);
  return r;
}

const Row& at(const std::vector<Row>& rows, const std::string& subject, Engine engine = Engine::kThreads) {
  for (const Row& r : rows) {
    if (r.subject == subject && r.what.engine == engine) return r;
  }
  ADD_FAILURE() << "no row " << subject;
  return rows.front();
}

TEST(Stats, QuantilesInterpolate) {
  EXPECT_DOUBLE_EQ(quantile({4, 1, 3, 2}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile({5}, 0.99), 5);
  EXPECT_DOUBLE_EQ(quantile({0, 10}, 0.9), 9);
}

TEST(Stats, RoundsWithoutAValueDoNotCount) {
  const Summary s = summarize(std::vector<double>{3, kNever, 1, 2, kNever});
  EXPECT_EQ(s.count, 3u);
  EXPECT_DOUBLE_EQ(s.median, 2);
  EXPECT_DOUBLE_EQ(s.min, 1);
  EXPECT_EQ(summarize(std::vector<double>{kNever}).count, 0u);
}

TEST(Stats, RatiosPairRoundsAndNotMedians) {
  // The machine becomes ten times slower in the middle; each round still gives a ratio of two.
  const std::vector<double> base = {1, 1, 10, kNever, 10, 10}, subject = {2, 2, 20, 5, kNever, 20};
  EXPECT_DOUBLE_EQ(paired_ratio(subject, base).value().median, 2);
  EXPECT_FALSE(paired_ratio(std::vector<double>{1, kNever}, std::vector<double>{kNever, 1}).has_value());
}

std::vector<double> shuffled_up_to(int n) {
  std::vector<double> values;
  for (int i = 0; i < n; ++i) values.push_back(i * 7 % n + 1);  // 7 does not divide n: a permutation of 1..n
  return values;
}

// The ranks in Conover's table A3 at p = 1/2, two-sided 5 %.
TEST(Stats, TheMediansIntervalIsThatOfOrderStatistics) {
  EXPECT_FALSE(median_interval(shuffled_up_to(5)).has_value()) << "five values can only give 93.75 %";
  constexpr struct {
    int n, low;
  } kRanks[] = {{6, 1},  {8, 1},  {9, 2},   {10, 2},  {12, 3},   {15, 4},
                {20, 6}, {25, 8}, {40, 14}, {50, 18}, {100, 40}, {2000, 956}};
  for (const auto& [n, low] : kRanks) {
    const auto interval = median_interval(shuffled_up_to(n));
    ASSERT_TRUE(interval.has_value()) << n;
    EXPECT_EQ(interval->low, low) << n;
    EXPECT_EQ(interval->high, n + 1 - low) << n;
  }
}

TEST(Bounds, TheFastestVariantOfAFloorCounts) {
  std::vector<Row> rows = {row("floor_counter", "pause", Role::kFloor, {30, 32, 31}),
                           row("floor_counter", "no pause", Role::kFloor, {40, 41, 42}),
                           row("floor_private", "pause", Role::kFloor, {57, 57, 57}),
                           row("planned", "kary(2)/packed", Role::kOwn, {33, 33, 33}),
                           row("pthread", "", Role::kRival, {330, 330, 330})};
  settle(rows);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(at(rows, "floor_counter").variant, "pause");
  EXPECT_DOUBLE_EQ(at(rows, "pthread").bound.value(), 31);
  EXPECT_EQ(at(rows, "pthread").bound_source, "floor_counter (pause)");
  EXPECT_DOUBLE_EQ(at(rows, "pthread").ratio_to_plan.value().median, 10);
  EXPECT_DOUBLE_EQ(at(rows, "planned").ratio_to_plan.value().median, 1);
}

TEST(Bounds, LatencyIsComparedWithStagesTimesOneWay) {
  std::vector<Row> rows = {
      row("fermata:linear/private", "", Role::kOwn, {130}), row("pthread", "", Role::kRival, {500}),
      row("probe_one_way", "pause", Role::kProbe, {110}), row("floor_private", "pause", Role::kFloor, {60})};
  for (Row& r : rows) r.quantity = r.role == Role::kProbe ? Quantity::kPeriod : Quantity::kLatency;
  rows[0].stages = 2;
  settle(rows);
  EXPECT_DOUBLE_EQ(at(rows, "probe_one_way").summary.median, 55);
  EXPECT_DOUBLE_EQ(at(rows, "fermata:linear/private").bound.value(), 110);
  EXPECT_DOUBLE_EQ(at(rows, "pthread").bound.value(), 55);
  EXPECT_EQ(at(rows, "pthread").bound_source, "1 x one-way");
  EXPECT_FALSE(at(rows, "pthread").ratio_to_plan.has_value());
}

TEST(Bounds, AboveTwoMembersTheBoundIsCalledAnEstimate) {
  std::vector<Row> rows = {row("pthread", "", Role::kRival, {500}),
                           row("probe_one_way", "", Role::kProbe, {110}),
                           row("probe_switch", "", Role::kProbe, {600})};
  rows[0].what.members = 8;
  rows[0].what.cpus = {0, 1, 2, 3, 4, 5, 6, 7};
  settle(rows);
  EXPECT_DOUBLE_EQ(at(rows, "pthread").bound.value(), 3 * 55);
  EXPECT_EQ(at(rows, "pthread").bound_source, "estimate: 3 x one-way");
}

TEST(Bounds, ACrowdsBoundIsItsSwitches) {
  const int cpus = static_cast<int>(allowed_cpus().size());
  std::vector<Row> rows = {row("pthread", "", Role::kRival, {500}), row("openmpi", "", Role::kRival, {700}),
                           row("probe_switch", "", Role::kProbe, {600}),
                           row("probe_switch", "", Role::kProbe, {1000})};
  rows[0].what.members = 4 * cpus;
  rows[1].what.members = 2 * cpus + 1;
  rows[0].what.cpus = rows[1].what.cpus = {};
  rows[1].what.engine = rows[3].what.engine = Engine::kProcesses;
  settle(rows);
  EXPECT_DOUBLE_EQ(at(rows, "pthread").bound.value(), 3 * 600);
  EXPECT_EQ(at(rows, "pthread").bound_source, "switch_floor: 3 x switch between two threads");
  const Row& processes = at(rows, "openmpi", Engine::kProcesses);
  EXPECT_DOUBLE_EQ(processes.bound.value(), 2 * 1000);
  EXPECT_EQ(processes.bound_source, "switch_floor: 2 x switch between two processes");
}

TEST(Bounds, ProcessesAreComparedWithThreadsOfTheSameRound) {
  std::vector<Row> rows = {row("planned", "", Role::kOwn, {30, 300, 30}),
                           row("planned", "", Role::kOwn, {33, 330, 33})};
  rows[1].what.engine = Engine::kProcesses;
  settle(rows);
  EXPECT_DOUBLE_EQ(at(rows, "planned", Engine::kProcesses).ratio_to_threads.value().median, 1.1);
  EXPECT_FALSE(at(rows, "planned").ratio_to_threads.has_value());
}

TEST(Names, ListsKeepCommasWithinParentheses) {
  EXPECT_EQ(split("kary(2),hybrid(kary(2),binomial)"),
            (std::vector<std::string>{"kary(2)", "hybrid(kary(2),binomial)"}));
  EXPECT_EQ(numbers_from("2,4,16").value(), (std::vector<int>{2, 4, 16}));
  EXPECT_FALSE(numbers_from("2,x").has_value());
  EXPECT_FALSE(numbers_from("-2").has_value());
}

TEST(Names, ThePlansTextSaysWhatWasChosen) {
  const PlanFacts facts = facts_of(
      "barrier of 2 threads\nalgorithm  butterfly\nlayout     packed+2slots (2 slots)\n\nstages     1, 2 "
      "signals\n");
  EXPECT_EQ(facts.algorithm, "butterfly");
  EXPECT_EQ(facts.layout, "packed+2slots");
  EXPECT_EQ(facts.stages, 1);
}

TEST(Options, WrongOnesAreRefusedWithWhatWouldBeRight) {
  Options options;
  EXPECT_EQ(check(options), "");
  options.rivals = {"pthraed"};
  EXPECT_NE(check(options).find("std_barrier"), std::string::npos);
  options.rivals = {};
  options.bytes = {8};
  EXPECT_NE(check(options), "");
  options.collective = Collective::kAllreduce;
  EXPECT_EQ(check(options), "");
  options.bytes = {12};
  EXPECT_NE(check(options), "");
  options.bytes = {64, kMaxBytes};
  EXPECT_EQ(check(options), "");
  options.bytes = {kMaxBytes + 8};
  EXPECT_NE(check(options), "");
  options.collective = Collective::kAlltoall;
  options.bytes = {kMaxBytes};
  options.members = {64};
  EXPECT_NE(check(options).find("GiB"), std::string::npos);
}

}  // namespace
}  // namespace fermata::bench
