// The Matrix Market reader, the partition, and one solve by each engine against a known solution.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <string>

#include "engines.hpp"
#include "matrix_market.hpp"
#include "report.hpp"

namespace {

const std::string kBanner = "%%MatrixMarket matrix coordinate real symmetric\n";

cg::Matrix read(const std::string& text) {
  std::istringstream in(text);
  return cg::read_matrix_market(in, "m.mtx");
}

// The error message of reading.
std::string refusal(const std::string& text) {
  try {
    read(text);
  } catch (const cg::ParseError& e) {
    return e.what();
  }
  return "accepted";
}

TEST(MatrixMarket, ReadsSymmetricAndGeneral) {
  const cg::Matrix half = read(kBanner + "% c\n\n 2 2 3\n1 1 4.0\n2 1 -1e0\r\n2 2 +3\n");
  EXPECT_EQ(half.column, (std::vector<std::int32_t>{0, 1, 0, 1}));
  EXPECT_EQ(half.value, (std::vector<double>{4, -1, -1, 3}));
  EXPECT_EQ(half.row_start, (std::vector<std::int64_t>{0, 2, 4}));
  const cg::Matrix full =
      read("%%matrixmarket MATRIX Coordinate Integer General\n2 2 4\n2 2 3\n1 2 -1\n2 1 -1\n1 1 4");
  EXPECT_EQ(full.column, half.column);
  EXPECT_EQ(full.value, half.value);
  EXPECT_EQ(read(kBanner + "1 1 2\n1 1 1\n1 1 2\n").value, (std::vector<double>{3}));  // duplicates add up
}

TEST(MatrixMarket, NamesTheLineAndTheReason) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "m.mtx: the file is empty"},
      {"1 1 1\n1 1 1\n", "m.mtx:1: the first line"},
      {"%%MatrixMarket matrix array real general\n", "m.mtx:1: format 'array'"},
      {"%%MatrixMarket matrix coordinate complex general\n", "m.mtx:1: field 'complex'"},
      {"%%MatrixMarket matrix coordinate real skew-symmetric\n", "m.mtx:1: symmetry"},
      {"%%MatrixMarket vector coordinate real general\n", "m.mtx:1: object 'vector'"},
      {kBanner + "% only a comment\n", "m.mtx:2: the size line"},
      {kBanner + "2 2\n", "m.mtx:2: the size line needs"},
      {kBanner + "2 3 1\n", "m.mtx:2: a system needs a square"},
      {kBanner + "0 0 0\n", "m.mtx:2: rows must be"},
      {kBanner + "99999999999999999999 2 1\n",
       "m.mtx:2: rows '99999999999999999999' is not a number in range"},
      {kBanner + "2 2 -1\n", "m.mtx:2: entries must be"},
      {kBanner + "100000000 100000000 1\n1 1 1\n", "m.mtx:2: 1 entries leave most of 100000000 rows empty"},
      {kBanner + "1 1 2\n1 1 1e308\n1 1 1e308\n",
       "m.mtx:4: the values given for one place have no finite sum"},
      {kBanner + "2 2 2000000000\n1 1 1\n", "m.mtx:3: the file ends after 1 of 2000000000 entries"},
      {kBanner + "2 2 1\n\n% c\n3 1 1\n", "m.mtx:5: row 3 is not in 1..2"},
      {kBanner + "2 2 1\n0 1 1\n", "m.mtx:3: row 0"},
      {kBanner + "2 2 1\n2 9 1\n", "m.mtx:3: column 9"},
      {kBanner + "2 2 1\n1 2 1\n", "m.mtx:3: a symmetric file stores the lower"},
      {kBanner + "2 2 1\n1 1\n", "m.mtx:3: an entry needs"},
      {kBanner + "2 2 1\n1 1 1x\n", "m.mtx:3: value '1x'"},
      {kBanner + "2 2 1\n1 1 nan\n", "m.mtx:3: value 'nan' is not finite"},
      {kBanner + "2 2 1\n1 1 1e999\n", "m.mtx:3: value '1e999'"},
      {kBanner + "2 2 1\n1 1 1\n2 2 1\n", "m.mtx:4: more than 1 entries"},
  };
  for (const auto& [text, expected] : cases)
    EXPECT_EQ(refusal(text).substr(0, expected.size()), expected) << text;
  EXPECT_THROW(cg::read_matrix_market(std::string("no/such/file.mtx")), cg::ParseError);
}

