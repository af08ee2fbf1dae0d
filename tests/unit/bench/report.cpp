// The result file's fields and the table's width.
#include "bench/report.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>

namespace fermata::bench {
namespace {

Outcome outcome_with_wide_rows() {
  Outcome outcome;
  for (const Engine engine : {Engine::kThreads, Engine::kProcesses}) {
    for (const double scale : {1e-3, 1.0, 99.96, 1e4, 99960.0, 1e6, 1e9, 1e13, -1e6}) {
      Row row;
      row.subject = "fermata:hybrid(extended_butterfly,combining_tree(16))/published+2slots";
      row.variant = "a variant with a long name";
      row.what.engine = engine;
      row.what.members = 1024;
      row.what.bytes = 56;
      row.quantity = Quantity::kLatency;
      row.rounds = {scale, 2 * scale, std::numeric_limits<double>::quiet_NaN()};
      row.summary = summarize(row.rounds);
      row.bound = 1e-9;
      row.bound_source = "estimate: 10 x one-way";
      row.ratio_to_plan =
          Ratio{1e-12 + std::fabs(scale), Interval{0.9 * std::fabs(scale), 1.1 * std::fabs(scale)}};
      row.ratio_to_threads = Ratio{1e9, std::nullopt};
      if (engine == Engine::kProcesses) row.joules = scale;
      row.counts.fill(scale);
      outcome.rows.push_back(row);
    }
  }
  outcome.counters = "cycles; not " + std::string(90, 'x') + ", page_faults: not allowed";
  Case what;
  outcome.left_out.push_back({"libomp_dist", "", std::string(500, 'x'), what, Quantity::kPeriod});
  return outcome;
}

TEST(Report, NoLineOfTheTableIsWiderThanAHundredColumns) {
  std::istringstream lines(to_table(outcome_with_wide_rows()));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_LE(line.size(), static_cast<std::size_t>(kTableWidth)) << line;
  }
  EXPECT_GT(count, 20);
}

TEST(Report, TheTableOfEventsShowsLayouts) {
  Outcome outcome;
  outcome.counters = "all";
  Row row;
  row.subject = "fermata:kary(16)/private+stride5";
  row.counts.fill(12345);
  row.counts[2] = std::numeric_limits<double>::quiet_NaN();
  outcome.rows = {row, row};
  outcome.rows[1].counts[2] = 0.25;
  const std::string table = to_table(outcome);
  EXPECT_NE(table.find("\nkary(16)/private+stride5        12.3k  12.3k         12.3k "), std::string::npos)
      << table;
  EXPECT_NE(table.find("\nkary(16)/private+stride5        12.3k  12.3k   0.25  12.3k "), std::string::npos)
      << table;
}

TEST(Report, AFileHasALineForEachRowAndItsSamples) {
  const nlohmann::json json = {
      {"none", nlohmann::json::array()},
      {"pairs", {{1, 2}, {3, 4}}},
      {"rows", {{{"a", "x\n"}, {"b", {0.5, nullptr}}}, {{"a", "y"}, {"of", {{"c", 1}}}}}},
      {"version", 1},
      {"with", {{"key", "value"}}}};
  EXPECT_EQ(file_text(json),
            "{\n"
            " \"none\": [],\n"
            " \"pairs\": [[1,2],[3,4]],\n"
            " \"rows\": [\n"
            "  {\"a\":\"x\\n\",\"b\":[0.5,null]},\n"
            "  {\n"
            "   \"a\": \"y\",\n"
            "   \"of\": {\n"
            "    \"c\": 1\n"
            "   }\n"
            "  }\n"
            " ],\n"
            " \"version\": 1,\n"
            " \"with\": {\n"
            "  \"key\": \"value\"\n"
            " }\n"
            "}\n");
  EXPECT_EQ(nlohmann::json::parse(file_text(json)), json);
}

TEST(Report, NumbersAreShort) {
  for (double value = 0.01; value < 1e12; value *= 1.07) EXPECT_LE(short_number(value).size(), 6u) << value;
  EXPECT_EQ(short_number(31.24), "31.2");
  EXPECT_EQ(short_number(12345), "12.3k");
  EXPECT_EQ(short_number(4.56e6), "4.56M");
}

TEST(Report, LossesAreMarkedBesideWins) {
  Outcome outcome;
  for (const double ratio : {0.5, 2.0}) {
    Row row;
    row.subject = ratio < 1 ? "faster" : "slower";
    row.rounds = {ratio};
    row.summary = summarize(row.rounds);
    row.ratio_to_plan = Ratio{ratio, Interval{ratio - 0.25, ratio + 0.25}};
    outcome.rows.push_back(row);
  }
  std::istringstream lines(to_table(outcome));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("faster")) {
      EXPECT_NE(line.find("0.50 <"), std::string::npos) << line;
      EXPECT_NE(line.find("0.25-0.75"), std::string::npos) << line;
    }
    if (line.starts_with("slower")) {
      EXPECT_EQ(line.find('<'), std::string::npos) << line;
    }
  }
}

TEST(Report, EachResultHasTheFieldsThatReadersRelyOn) {
  Options options;
  const nlohmann::json file = to_json(options, outcome_with_wide_rows(), "fermata bench");
  ASSERT_EQ(file.at("results").size(), 18u);
  for (const nlohmann::json& result : file.at("results")) {
    for (const char* key : {"subject", "collective", "engine", "quantity", "unit"}) {
      EXPECT_TRUE(result.at(key).is_string()) << key;
    }
    for (const char* key : {"n", "bytes"}) EXPECT_TRUE(result.at(key).is_number_integer()) << key;
    for (const char* key : {"median", "p10", "p90", "p99", "min"})
      EXPECT_TRUE(result.at(key).is_number()) << key;
    for (const char* key : {"bound", "ratio_to_plan", "joules"}) {
      EXPECT_TRUE(result.at(key).is_number() || result.at(key).is_null()) << key;
    }
    EXPECT_EQ(result.at("ratio_to_plan_interval").size(), 2u);
    EXPECT_TRUE(result.at("ratio_to_threads_interval").is_null());
    ASSERT_EQ(result.at("samples").size(), 3u);
    EXPECT_TRUE(result.at("samples")[2].is_null());
    EXPECT_EQ(result.at("unit"), "ns");
  }
  EXPECT_EQ(file.at("left_out").size(), 1u);
  // The file can be read back, so it holds no NaN and no infinity.
  EXPECT_EQ(nlohmann::json::parse(file.dump()), file);
}

TEST(Report, TheMachineSaysWhereTheNumbersComeFrom) {
  const nlohmann::json machine = machine_json(Options(), Outcome(), "fermata bench -n 2");
  for (const char* key :
       {"cpu", "kernel", "compiler", "flags", "commit", "affinity", "plans", "command", "date", "versions"}) {
    EXPECT_TRUE(machine.contains(key)) << key;
  }
  EXPECT_EQ(machine.at("command"), "fermata bench -n 2");
}

}  // namespace
}  // namespace fermata::bench
