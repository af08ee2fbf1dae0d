// The quantities of `fermata bench overlap`: which rounds they combine, and that the harness measures them.
#include "bench/overlap.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "bench/report.hpp"

namespace fermata::bench {
namespace {

Row row(Quantity quantity, std::vector<double> rounds, std::vector<double> references) {
  Row r;
  r.subject = "planned";
  r.role = Role::kOwn;
  r.what.collective = Collective::kAllreduce;
  r.what.bytes = 1 << 20;
  r.quantity = quantity;
  r.rounds = std::move(rounds);
  r.references = std::move(references);
  r.summary = summarize(r.rounds);
  return r;
}

// Computing takes 2 ms; in the second half of the rounds everything takes twice as long.
Outcome outcome_of(double added_ns) {
  Outcome outcome;
  std::vector<double> work, added, blocking, computing;
  for (int round = 0; round < 8; ++round) {
    const double slow = round < 4 ? 1 : 2;
    work.push_back(slow * 1e6);
    added.push_back(slow * added_ns);
    blocking.push_back(slow * 4e6);
    computing.push_back(slow * 2e6);
  }
  outcome.rows = {row(Quantity::kPeriod, work, {}), row(Quantity::kSkewed, blocking, computing),
                  row(Quantity::kOverlap, added, computing)};
  return outcome;
}

TEST(Overlap, TotalsArePairedWithinRounds) {
  const std::vector<Overlap> list = overlaps_of(outcome_of(1.3e6));
  ASSERT_EQ(list.size(), 1u);
  EXPECT_DOUBLE_EQ(list[0].overlap_total.median, 1.1);
  EXPECT_DOUBLE_EQ(list[0].blocking_total.median, 2);
  EXPECT_TRUE(list[0].overlap_total.interval.has_value());
  EXPECT_DOUBLE_EQ(list[0].compute, 3e6);
}

TEST(Overlap, TheTableMarksWhatIsAboveTheBound) {
  EXPECT_EQ(overlap_table(outcome_of(1.2e6)).find("above"), std::string::npos);
  const std::string text = overlap_table(outcome_of(1.6e6));
  EXPECT_NE(text.find("above 1.10"), std::string::npos);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    EXPECT_LE(line.size(), static_cast<std::size_t>(kTableWidth)) << line;
}

TEST(Overlap, TheLibraryIsMeasuredInOneGroup) {
  Options options;
  options.rivals = {};
  options.bytes = {32768};
  options.engines = {Engine::kThreads, Engine::kProcesses};
  options.seconds = 0.05;
  const Outcome outcome = run_overlap(options);
  EXPECT_TRUE(outcome.left_out.empty()) << outcome.left_out[0].subject << ": " << outcome.left_out[0].reason;
  const std::vector<Overlap> list = overlaps_of(outcome);
  ASSERT_EQ(list.size(), 2u);
  for (const Overlap& o : list) {
    EXPECT_GT(o.compute, 0);
    EXPECT_GT(o.work, 0);
  }
  EXPECT_GT(idle_progress_of(outcome), 0);
  const nlohmann::json json = overlap_json(outcome);
  EXPECT_EQ(json.at("cases").size(), 2u);
  EXPECT_TRUE(json.at("idle_progress_ns").is_number());
}

}  // namespace
}  // namespace fermata::bench