TEST(MatrixMarket, RefusesWhatCannotBePositiveDefinite) {
  EXPECT_EQ(cg::why_not_spd(read(kBanner + "2 2 2\n1 1 1\n2 2 1\n")), "");
  EXPECT_NE(cg::why_not_spd(read(kBanner + "2 2 1\n1 1 1\n")), "");  // no second diagonal entry
  EXPECT_NE(cg::why_not_spd(read(kBanner + "2 2 2\n1 1 1\n2 2 -1\n")), "");
  EXPECT_NE(
      cg::why_not_spd(read("%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1\n2 2 1\n1 2 .5\n")),
      "");
}

cg::Matrix chain(std::int32_t rows) {
  std::vector<cg::Entry> entries;
  for (std::int32_t i = 0; i < rows; ++i) {
    entries.push_back({i, i, 2.5 + i % 3});
    if (i > 0) entries.push_back({i, i - 1, -1});
    if (i + 1 < rows) entries.push_back({i, i + 1, -1});
  }
  return cg::compress(rows, entries);
}

TEST(Partition, CoversAllRowsInOrderAndBalances) {
  for (const std::int32_t rows : {1, 2, 3, 10, 97}) {
    const cg::Matrix m = chain(rows);
    for (int parts = 1; parts <= 12; ++parts) {
      const auto cuts = cg::partition(m, parts);
      ASSERT_EQ(cuts.size(), static_cast<std::size_t>(parts) + 1);
      EXPECT_EQ(cuts.front(), 0);
      EXPECT_EQ(cuts.back(), rows);
      for (int p = 0; p < parts; ++p) {
        const auto at = static_cast<std::size_t>(p);
        ASSERT_LE(cuts[at], cuts[at + 1]);
        const auto work = m.row_start[static_cast<std::size_t>(cuts[at + 1])] -
                          m.row_start[static_cast<std::size_t>(cuts[at])];
        EXPECT_LE(work, m.nonzeros() / parts + 6) << rows << " rows, part " << p << " of " << parts;
      }
    }
  }
}

TEST(RowsAlone, AreTheLongestRunThatNeedsNoOtherPart) {
  const cg::Matrix m = chain(10);
  const auto run = [&](std::size_t first, std::size_t last) {
    const cg::Rows rows = cg::rows_alone(m, {first, last});
    return std::pair(rows.first, rows.last);
  };
  EXPECT_EQ(run(0, 10), std::pair(0ul, 10ul));
  EXPECT_EQ(run(0, 5), std::pair(0ul, 4ul));
  EXPECT_EQ(run(3, 7), std::pair(4ul, 6ul));
  EXPECT_EQ(run(3, 4), std::pair(3ul, 3ul));  // none
  EXPECT_EQ(run(5, 5), std::pair(5ul, 5ul));
}

// Not symmetric if skew is not 0.
cg::Matrix grid(std::int32_t side, double skew) {
  std::vector<cg::Entry> entries;
  for (std::int32_t row = 0; row < side * side; ++row) {
    entries.push_back({row, row, 4.5 + std::abs(skew)});
    if (row % side > 0) entries.push_back({row, row - 1, -1 - skew});
    if (row % side + 1 < side) entries.push_back({row, row + 1, -1});
    if (row >= side) entries.push_back({row, row - side, -1});
    if (row + side < side * side) entries.push_back({row, row + side, -1});
  }
  return cg::compress(side * side, entries);
}

