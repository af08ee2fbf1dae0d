// The poll interval: found by timing windows of calls, unchanged while no other is clearly better, and the
// same at all members.
#include "exec/poll_interval.hpp"

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
                    PollInterval& poll_interval) {
  static std::uint64_t call = 0;
  static std::int64_t now = 0;
  if (calls == 0) call = now = 0;
  for (const std::uint64_t end = call + calls; call < end;) {
    now += ns_of(poll_interval.pauses());
    if (++call >= poll_interval.next()) poll_interval.take_time(call, now, 0, poll_interval.pauses());
  }
  return poll_interval.pauses();
}

constexpr std::uint64_t kTrial = PollInterval::kFirst + 13 * PollInterval::kWindow;

std::uint32_t found_by(const std::function<std::int64_t(std::uint32_t)>& ns_of) {
  PollInterval poll_interval;
  found(ns_of, 0, poll_interval);
  poll_interval.start(0);
  return found(ns_of, kTrial, poll_interval);
}

TEST(PollInterval, TheShortestWindowWins) {
  EXPECT_EQ(found_by([](std::uint32_t pauses) { return pauses == 1 ? 47 : 94; }), 1u);
  EXPECT_EQ(found_by([](std::uint32_t pauses) { return pauses == 2 ? 60 : 94; }), 2u);
  EXPECT_EQ(found_by([](std::uint32_t pauses) { return pauses == 4 ? 169 : 200; }), 4u);
}

TEST(PollInterval, TheProgramsOwnStaysWhereNothingIsDistinctlyBetter) {
  EXPECT_EQ(found_by([](std::uint32_t pauses) { return pauses == 0 ? 100 : 98; }), 0u);
  EXPECT_EQ(found_by([](std::uint32_t) { return 100; }), 0u);
}

TEST(PollInterval, ADisturbedWindowSaysNothing) {
  int calls = 0;
  EXPECT_EQ(found_by([&](std::uint32_t pauses) {
              return (pauses == 1 ? 47 : 94) + (++calls % 300 == 0 ? 1'000'000 : 0);
            }),
            1u);
}

TEST(PollInterval, OfCallsThatAreFarBetweenItIsLeft) {
  EXPECT_EQ(found_by([](std::uint32_t pauses) { return pauses == 1 ? 10'000 : 20'000; }), 0u);
}

