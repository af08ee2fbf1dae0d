// Teams over several hosts, which threads simulate: every algorithm flat over the hosts, and the planner's
// compositions. Links delay, reorder and lose messages.
#include <gtest/gtest.h>

#include "algo/algorithm.hpp"
#include "worker.hpp"

namespace fermata::test {
namespace {

struct Shape {
  int members, hosts;
  bool scattered;
};
constexpr Shape kShapes[] = {{2, 2, false}, {3, 2, false}, {4, 2, false},
                             {4, 2, true},  {5, 3, true},  {8, 4, false}};

constexpr struct {
  int collective, payload;
} kCollectives[] = {{FERMATA_BARRIER, 0},   {FERMATA_ALLREDUCE, 8}, {FERMATA_ALLREDUCE, 56},
                    {FERMATA_REDUCE, 8},    {FERMATA_REDUCE, 56},   {FERMATA_BROADCAST, 8},
                    {FERMATA_BROADCAST, 56}};

std::string name_of_case(const PropertyCase& c) {
  return std::string(name_of(static_cast<Collective>(c.collective))) + " of " + std::to_string(c.payload) +
         " bytes by '" + c.algorithm + "', " + std::to_string(c.members) + " members, " +
         std::to_string(c.hosts) + (c.scattered ? " hosts in turn" : " hosts");
}

void expect_property(const PropertyCase& c) { EXPECT_EQ(run_property(c), "") << name_of_case(c); }

TEST(Hosts, ThePlannersCompositionsKeepTheProperty) {
  for (const Shape& shape : kShapes)
    for (const auto& [collective, payload] : kCollectives)
      for (const net::LoopOptions& links : {kGoodLinks, kBadLinks})
        expect_property({.collective = collective,
                         .members = shape.members,
                         .payload = payload,
                         .episodes = 20 / FERMATA_TEST_SCALE + 2,
                         .arrivals = Arrivals::kRandom,
                         .hosts = shape.hosts,
                         .scattered = shape.scattered,
                         .links = links});
}

TEST(Hosts, EveryAlgorithmKeepsThePropertyFlatOverHosts) {
  int run = 0;
  for (const Algorithm& algorithm : algorithms())
    for (const auto& [collective, payload] : kCollectives) {
      const PropertyCase c{.algorithm = algorithm.name,
                           .collective = collective,
                           .members = 4,
                           .payload = payload,
                           .episodes = 12 / FERMATA_TEST_SCALE + 1,
                           .hosts = 2,
                           .scattered = payload == 8,
                           .links = kBadLinks};
      const std::string problem = run_property(c);
      if (problem.starts_with("unsupported: ") || problem.starts_with("plan: no candidate can be proved"))
        continue;
      EXPECT_EQ(problem, "") << name_of_case(c);
      ++run;
    }
  EXPECT_GT(run, 20);
}

TEST(Hosts, LateLinksAndEveryWaitPolicy) {
  for (const int wait : {FERMATA_WAIT_AUTO, FERMATA_WAIT_SPIN, FERMATA_WAIT_YIELD, FERMATA_WAIT_PARK})
    for (const Arrivals arrivals : {Arrivals::kOneLate, Arrivals::kOneEarly})
      expect_property({.collective = FERMATA_ALLREDUCE,
                       .members = 4,
                       .payload = 8,
                       .wait = wait,
                       .episodes = 5,
                       .arrivals = arrivals,
                       .hosts = 2,
                       .links = kLateLinks});
}

TEST(Hosts, TagsAreComparedAcrossHosts) {
  expect_property({.collective = FERMATA_BARRIER,
                   .members = 6,
                   .episodes = 20,
                   .tagged = true,
                   .hosts = 3,
                   .links = kBadLinks});
}

TEST(Hosts, PublishedLinesStayOnTheirHost) {
  expect_property({.algorithm = "linear",
                   .layout = "published+2slots",
                   .collective = FERMATA_ALLREDUCE,
                   .members = 6,
                   .payload = 8,
                   .episodes = 20,
                   .hosts = 2,
                   .links = kBadLinks});
}

TEST(Hosts, TheWorkerSeesABrokenBarrier) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a member that does not wait makes a data race, which ThreadSanitizer reports";
#endif
  EXPECT_NE(run_property({.collective = FERMATA_BARRIER,
                          .members = 4,
                          .episodes = 20,
                          .sabotage = true,
                          .hosts = 2,
                          .links = kLateLinks}),
            "");
}

}  // namespace
}  // namespace fermata::test
