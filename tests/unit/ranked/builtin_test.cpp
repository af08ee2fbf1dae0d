// The built-in programs equal the plan compiler's output byte for byte, and the compiler compiles nothing
// unproved.
#include "exec/builtin.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "algo/algorithm.hpp"
#include "plan/plan.hpp"
#include "schedule/verify.hpp"

namespace fermata {
namespace {

using exec::Builtin;
using exec::BuiltinPlan;
using Blob = std::unique_ptr<ProgramHeader, decltype(&std::free)>;

Plan planned(const BuiltinPlan& builtin) {
  static constexpr const char* kNames[] = {"dissemination", "counter",  "complete",
                                           "linear",        "binomial", "butterfly"};
  const Algorithm* algorithm = find_algorithm(kNames[static_cast<int>(builtin.algorithm)]);
  Plan plan;
  plan.key.collective = builtin.is_barrier() ? Collective::kBarrier : Collective::kAllreduce;
  plan.key.members = static_cast<std::int32_t>(builtin.members);
  plan.key.payload = static_cast<std::int32_t>(builtin.payload);
  plan.schedule = algorithm->build({.collective = plan.key.collective, .members = plan.key.members});
  plan.layout = LayoutChoice{.layout = builtin.packed ? Layout::kPacked : Layout::kPrivate,
                             .slots = static_cast<std::int32_t>(builtin.slots),
                             .line = static_cast<std::int32_t>(builtin.line),
                             .pauses = static_cast<std::int32_t>(builtin.pauses)};
  return plan;
}

void expect_same(const BuiltinPlan& builtin) {
  const Blob made(exec::make_builtin(builtin), &std::free);
  ASSERT_NE(made, nullptr);
  const auto compiled = compile_lines(planned(builtin));
  ASSERT_TRUE(compiled) << compiled.error().message;
  ASSERT_EQ(made->bytes, compiled->size());
  EXPECT_EQ(std::memcmp(made.get(), compiled->data(), compiled->size()), 0);
  EXPECT_TRUE(program_is_sound(made.get(), made->bytes));
}

TEST(Builtins, AreWhatTheCompilerMakes) {
  for (std::uint32_t members = 1; members <= 70; ++members) {
    SCOPED_TRACE(members);
    for (const std::uint32_t cpus : {members, members - 1}) expect_same(exec::builtin_barrier(members, cpus));
    for (const std::uint32_t payload : {8u, 56u}) expect_same(exec::builtin_allreduce(members, payload));
    for (const bool tree : {false, true}) expect_same(exec::builtin_forkjoin(members, tree));
  }
}

TEST(Builtins, AreSoInOtherLayoutsToo) {
  for (const std::uint32_t members : {2u, 3u, 5u, 8u}) {
    for (const bool packed : {true, false}) {
      for (const Builtin algorithm : {Builtin::kDissemination, Builtin::kCounter, Builtin::kComplete,
                                      Builtin::kLinear, Builtin::kBinomial}) {
        const bool barrier = algorithm == Builtin::kDissemination || algorithm == Builtin::kCounter;
        expect_same({.algorithm = algorithm,
                     .members = members,
                     .payload = barrier ? 0u : 56u,
                     .packed = packed,
                     .slots = 2});
        expect_same({.algorithm = algorithm,
                     .members = members,
                     .payload = barrier ? 0u : 8u,
                     .packed = packed,
                     .slots = 4,
                     .line = 128,
                     .pauses = 3});
      }
    }
  }
}

TEST(Builtins, CountWhereMembersOutnumberCpus) {
  EXPECT_EQ(exec::builtin_barrier(4, 4).algorithm, Builtin::kDissemination);
  EXPECT_EQ(exec::builtin_barrier(4, 3).algorithm, Builtin::kCounter);
}

// A user's operator may be neither associative nor commutative.
TEST(Builtins, AllreducesKeepRankOrder) {
  for (std::uint32_t members = 1; members <= 70; ++members) {
    const Schedule schedule = planned(exec::builtin_allreduce(members, 8)).schedule;
    const auto proof =
        verify(schedule, OpTraits{.associative = false, .commutative = false, .idempotent = false});
    EXPECT_TRUE(proof) << members << ": " << proof.error().message;
  }
}

TEST(Builtins, AreMadeForTheLargestTeams) {
  for (const BuiltinPlan& plan : {exec::builtin_barrier(4096, 4096), exec::builtin_barrier(4096, 2),
                                  exec::builtin_allreduce(4096, 56), exec::builtin_forkjoin(4096, true)}) {
    const Blob made(exec::make_builtin(plan), &std::free);
    ASSERT_NE(made, nullptr);
    EXPECT_TRUE(program_is_sound(made.get(), made->bytes));
  }
}

}  // namespace
}  // namespace fermata
