// Timing of a compiled program on this machine.
#include "team/measure.hpp"
#include "team/machine.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "algo/algorithm.hpp"

namespace fermata {
namespace {

Plan exchange_of_two(Engine engine) {
  Plan plan;
  plan.schedule = find_algorithm("dissemination")->build({.members = 2});
  plan.key.members = 2;
  plan.key.engine = engine;
  return plan;
}

TEST(Measure, GivesATimeOfThreadsAndOfProcesses) {
  for (const Engine engine : {Engine::kThreads, Engine::kProcesses}) {
    const Plan plan = exchange_of_two(engine);
    const auto program = compile_lines(plan);
    ASSERT_TRUE(program) << program.error().message;
    const auto ns = measure_on_this_machine()(*program, plan.key, 0);
    ASSERT_TRUE(ns) << ns.error().message;
    EXPECT_TRUE(std::isfinite(*ns) && *ns > 0) << *ns;
  }
}

TEST(Measure, WantsACpuForEachMemberOrNone) {
  Plan plan = exchange_of_two(Engine::kThreads);
  const auto program = compile_lines(plan);
  ASSERT_TRUE(program) << program.error().message;
  plan.key.cpus = {0};
  const auto ns = measure_on_this_machine()(*program, plan.key, 0);
  ASSERT_FALSE(ns);
  EXPECT_EQ(ns.error().status, Status::kArgument);
  EXPECT_EQ(ns.error().message, "one CPU per member is needed to measure");
}

}  // namespace
}  // namespace fermata
