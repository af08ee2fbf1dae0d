// The proofs of the whole table, one test per algorithm and degree.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "../third.hpp"
#include "algo/sweep.hpp"
#include "schedule/verify.hpp"

namespace fermata {
namespace {

constexpr OpTraits kIntegerSum = traits_of(Op::kSum, Type::kInt64);
constexpr OpTraits kFloatSum = traits_of(Op::kSum, Type::kDouble);
constexpr OpTraits kMax = traits_of(Op::kMax, Type::kDouble);

// 1 to 70; a third of these under a sanitizer, where a sweep takes ten times as long.
std::vector<std::int32_t> sizes() {
  std::vector<std::int32_t> out;
  for (int p = 1; p <= 70; ++p)
    if (test::runs_here(static_cast<std::size_t>(p))) out.push_back(p);
  return out;
}

class EveryAlgorithm : public testing::TestWithParam<std::pair<const char*, int>> {};

// Of each collective that the algorithm does at all: every size that it can, one verdict for a barrier and
// for what is only moved, else one for each class of operators, several roots where there is one.
TEST_P(EveryAlgorithm, OneToSeventy) {
  const auto [name, degree] = GetParam();
  const Algorithm& algorithm = *find_algorithm(name);
  const SweepRow row = sweep(algorithm, degree, sizes());
  EXPECT_EQ(row.wrong, 0) << row.first_wrong;
  std::int64_t all_refused = 0;
  for (int k = 0; k < kCollectiveCount; ++k) {
    const Collective collective = static_cast<Collective>(k);
    std::int64_t verdicts = 0, refused = 0;
    for (const std::int32_t p : sizes()) {
      const Request request{.collective = collective, .members = p, .degree = degree};
      if (!algorithm.applicable(request)) continue;
      const int roots = has_root(collective) ? std::min(p, 3) : 1;
      verdicts += roots * (folds(collective) ? 3 : 1);
      if (!folds(collective)) continue;
      for (const OpTraits op : {kIntegerSum, kFloatSum, kMax})
        refused += serves(algorithm, request, op) ? 0 : roots;
    }
    EXPECT_EQ(row.proved[k], verdicts - refused) << name_of(collective);
    all_refused += refused;
  }
  EXPECT_EQ(row.refused, all_refused);
  EXPECT_EQ(row.refused > 0, algorithm.folding != nullptr);
}

TEST_P(EveryAlgorithm, SpotChecksToAThousand) {
  const auto [name, degree] = GetParam();
  const SweepRow row = sweep(*find_algorithm(name), degree, {96, 127, 128, 255, 257, 512, 1000, 1023, 1024});
  EXPECT_EQ(row.wrong, 0) << row.first_wrong;
  EXPECT_GT(std::accumulate(std::begin(row.proved), std::end(row.proved), std::int64_t{0}), 0);
}

std::vector<std::pair<const char*, int>> table() {
  std::vector<std::pair<const char*, int>> out;
  for (const Algorithm& a : algorithms()) {
    for (const int k : degrees_of(a)) out.emplace_back(a.name, k);
  }
  return out;
}

std::string test_name(const testing::TestParamInfo<std::pair<const char*, int>>& chosen) {
  const auto [name, degree] = chosen.param;
  return std::string(name) + (find_algorithm(name)->has_degree ? "_" + std::to_string(degree) : "");
}

INSTANTIATE_TEST_SUITE_P(Table, EveryAlgorithm, testing::ValuesIn(table()), test_name);

TEST(Roots, EveryOneUpToThirtyThreeMembers) {
  for (const Algorithm& algorithm : algorithms()) {
    for (const Collective collective :
         {Collective::kBroadcast, Collective::kReduce, Collective::kGather, Collective::kScatter}) {
      for (int p = 1; p <= 33; ++p) {
        for (int root = 0; root < p; ++root) {
          const Request request{.collective = collective, .members = p, .root = root, .degree = 3};
          if (!algorithm.applicable(request)) continue;
          const auto verdict = verify(algorithm.build(request), kFloatSum);
          ASSERT_TRUE(verdict.ok()) << algorithm.name << " " << name_of(collective) << " P=" << p << " root "
                                    << root << ": " << verdict.error().message;
        }
      }
    }
  }
}

TEST(Broken, EveryScheduleBrokenOnPurposeIsSeen) {
  for (const BreakRow& row : broken_schedules()) {
    EXPECT_GT(row.tried, 0) << row.what;
    EXPECT_EQ(row.wrong, 0) << row.what << ": " << row.first_wrong;
  }
}

// Checks the result directly, without the sweep's own definition of what is right.
TEST(Dissemination, SumsAndMax) {
  const Algorithm& a = *find_algorithm("dissemination");
  for (int p = 1; p <= 70; ++p) {
    const Schedule s = a.build({.collective = Collective::kAllreduce, .members = p});
    EXPECT_EQ(verify(s, kFloatSum).ok(), p <= 2) << p;
    EXPECT_EQ(verify(s, kIntegerSum).ok(), std::has_single_bit(static_cast<unsigned>(p))) << p;
    EXPECT_TRUE(verify(s, kMax).ok()) << p;
  }
}

TEST(FloatingPointSums, AcceptedWhereAllMembersFoldOneTree) {
  int proved = 0;
  for (const Algorithm& algorithm : algorithms()) {
    for (int p = 1; p <= 70; ++p) {
      const Request request{.collective = Collective::kAllreduce, .members = p};
      if (!algorithm.applicable(request) || algorithm.folding != nullptr) continue;
      EXPECT_TRUE(verify(algorithm.build(request), kFloatSum).ok()) << algorithm.name << p;
      ++proved;
    }
  }
  EXPECT_GT(proved, 7 * 70);
}

TEST(Broken, AnySignalRemovedFromAnyMinimalBarrier) {
  for (const Algorithm& a : algorithms()) {
    if (!a.minimal) continue;
    for (const int k : degrees_of(a)) {
      for (const int p : {2, 3, 5, 8, 11, 16, 21}) {
        const Request request{.members = p, .degree = k};
        if (!a.applicable(request)) continue;
        const Schedule s = a.build(request);
        for (std::size_t stage = 0; stage < s.stages.size(); ++stage) {
          for (std::size_t i = 0; i < s.stages[stage].transfers.size(); ++i) {
            ASSERT_FALSE(verify(without(s, stage, i), {}).ok())
                << s.algorithm << " P=" << p << " stage " << stage;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace fermata
