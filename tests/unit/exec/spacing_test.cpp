// The poll interval: found by timing windows of calls, unchanged while no other is clearly better, and the
// same at all members.
#include "exec/spacing.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "exec/builtin.hpp"
#include "exec/member.hpp"
#include "exec/team.hpp"

namespace fermata::exec {
namespace {

// Makes calls that take ns_of(pauses) each, and returns the pauses chosen after `calls` of them.
std::uint32_t found(const std::function<std::int64_t(std::uint32_t)>& ns_of, std::uint64_t calls,
                    Spacing& spacing) {
  static std::uint64_t call = 0;
  static std::int64_t now = 0;
  if (calls == 0) call = now = 0;
  for (const std::uint64_t end = call + calls; call < end;) {
    now += ns_of(spacing.pauses());
    if (++call >= spacing.next()) spacing.turn(call, now);
  }
  return spacing.pauses();
}

constexpr std::uint64_t kTrial = Spacing::kFirst + 13 * Spacing::kWindow;

std::uint32_t found_by(const std::function<std::int64_t(std::uint32_t)>& ns_of) {
  Spacing spacing;
  found(ns_of, 0, spacing);
  spacing.start(0);
  return found(ns_of, kTrial, spacing);
}

TEST(Spacing, TheShortestWindowWins) {
  EXPECT_EQ(found_by([](std::uint32_t pauses) { return pauses == 1 ? 47 : 94; }), 1u);
  EXPECT_EQ(found_by([](std::uint32_t pauses) { return pauses == 2 ? 60 : 94; }), 2u);
  EXPECT_EQ(found_by([](std::uint32_t pauses) { return pauses == 4 ? 169 : 200; }), 4u);
}

TEST(Spacing, TheProgramsOwnStaysWhereNothingIsDistinctlyBetter) {
  EXPECT_EQ(found_by([](std::uint32_t pauses) { return pauses == 0 ? 100 : 98; }), 0u);
  EXPECT_EQ(found_by([](std::uint32_t) { return 100; }), 0u);
}

TEST(Spacing, ADisturbedWindowSaysNothing) {
  int calls = 0;
  EXPECT_EQ(found_by([&](std::uint32_t pauses) {
              return (pauses == 1 ? 47 : 94) + (++calls % 300 == 0 ? 1'000'000 : 0);
            }),
            1u);
}

TEST(Spacing, OfCallsThatAreFarBetweenItIsLeft) {
  EXPECT_EQ(found_by([](std::uint32_t pauses) { return pauses == 1 ? 10'000 : 20'000; }), 0u);
}

TEST(Spacing, TheMachineMayChange) {
  Spacing spacing;
  bool far = false;
  const auto ns_of = [&](std::uint32_t pauses) {
    return far ? (pauses == 4 ? 169 : 200) : (pauses == 1 ? 47 : 94);
  };
  found(ns_of, 0, spacing);
  spacing.start(0);
  EXPECT_EQ(found(ns_of, 100'000, spacing), 1u);
  far = true;
  EXPECT_EQ(found(ns_of, 4 * Spacing::kMostRest, spacing), 4u);
}

TEST(Spacing, TrialsAreFewOfTheCalls) {
  Spacing spacing;
  std::uint64_t others = 0;
  const auto ns_of = [&](std::uint32_t pauses) { return others += pauses != 0, 100; };
  found(ns_of, 0, spacing);
  spacing.start(0);
  found(ns_of, 10'000'000, spacing);
  EXPECT_GT(others, 9 * Spacing::kWindow);
  EXPECT_LT(others, 100'000u);
}

TEST(Spacing, UnlessItIsStartedItIsTheProgramsForEver) {
  Spacing spacing;
  EXPECT_EQ(found([](std::uint32_t) { return 100; }, 100'000, spacing), 0u);
}

// Two members make the same calls, on each kind of path.
class SpacingOfMembers : public testing::TestWithParam<int> {
 protected:
  static Status call(Member& m, Openings& openings) {
    double value = 1;
    double seven[7] = {};
    const WholeFold add = [](void* acc, const void* other, void*) {
      *static_cast<double*>(acc) += *static_cast<const double*>(other);
    };
    switch (GetParam()) {
      case 0: return m.barrier(openings);
      case 1: return m.allreduce(&value, &value, 1, Type::kDouble, Op::kSum);
      case 2: return m.allreduce_whole(openings, &value, sizeof value, add, nullptr);
      default: return m.allreduce(seven, seven, 7, Type::kDouble, Op::kSum);
    }
  }
};

TEST_P(SpacingOfMembers, AllTryTheSameAtTheSameCall) {
  ProgramHeader* const programs[] = {make_builtin(builtin_barrier(2, 2)),
                                     make_builtin(builtin_allreduce(2, 8)),
                                     make_builtin(builtin_allreduce(2, kLinePayload))};
  TeamOptions options;
  options.members = 2;
  options.programs[static_cast<int>(PlanSlot::kBarrier)] = programs[0];
  options.programs[static_cast<int>(PlanSlot::kAllreduce8)] = programs[1];
  options.programs[static_cast<int>(PlanSlot::kAllreduce56)] = programs[2];
  Team* team = nullptr;
  const char* detail = "";
  ASSERT_EQ(Team::create(options, &team, &detail), Status::kOk) << detail;
  for (ProgramHeader* program : programs) free(program);
  std::vector<std::uint32_t> pauses[2];
  const auto run = [&](std::uint32_t rank) {
    Member* m = nullptr;
    const char* why = "";
    if (Member::join(team, rank, &m, &why) != Status::kOk) return;
    Openings openings;
    m->keep_openings_in(&openings);
    m->find_spacing();
    for (std::uint64_t made = 1; made <= Spacing::kFirst + 5 * Spacing::kWindow; ++made) {
      if (call(*m, openings) != Status::kOk) break;
      if (made >= Spacing::kFirst && made % Spacing::kWindow == 0) pauses[rank].push_back(m->found_pauses());
    }
    m->leave();
  };
  std::thread other(run, 1);
  run(0);
  other.join();
  team->release();
  EXPECT_EQ(pauses[0], (std::vector<std::uint32_t>{0, 1, 2, 4, 0, 1}));
  EXPECT_EQ(pauses[1], pauses[0]);
}

INSTANTIATE_TEST_SUITE_P(Calls, SpacingOfMembers, testing::Values(0, 1, 2, 3));

}  // namespace
}  // namespace fermata::exec
