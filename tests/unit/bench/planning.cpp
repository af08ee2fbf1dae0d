// `fermata bench planning`: what it times, and its table and file.
#include "bench/planning.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace fermata::bench {
namespace {

TEST(Planning, OneScheduleAndTheSearchOfEachCollective) {
  std::vector<double> progress;
  const auto rows =
      run_planning({2, 40}, 0, [&](double done, const std::string&) { progress.push_back(done); });
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  ASSERT_EQ(rows->size(), 16u);
  EXPECT_EQ(progress.size(), rows->size());
  std::set<std::string> algorithms;
  for (const PlanningRow& row : *rows) {
    algorithms.insert(row.algorithm);
    EXPECT_EQ(row.ms.size(), 3u);
    EXPECT_GE(row.ms.front(), 0);
    EXPECT_TRUE(row.algorithm.empty() || row.chosen == row.algorithm) << row.chosen;
    EXPECT_FALSE(row.chosen.empty());
  }
  EXPECT_EQ(algorithms.size(), 4u);
  const std::string table = planning_table(*rows);
  EXPECT_NE(table.find("search: "), std::string::npos) << table;
  EXPECT_NE(table.find("kary(4)"), std::string::npos) << table;
  const nlohmann::json json = planning_json(*rows);
  ASSERT_EQ(json.size(), rows->size());
  EXPECT_EQ(json[0]["algorithm"], "kary(4)");
  EXPECT_TRUE(json[3]["algorithm"].is_null());
  EXPECT_EQ(json[15]["n"], 40);
  EXPECT_EQ(json[15]["collective"], "allreduce");
}

TEST(Planning, TheSearchCostsMoreThanOneSchedule) {
  const auto rows = run_planning({64}, 0, nullptr);
  ASSERT_TRUE(rows.ok());
  const auto least = [&](std::size_t k) {
    return *std::min_element((*rows)[k].ms.begin(), (*rows)[k].ms.end());
  };
  EXPECT_GT(least(3), least(0));
}

TEST(Planning, WhatCannotBePlannedIsAnError) { EXPECT_FALSE(run_planning({20000}, 0, nullptr).ok()); }

}  // namespace
}  // namespace fermata::bench