TEST(PollInterval, TheMachineMayChange) {
  PollInterval poll_interval;
  bool far = false;
  const auto ns_of = [&](std::uint32_t pauses) {
    return far ? (pauses == 4 ? 169 : 200) : (pauses == 1 ? 47 : 94);
  };
  found(ns_of, 0, poll_interval);
  poll_interval.start(0);
  EXPECT_EQ(found(ns_of, 100'000, poll_interval), 1u);
  far = true;
  EXPECT_EQ(found(ns_of, 4 * PollInterval::kMostRest, poll_interval), 4u);
}

TEST(PollInterval, TrialsAreFewOfTheCalls) {
  PollInterval poll_interval;
  std::uint64_t others = 0;
  const auto ns_of = [&](std::uint32_t pauses) { return others += pauses != 0, 100; };
  found(ns_of, 0, poll_interval);
  poll_interval.start(0);
  found(ns_of, 10'000'000, poll_interval);
  EXPECT_EQ(others, 9 * PollInterval::kWindow);  // a trial, and then only looks: nothing changes
}

TEST(PollInterval, ATrialWhosePlanIsCalledNoMoreTellsNothing) {
  PollInterval poll_interval;
  poll_interval.start(0);
  std::uint64_t call = PollInterval::kFirst;
  poll_interval.take_time(call, 0, 2, 3);
  EXPECT_EQ(poll_interval.plan(), 2u);
  poll_interval.take_time(call += PollInterval::kWindow, 5000, 2, 3);
  const std::uint64_t from = call;
  for (std::int64_t now = 5100; poll_interval.next() <= from + 2 * PollInterval::kWindow; now += 100)
    poll_interval.take_time(call = poll_interval.next(), now, 1, 6);
  EXPECT_EQ(call, from + 2 * PollInterval::kWindow);
  EXPECT_EQ(poll_interval.plan(), 2u);
  EXPECT_EQ(poll_interval.pauses(), 3u);
  poll_interval.take_time(poll_interval.next(), 9000, 1, 6);
  EXPECT_EQ(poll_interval.plan(), 1u);
  EXPECT_EQ(poll_interval.pauses(), 6u);
}

// Loops of several plans, in turn: each finds its own.
TEST(PollInterval, EachPlanOfALoopHasATrial) {
  for (std::uint64_t plans = 1; plans <= 4; ++plans) {
    PollInterval poll_interval;
    poll_interval.start(0);
    std::uint32_t found[kPlanSlots] = {};
    std::int64_t now = 0;
    for (std::uint64_t call = 1; call < 1'000'000; ++call) {
      const auto plan = static_cast<std::uint32_t>(call % plans);
      now += found[plan] == 1 + plan % 2 ? 100 : 150;  // the best are 1 and 2 pauses
      if (call < poll_interval.next()) continue;
      poll_interval.take_time(call, now, plan, found[plan]);
      found[poll_interval.plan()] = poll_interval.pauses();
    }
    for (std::uint32_t plan = 0; plan < plans; ++plan)
      EXPECT_EQ(found[plan], 1 + plan % 2) << "plan " << plan << " of " << plans;
  }
}

TEST(PollInterval, MembersWhoseTrialsEndApartBeginTheNextOneTogether) {
  PollInterval two[2];
  for (PollInterval& each : two) each.start(0);
  std::int64_t now[2] = {};
  std::uint64_t begun[2] = {};
  for (std::uint64_t call = 1; call < 100'000; ++call)
    for (int i = 0; i < 2; ++i) {
      now[i] += i == 1 && call > 3'000 && call < 20'000 ? 200 : 100;  // only one sees a change
      if (call < two[i].next()) continue;
      if (call - begun[i] > 1'000) begun[i] = call;
      two[i].take_time(call, now[i], 0, two[i].pauses());
    }
  EXPECT_GT(begun[0], 20'000U);
  EXPECT_EQ(begun[0], begun[1]);
}

TEST(PollInterval, APlanThatKeepsItsPausesHasNoTrial) {
  PollInterval poll_interval;
  poll_interval.start(0);
  for (std::uint64_t call = 1; call < 100'000; ++call) {
    if (call < poll_interval.next()) continue;
    poll_interval.take_time(call, static_cast<std::int64_t>(call) * 100, kPlanSlots, 0);
    EXPECT_EQ(poll_interval.pauses(), 0U);
    EXPECT_GT(poll_interval.next(), call + 1'000);
  }
}

TEST(PollInterval, UnlessItIsStartedItIsTheProgramsForEver) {
  PollInterval poll_interval;
  EXPECT_EQ(found([](std::uint32_t) { return 100; }, 100'000, poll_interval), 0u);
}

// Two members make the same calls, on each kind of path.
class PollIntervalOfMembers : public testing::TestWithParam<int> {
 protected:
  static Status call(Member& m, FirstSignals& first_signals) {
    double value = 1;
    double seven[7] = {};
    const WholeFold add = [](void* acc, const void* other, void*) {
      *static_cast<double*>(acc) += *static_cast<const double*>(other);
    };
    switch (GetParam()) {
      case 0: return m.barrier(first_signals);
      case 1: return m.allreduce(&value, &value, 1, Type::kDouble, Op::kSum);
      case 2: return m.allreduce_whole(first_signals, &value, sizeof value, add, nullptr);
      default: return m.allreduce(seven, seven, 7, Type::kDouble, Op::kSum);
    }
  }
};

TEST_P(PollIntervalOfMembers, AllTryTheSameAtTheSameCall) {
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
    FirstSignals first_signals;
    m->keep_first_signals_in(&first_signals);
    m->find_poll_interval();
    for (std::uint64_t made = 1; made <= PollInterval::kFirst + 5 * PollInterval::kWindow; ++made) {
      if (call(*m, first_signals) != Status::kOk) break;
      if (made >= PollInterval::kFirst && made % PollInterval::kWindow == 0)
        pauses[rank].push_back(m->waiter().found_pauses());
      // Each await of the plan makes the pauses that were found.
      const Bound& plan = m->lines().plan(static_cast<PlanSlot>(m->waiter().timed_plan()));
      for (const Step* s = plan.steps; s->code != Code::kEnd; ++s) {
        if (s->code != Code::kAwait) continue;
        EXPECT_EQ(s->pauses, plan.found_pauses != 0 ? plan.found_pauses : plan.pauses) << made;
      }
      EXPECT_EQ(plan.found_pauses, m->waiter().found_pauses()) << made;
    }
    m->leave();
  };
  std::thread other(run, 1);
  run(0);
  other.join();
  team->release();
  EXPECT_EQ(pauses[0], (std::vector<std::uint32_t>{0, 4, 2, 1, 0, 4}));
  EXPECT_EQ(pauses[1], pauses[0]);
}

INSTANTIATE_TEST_SUITE_P(Calls, PollIntervalOfMembers, testing::Values(0, 1, 2, 3));

}  // namespace
}  // namespace fermata::exec
