// The Matrix Market reader, the partition, and one solve by each engine against a solution known beforehand.
#include <gtest/gtest.h>

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

// The message that reading gives.
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
      {kBanner + "2 3 1\n", "m.mtx:2: conjugate gradient needs a square"},
      {kBanner + "0 0 0\n", "m.mtx:2: rows must be"},
      {kBanner + "99999999999999999999 2 1\n",
       "m.mtx:2: rows '99999999999999999999' is not a number in range"},
      {kBanner + "2 2 -1\n", "m.mtx:2: entries must be"},
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

TEST(Solve, EveryEngineFindsTheSolutionWithTheSameResiduals) {
  const cg::Matrix matrix = chain(97);
  cg::Job job;
  job.matrix = &matrix;
  job.repeats = 3;
  const cg::Result serial = cg::run_serial(job);
  ASSERT_EQ(serial.outcome.ending, cg::Ending::kConverged);
  EXPECT_LT(cg::largest_error(serial.solution), 1e-9);
  for (const int threads : {1, 2, 3, 4, 7}) {
    job.threads = threads;
    const cg::Result result = cg::run_fermata(job);
    EXPECT_EQ(result.outcome.ending, cg::Ending::kConverged);
    EXPECT_LT(cg::largest_error(result.solution), 1e-9);
    EXPECT_TRUE(cg::compare(result.outcome.residuals, serial.outcome.residuals).equal_to_rounding);
    EXPECT_TRUE(result.repeatable);
    EXPECT_EQ(result.seconds.size(), 3u);
  }
}

TEST(Solve, IndefiniteMatricesAndShortLimitsEndAsSuch) {
  const cg::Matrix indefinite = read(kBanner + "2 2 3\n1 1 1\n2 1 -5\n2 2 1\n");
  cg::Job job;
  job.matrix = &indefinite;
  job.threads = 2;
  EXPECT_EQ(cg::run_fermata(job).outcome.ending, cg::Ending::kIndefinite);
  const cg::Matrix fine = chain(50);
  job.matrix = &fine;
  job.limits.iterations = 2;
  EXPECT_EQ(cg::run_fermata(job).outcome.ending, cg::Ending::kIterations);
}

TEST(Compare, TellsRoundingFromErrors) {
  EXPECT_TRUE(cg::compare({1, .5, .1}, {1, .5, .1 + 1e-12}).equal_to_rounding);
  EXPECT_TRUE(cg::compare({1, .5, .1}, {1, .5}).equal_to_rounding);
  EXPECT_FALSE(cg::compare({1, .5, .1, .05}, {1}).equal_to_rounding);
  EXPECT_FALSE(cg::compare({1, .5, .11}, {1, .5, .1}).equal_to_rounding);
}

}  // namespace
