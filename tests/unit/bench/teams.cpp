// `fermata bench teams`: what it times, and its table and file.
#include "bench/teams.hpp"

#include <gtest/gtest.h>

namespace fermata::bench {
namespace {

TEST(Teams, AreMadeAndSplit) {
  std::vector<double> progress;
  const auto rows = run_teams({Engine::kThreads, Engine::kProcesses}, {2, 3}, 0,
                              [&](double done, const std::string&) { progress.push_back(done); });
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  ASSERT_EQ(rows->size(), 8u);
  EXPECT_EQ(progress.size(), rows->size());
  for (const TeamsRow& row : *rows) {
    EXPECT_EQ(row.us.size(), 3u) << row.what << " of " << row.members;
    for (const double us : row.us) EXPECT_GT(us, 0);
  }
  const std::string table = teams_table(*rows);
  EXPECT_NE(table.find("split  processes       3"), std::string::npos) << table;
  const nlohmann::json json = teams_json(*rows);
  ASSERT_EQ(json.size(), rows->size());
  EXPECT_EQ(json[7]["what"], "split");
  EXPECT_EQ(json[7]["n"], 3);
  EXPECT_EQ(json[7]["samples"].size(), 3u);
}

TEST(Teams, WhatCannotBeMadeIsAnError) {
  EXPECT_FALSE(run_teams({Engine::kThreads}, {5000}, 0, nullptr).ok());
  EXPECT_FALSE(run_teams({Engine::kMixed}, {2}, 0, nullptr).ok());
}

}  // namespace
}  // namespace fermata::bench
