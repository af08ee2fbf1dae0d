// Equation 1 of remote-store-barriers: time = cycles / f + fixed time.
#include "sim/clock.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "sim/simulate.hpp"

namespace fermata::sim {
namespace {

// Section IV.C: a remote load takes 1.89 us, and 534 ns with a clock of about five times (HT2000).
TEST(Clock, SplitsTwoTimes) {
  const double clock = 5;
  const ClockSplit split = split_of(1890, 534, clock);
  EXPECT_NEAR(split.ns(1), 1890, 1e-9);
  EXPECT_NEAR(split.ns(clock), 534, 1e-9);
  EXPECT_NEAR(split.fixed_ns, 195, 0.1);
  const ClockSplit slower = split_of(300, 500, 0.5);
  EXPECT_NEAR(slower.cycles_ns, 200, 1e-9);
  EXPECT_NEAR(slower.fixed_ns, 100, 1e-9);
}

// Signals take 100 ns within a cache, 300 between packages, 1,100 between hosts.
Profile machine(const RegularShape& shape) {
  Profile p = estimate_profile(*topology_from_regular(shape));
  for (std::int32_t i = 0; i < p.o.n; ++i)
    for (std::int32_t j = 0; j < p.o.n; ++j) {
      const Level level = common_level(p.topology.cpus[static_cast<std::size_t>(i)],
                                       p.topology.cpus[static_cast<std::size_t>(j)]);
      p.o.at(i, j) = i == j ? 4 : level <= Level::kL3 ? 90 : level < Level::kNetwork ? 270 : 1000;
      p.l.at(i, j) = i == j ? 0 : level <= Level::kL3 ? 10 : level < Level::kNetwork ? 30 : 100;
    }
  return p;
}

TEST(Clock, LinksKeepTheirTime) {
  const Profile p = machine({.hosts = 2, .packages = 2, .cores = 2}), twice = at_clock(p, 2, 5);
  EXPECT_EQ(twice.o.at(0, 0), 2);
  EXPECT_EQ(twice.o.at(0, 1), 45);
  EXPECT_EQ(twice.l.at(0, 1), 5);
  EXPECT_EQ(twice.o.at(0, 2), 265);  // without half of the work of both ends, 2 x 5 ns
  EXPECT_EQ(twice.l.at(0, 2), 30);
  EXPECT_EQ(twice.o.at(0, 4), 1000);
  EXPECT_EQ(twice.l.at(0, 4), 100);
  EXPECT_EQ(twice.word_add_ns[1], p.word_add_ns[1] / 2);
  EXPECT_EQ(twice.awaited_ns, p.awaited_ns / 2);
  EXPECT_EQ(at_clock(p, 1, 5), p);
  // No two CPUs share a cache: what was measured between the nearest ones keeps its time.
  const Profile apart = machine({.packages = 4});
  EXPECT_EQ(at_clock(apart, 2, 5).awaited_ns, apart.awaited_ns);
  EXPECT_EQ(at_clock(apart, 2, 5).word_read_ns, apart.word_read_ns);
}

// The latency with work of 6 ns at the given clock.
double latency(const Profile& p, double clock, const std::string& algorithm) {
  PlanOptions options;
  options.key.members = static_cast<std::int32_t>(p.topology.cpus.size());
  options.key.cpus = place(p.topology, options.key.members, Placement::kCore);
  take_hosts(options.key, p.topology);
  options.algorithm = algorithm;
  options.layout = "private";
  const auto plan = make_plan(p.topology, p, options, nullptr);
  EXPECT_TRUE(plan.ok()) << plan.error().message;
  const auto program = compile_lines(*plan);
  EXPECT_TRUE(program.ok());
  const auto outcome = simulate(*program, plan->key, p.topology, at_clock(p, clock, 6),
                                {.quantity = Quantity::kLatency, .costs = {.work_ns = 6 / clock}});
  EXPECT_TRUE(outcome.ok());
  return outcome.ok() ? outcome->ns : 0;
}

TEST(Clock, WithinACacheAllScales) {
  const Profile p = machine({.cores = 8});
  for (const char* algorithm : {"linear", "kary(3)", "dissemination"})
    for (const double clock : {0.5, 2.0, 4.0})
      EXPECT_NEAR(latency(p, clock, algorithm), latency(p, 1, algorithm) / clock, 0.1) << algorithm;
}

TEST(Clock, BetweenPackagesWorkScales) {
  const Profile p = machine({.packages = 2});
  const ClockSplit split = split_of(latency(p, 1, "dissemination"), latency(p, 2, "dissemination"), 2);
  EXPECT_NEAR(split.fixed_ns, 300 - 2 * 6, 0.1);
  EXPECT_NEAR(split.cycles_ns, 2 * 6, 0.1);
}

// A member's work for the message that it sends, and for the one that it takes.
TEST(Clock, BetweenHostsWorkScales) {
  const Profile p = machine({.hosts = 2});
  const ClockSplit split = split_of(latency(p, 1, "dissemination"), latency(p, 2, "dissemination"), 2);
  EXPECT_NEAR(split.fixed_ns, 1100, 0.1);
  EXPECT_NEAR(split.cycles_ns, 2 * 6, 0.1);
}

}  // namespace
}  // namespace fermata::sim