void solves(cg::Method method, const cg::Matrix& matrix) {
  cg::Job job;
  job.matrix = &matrix;
  job.method = method;
  job.repeats = 3;
  const cg::Result serial = cg::run_serial(job);
  const cg::Result nudged = cg::run_nudged(job);
  ASSERT_EQ(serial.outcome.ending, cg::Ending::kConverged);
  EXPECT_LT(cg::largest_error(serial.solution), 1e-8);
  for (const int threads : {1, 2, 3, 4, 7}) {
    job.threads = threads;
    const cg::Result result = cg::run_fermata(job);
    EXPECT_EQ(result.outcome.ending, cg::Ending::kConverged);
    EXPECT_LT(cg::largest_error(result.solution), 1e-8);
    const cg::Difference d =
        cg::compare(result.outcome.residuals, serial.outcome.residuals, nudged.outcome.residuals);
    EXPECT_TRUE(d.equal_to_rounding) << threads << " threads: " << d.largest << ", nudged " << d.rounding;
    EXPECT_LT(d.rounding, 1e-6);  // otherwise the comparison says little
    EXPECT_TRUE(result.repeatable);
    EXPECT_EQ(result.seconds.size(), 3u);
  }
}

TEST(Solve, EveryMethodFindsTheSolutionWithTheResidualsOfASerialRun) {
  for (const cg::Matrix& matrix : {chain(97), grid(12, 0)}) {
    solves(cg::Method::kConjugateGradient, matrix);
    solves(cg::Method::kPipelinedCg, matrix);
    solves(cg::Method::kBicgstab, matrix);
  }
  solves(cg::Method::kBicgstab, grid(12, 2));
  solves(cg::Method::kBicgstab, grid(1, 0));  // s = 0 in the first iteration
}

TEST(Solve, ThePipelineTakesTheStepsOfConjugateGradient) {
  const cg::Matrix matrix = grid(20, 0);
  cg::Job job;
  job.matrix = &matrix;
  const auto plain = cg::run_serial(job).outcome.residuals;
  job.method = cg::Method::kPipelinedCg;
  const auto pipelined = cg::run_serial(job).outcome.residuals;
  ASSERT_EQ(pipelined.size(), plain.size());
  for (std::size_t k = 0; k < plain.size(); ++k) EXPECT_NEAR(pipelined[k], plain[k], 1e-4 * plain[k]) << k;
}

TEST(Solve, IndefiniteMatricesAndShortLimitsEndAsSuch) {
  const cg::Matrix indefinite = read(kBanner + "2 2 3\n1 1 1\n2 1 -5\n2 2 1\n");
  const cg::Matrix turn =
      read("%%MatrixMarket matrix coordinate real general\n2 2 4\n1 1 1e-30\n1 2 1\n2 1 -1\n2 2 1e-30\n");
  const cg::Matrix fine = chain(50);
  for (const cg::Method method :
       {cg::Method::kConjugateGradient, cg::Method::kPipelinedCg, cg::Method::kBicgstab}) {
    cg::Job job;
    job.method = method;
    job.threads = 2;
    const bool any = method == cg::Method::kBicgstab;
    job.matrix = any ? &turn : &indefinite;
    EXPECT_EQ(cg::run_fermata(job).outcome.ending, any ? cg::Ending::kBreakdown : cg::Ending::kIndefinite);
    job.matrix = &fine;
    job.limits.iterations = 2;
    const cg::Outcome out = cg::run_fermata(job).outcome;
    EXPECT_EQ(out.ending, cg::Ending::kIterations);
    EXPECT_EQ(out.residuals.size(), 3u);
  }
}

TEST(Compare, TellsRoundingFromErrors) {
  const std::vector<double> serial{1, .5, .1}, nudged{1, .5, .1 + 1e-14};
  EXPECT_TRUE(cg::compare({1, .5, .1}, serial, nudged).equal_to_rounding);
  EXPECT_TRUE(cg::compare({1, .5, .1 + 1e-12}, serial, nudged).equal_to_rounding);
  EXPECT_FALSE(cg::compare({1, .5 + 1e-12, .1}, serial, nudged).equal_to_rounding);  // too early
  EXPECT_FALSE(cg::compare({1, .5, .1 + 1e-10}, serial, nudged).equal_to_rounding);
  EXPECT_FALSE(cg::compare({1, .5, std::nan("")}, serial, nudged).equal_to_rounding);
  EXPECT_TRUE(cg::compare(serial, {1, .5}, {1, .5}).equal_to_rounding);
  EXPECT_FALSE(cg::compare({1, .5, .1, .05}, {1}, {1}).equal_to_rounding);
}

}  // namespace
