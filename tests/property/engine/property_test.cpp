// The property worker over table x layouts x engines x wait policies.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../../third.hpp"
#include "algo/algorithm.hpp"
#include "plan/plan.hpp"
#include "worker.hpp"

namespace fermata::test {
namespace {

// Sanitizers and emulators run fewer cases.
constexpr int kScale = FERMATA_TEST_SCALE > 1 ? 4 : 1;

std::vector<std::string> spellings(int collective, int members) {
  std::vector<std::string> all;
  for (const Algorithm& a : algorithms()) {
    Request request{.collective = static_cast<Collective>(collective),
                    .half = Half::kWhole,
                    .members = members,
                    .root = 0,
                    .degree = 2};
    const std::vector<int> degrees = a.has_degree ? std::vector<int>{2, 3, 5} : std::vector<int>{2};
    for (const int degree : degrees) {
      request.degree = degree;
      if (a.applicable(request) && serves(a, request, algebra_of(request.collective)))
        all.push_back(a.has_degree ? std::string(a.name) + "(" + std::to_string(degree) + ")" : a.name);
    }
  }
  return all;
}

std::string describe(const PropertyCase& c) {
  return c.algorithm + "/" + c.layout + " collective " + std::to_string(c.collective) + " P " +
         std::to_string(c.members) + " bytes " + std::to_string(c.payload) + " engine " +
         std::to_string(c.engine) + " wait " + std::to_string(c.wait);
}

// The proof refuses one slot where it would be overwritten unread, and the layout refuses a payload that does
// not fit.
bool is_refused(const std::string& problem) {
  return problem.rfind("team: ", 0) == 0 || problem.rfind("plan: ", 0) == 0 ||
         problem.rfind("unsupported", 0) == 0;
}

// Runs a case. Returns 0 if the table cannot build it, else 1.
int expect_holds(const PropertyCase& c) {
  const std::string problem = run_property(c);
  if (problem.rfind("unsupported", 0) == 0) return 0;
  EXPECT_EQ(problem, "") << describe(c);
  return 1;
}

struct CollectiveParam {
  const char* name;
  int collective;
  int payload;
};

class Property : public ::testing::TestWithParam<CollectiveParam> {};

TEST_P(Property, EveryAlgorithmEverySmallTeam) {
  int ran = 0;
  for (int members = 1; members <= 9; ++members) {
    const std::vector<std::string> algorithms = spellings(GetParam().collective, members);
    for (std::size_t a = 0; a < algorithms.size(); ++a) {
      if (!test::runs_here(static_cast<std::size_t>(members) + a)) continue;
      PropertyCase c{.algorithm = algorithms[a],
                     .layout = "private+2slots",
                     .collective = GetParam().collective,
                     .members = members,
                     .payload = GetParam().payload,
                     .episodes = 40 / kScale};
      c.arrivals = static_cast<Arrivals>(ran % 4);
      ran += expect_holds(c);
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(ran, kScale > 1 ? 10 : 30);
}

// Engines, wait policies and layouts change with different periods, so that all combinations occur.
PropertyCase rotated(int n, const std::string& algorithm, const CollectiveParam& param, int members) {
  static constexpr int kEngines[] = {FERMATA_THREADS, FERMATA_PROCESSES, kMixed};
  static constexpr int kWaits[] = {FERMATA_WAIT_AUTO, FERMATA_WAIT_YIELD, FERMATA_WAIT_PARK,
                                   FERMATA_WAIT_AUTO, FERMATA_WAIT_SPIN};
  static constexpr const char* kLayouts[] = {"private+2slots", "packed+2slots", "published+2slots",
                                             "private+4slots+stride3"};
  PropertyCase c{.algorithm = algorithm,
                 .layout = kLayouts[n % 4],
                 .collective = param.collective,
                 .members = members,
                 .payload = param.payload,
                 .engine = kEngines[n % 3],
                 .wait = kWaits[n % 5],
                 .episodes = 8 / (kScale > 1 ? 2 : 1)};
  c.arrivals = static_cast<Arrivals>(n / 3 % 4);
  // A spinner without a CPU of its own only wastes time slices.
  if (c.wait == FERMATA_WAIT_SPIN && members > 2) c.wait = FERMATA_WAIT_YIELD;
  if (c.engine == kMixed && (members < 4 || !kSeesOtherProcesses)) c.engine = FERMATA_THREADS;
  return c;
}

TEST_P(Property, EveryAlgorithmEveryTeam) {
  int ran = 0;
  int n = 0;
  for (int members = 1; members <= 33; ++members) {
    if (kScale > 1 && members != 2 && members != 17) continue;  // under sanitizers a size takes minutes
    // Large teams: half of the collectives run the even sizes, half the odd ones; each algorithm runs both.
    if (kScale == 1 && members > 17 && (members + GetParam().collective + GetParam().payload / 56) % 2 == 0)
      continue;
    const std::vector<std::string> algorithms = spellings(GetParam().collective, members);
    for (std::size_t a = 0; a < algorithms.size(); ++a) {
      if (!test::runs_here(static_cast<std::size_t>(members) + a)) continue;
      PropertyCase c = rotated(n++, algorithms[a], GetParam(), members);
      std::string problem = run_property(c);
      if (is_refused(problem)) {
        c.layout = "private+2slots";
        problem = run_property(c);
      }
      if (problem.rfind("unsupported", 0) == 0) continue;
      ++ran;
      ASSERT_EQ(problem, "") << describe(c);
    }
  }
  EXPECT_GT(ran, kScale > 1 ? 2 : 100);
}

TEST_P(Property, LayoutsSlotsAndStrides) {
  int ran = 0;
  std::size_t nth_layout = 0;
  for (const char* layout :
       {"private", "private+2slots", "private+4slots+stride3", "published+2slots", "published+4slots",
        "packed", "packed+2slots", "packed+8slots", "packed+2slots:published+4slots+line128",
        "published+4slots:private+2slots+stride2:packed+2slots", "private+2slots+line128",
        "private+stride5"}) {
    ++nth_layout;
    for (const int members : {2, 3, 5, 8}) {
      if (kScale > 1 && members != 2 && members != 5) continue;
      const std::vector<std::string> algorithms = spellings(GetParam().collective, members);
      for (std::size_t a = 0; a < algorithms.size(); ++a) {
        if (!test::runs_here(nth_layout + static_cast<std::size_t>(members) + a)) continue;
        PropertyCase c{.algorithm = algorithms[a],
                       .layout = layout,
                       .collective = GetParam().collective,
                       .members = members,
                       .payload = GetParam().payload,
                       .episodes = 30 / kScale};
        c.arrivals = Arrivals::kRandom;
        const std::string problem = run_property(c);
        if (is_refused(problem)) continue;
        ++ran;
        ASSERT_EQ(problem, "") << describe(c);
      }
    }
  }
  EXPECT_GT(ran, kScale > 1 ? 15 : 60);
}

TEST_P(Property, WaitPoliciesAndEngines) {
  int ran = 0;
  for (const int engine : engines()) {
    for (const int wait : {FERMATA_WAIT_AUTO, FERMATA_WAIT_SPIN, FERMATA_WAIT_YIELD, FERMATA_WAIT_PARK}) {
      for (const int members : {1, 2, 3, 4, 7}) {
        if (kScale > 1 && members != 2 && members != 4) continue;  // 4: the smallest mixed team
        // a spinner without a CPU of its own only wastes time slices
        if (wait == FERMATA_WAIT_SPIN && members > 2) continue;
        if (engine == kMixed && (members < 4 || wait == FERMATA_WAIT_YIELD || !kSeesOtherProcesses)) continue;
        const std::vector<std::string> algorithms = spellings(GetParam().collective, members);
        for (std::size_t a = 0; a < algorithms.size(); ++a) {
          if (!test::runs_here(static_cast<std::size_t>(engine + wait) + a)) continue;
          PropertyCase c{.algorithm = algorithms[a],
                         .layout = "private+2slots",
                         .collective = GetParam().collective,
                         .members = members,
                         .payload = GetParam().payload,
                         .engine = engine,
                         .wait = wait,
                         .episodes = 12 / (kScale > 1 ? 3 : 1)};
          c.arrivals = Arrivals::kRandom;
          ran += expect_holds(c);
          if (HasFailure()) return;
        }
      }
    }
  }
  EXPECT_GT(ran, kScale > 1 ? 15 : 60);
}

TEST_P(Property, ThePlannersChoice) {
  for (int members = 1; members <= 33; ++members) {
    if (kScale > 1 && members > 9 && members % 16 > 1) continue;
    if (!test::runs_here(static_cast<std::size_t>(members))) continue;
    PropertyCase c{.algorithm = "",
                   .layout = "",
                   .collective = GetParam().collective,
                   .members = members,
                   .payload = GetParam().payload,
                   .episodes = 20 / kScale};
    EXPECT_EQ(expect_holds(c), 1);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Collectives, Property,
                         ::testing::Values(CollectiveParam{"barrier", FERMATA_BARRIER, 0},
                                           CollectiveParam{"allreduce8", FERMATA_ALLREDUCE, 8},
                                           CollectiveParam{"allreduce56", FERMATA_ALLREDUCE, 56},
                                           CollectiveParam{"reduce8", FERMATA_REDUCE, 8},
                                           CollectiveParam{"reduce56", FERMATA_REDUCE, 56},
                                           CollectiveParam{"broadcast8", FERMATA_BROADCAST, 8},
                                           CollectiveParam{"broadcast56", FERMATA_BROADCAST, 56}),
                         [](const auto& param) { return std::string(param.param.name); });

TEST(Worker, SeesAMemberThatDidNotWait) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a member that does not wait makes a data race, which ThreadSanitizer reports";
#endif
  PropertyCase c;
  c.members = 3;
  c.episodes = 200;
  c.arrivals = Arrivals::kOneLate;
  c.sabotage = true;
  EXPECT_NE(run_property(c).find("left before all had entered"), std::string::npos);
}

TEST(TaggedBarrier, EveryAlgorithmWithoutWords) {
  int ran = 0;
  for (int members = 1; members <= 9; ++members) {
    const std::vector<std::string> algorithms = spellings(FERMATA_BARRIER, members);
    for (std::size_t a = 0; a < algorithms.size(); ++a) {
      if (!test::runs_here(static_cast<std::size_t>(members) + a)) continue;
      PropertyCase c{.algorithm = algorithms[a],
                     .layout = "private+2slots",
                     .collective = FERMATA_BARRIER,
                     .members = members,
                     .episodes = 20 / kScale,
                     .tagged = true};
      const std::string problem = run_property(c);
      if (is_refused(problem)) continue;
      ++ran;
      ASSERT_EQ(problem, "") << describe(c);
    }
  }
  EXPECT_GT(ran, kScale > 1 ? 10 : 30);
}

}  // namespace
}  // namespace fermata::test
