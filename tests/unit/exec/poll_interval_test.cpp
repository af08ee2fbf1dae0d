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

using NsOf = std::function<std::int64_t(const Polling&)>;

// A member that makes the same call over and over.
struct Calls {
  PollInterval poll_interval;
  std::uint64_t call = 0;
  std::int64_t now = 0;

  Calls() { poll_interval.start(0); }
  // Makes calls that take ns_of(polling) each, and returns the polling chosen after `calls` of them.
  Polling found(const NsOf& ns_of, std::uint64_t calls) {
    for (const std::uint64_t end = call + calls; call < end;) {
      now += ns_of(poll_interval.found());
      if (++call >= poll_interval.next()) poll_interval.take_time(call, now, 0, poll_interval.found());
    }
    return poll_interval.found();
  }
};

constexpr std::uint64_t kOneTrial = 6'000;  // calls: the first trial has ended, and no other has begun

Polling found_by(const NsOf& ns_of) { return Calls().found(ns_of, kOneTrial); }

TEST(PollInterval, TheShortestWindowsWin) {
  EXPECT_EQ(found_by([](const Polling& p) { return p == Polling{1, 0} ? 47 : 94; }), (Polling{1, 0}));
  EXPECT_EQ(found_by([](const Polling& p) { return p == Polling{2, 0} ? 60 : 94; }), (Polling{2, 0}));
  EXPECT_EQ(found_by([](const Polling& p) { return p.pauses == 4 ? 169 + p.delay : 200; }), (Polling{4, 0}));
}

TEST(PollInterval, ADelayIsFoundAmongItsNeighbours) {
  for (const std::uint32_t delay : {44U, 52U, 64U})
    EXPECT_EQ(found_by([&](const Polling& p) { return p == Polling{1, delay} ? 40 : 54; }),
              (Polling{1, delay}));
  EXPECT_EQ(found_by([](const Polling& p) { return p.pauses == 4 && p.delay > 0 ? 147 : 198; }),
            (Polling{4, 52}));
}

TEST(PollInterval, ADelayThatCostsIsNotChosen) {
  EXPECT_EQ(found_by([](const Polling& p) { return p.delay > 0 ? 44 : 33; }), Polling{});
}

TEST(PollInterval, TheProgramsOwnStaysWhereNothingIsDistinctlyBetter) {
  EXPECT_EQ(found_by([](const Polling& p) { return p.pauses == 0 ? 100 : 98; }), Polling{});
  EXPECT_EQ(found_by([](const Polling&) { return 100; }), Polling{});
}

TEST(PollInterval, ADisturbedWindowSaysNothing) {
  int calls = 0;
  EXPECT_EQ(found_by([&](const Polling& p) {
              return (p == Polling{1, 0} ? 47 : 94) + (++calls % 1'500 == 0 ? 1'000'000 : 0);
            }),
            (Polling{1, 0}));
}

// One window of each choice is far too short, by chance.
TEST(PollInterval, ALuckyWindowSaysNothing) {
  Polling last;
  int changes = 0;
  EXPECT_EQ(found_by([&](const Polling& p) {
              if (p != last) ++changes;
              last = p;
              const bool lucky = changes <= 8 && p != Polling{2, 0};
              return p == Polling{2, 0} ? 60 : lucky ? 30 : 94;
            }),
            (Polling{2, 0}));
}

TEST(PollInterval, TheFirstCallsWithAnotherChoiceDoNotCount) {
  Polling last;
  std::uint64_t since = 0;
  EXPECT_EQ(found_by([&](const Polling& p) {
              since = p == last ? since + 1 : 0;
              last = p;
              if (p.delay == 0) return 54;
              return since < PollInterval::kSettle ? 500 : 40 + static_cast<int>(p.delay) / 10;
            }),
            (Polling{1, 44}));
}

TEST(PollInterval, OfCallsThatAreFarBetweenItIsLeft) {
  EXPECT_EQ(found_by([](const Polling& p) { return p.pauses == 1 ? 10'000 : 20'000; }), Polling{});
}

TEST(PollInterval, TheMachineMayChange) {
  Calls calls;
  bool far = false;
  const auto ns_of = [&](const Polling& p) {
    if (far) return p == Polling{4, 52} ? 147 : 198;
    return p == Polling{1, 0} ? 47 : 94;
  };
  EXPECT_EQ(calls.found(ns_of, 100'000), (Polling{1, 0}));
  far = true;
  EXPECT_EQ(calls.found(ns_of, 2 * PollInterval::kMostRest), (Polling{4, 52}));
}

TEST(PollInterval, TrialsAreFewOfTheCalls) {
  Calls calls;
  std::uint64_t others = 0;
  calls.found([&](const Polling& p) { return others += p.pauses != 0, 100; }, 10'000'000);
  // a trial of seven choices, and then only looks: nothing changes
  EXPECT_EQ(others, 7 * 5 * (PollInterval::kSettle + PollInterval::kWindow));
}

// A machine that changes all the time costs few calls, too.
TEST(PollInterval, RepeatedTrialsAreFewOfTheCalls) {
  Calls calls;
  std::uint64_t others = 0, made = 0;
  const auto ns_of = [&](const Polling& p) {
    others += p.pauses != 0;
    return 100 << (++made / PollInterval::kMostRest % 4);
  };
  calls.found(ns_of, 10'000'000);
  const std::uint64_t trial = 7 * 5 * (PollInterval::kSettle + PollInterval::kWindow);
  EXPECT_GT(others, 10 * trial);
  EXPECT_LT(others, 10'000'000 / 50);
}

TEST(PollInterval, ATrialWhosePlanIsCalledNoMoreTellsNothing) {
  PollInterval poll_interval;
  poll_interval.start(0);
  std::uint64_t call = PollInterval::kFirst;
  poll_interval.take_time(call, 0, 2, {3, 7});
  EXPECT_EQ(poll_interval.plan(), 2u);
  poll_interval.take_time(call += PollInterval::kSettle, 5000, 2, {3, 7});
  const std::uint64_t from = call;
  for (std::int64_t now = 5100; poll_interval.next() <= from + 2 * PollInterval::kWindow; now += 100)
    poll_interval.take_time(call = poll_interval.next(), now, 1, {6, 0});
  EXPECT_EQ(call, from + 2 * PollInterval::kWindow);
  EXPECT_EQ(poll_interval.plan(), 2u);
  EXPECT_EQ(poll_interval.found(), (Polling{3, 7}));
  poll_interval.take_time(poll_interval.next(), 9000, 1, {6, 0});
  EXPECT_EQ(poll_interval.plan(), 1u);
  EXPECT_EQ(poll_interval.found(), (Polling{6, 0}));
}

// Loops of several plans, in turn: each finds its own.
TEST(PollInterval, EachPlanOfALoopHasATrial) {
  for (std::uint64_t plans = 1; plans <= 4; ++plans) {
    PollInterval poll_interval;
    poll_interval.start(0);
    Polling found[kPlanSlots];
    std::int64_t now = 0;
    const auto best = [](std::uint32_t plan) { return plan % 2 == 0 ? Polling{1, 52} : Polling{2, 0}; };
    for (std::uint64_t call = 1; call < 2'000'000; ++call) {
      const auto plan = static_cast<std::uint32_t>(call % plans);
      now += found[plan] == best(plan) ? 100 : 150;
      if (call < poll_interval.next()) continue;
      poll_interval.take_time(call, now, plan, found[plan]);
      found[poll_interval.plan()] = poll_interval.found();
    }
    for (std::uint32_t plan = 0; plan < plans; ++plan)
      EXPECT_EQ(found[plan], best(plan)) << "plan " << plan << " of " << plans;
  }
}

TEST(PollInterval, MembersWhoseTrialsEndApartBeginTheNextOneTogether) {
  PollInterval two[2];
  for (PollInterval& each : two) each.start(0);
  std::int64_t now[2] = {};
  std::uint64_t begun[2] = {};
  for (std::uint64_t call = 1; call < 400'000; ++call)
    for (int i = 0; i < 2; ++i) {
      now[i] += i == 1 && call > 10'000 && call < 80'000 ? 200 : 100;  // only one sees a change
      if (call < two[i].next()) continue;
      if (call - begun[i] > 1'000) begun[i] = call;
      two[i].take_time(call, now[i], 0, two[i].found());
    }
  EXPECT_GT(begun[0], 80'000U);
  EXPECT_EQ(begun[0], begun[1]);
}

TEST(PollInterval, APlanThatKeepsItsPausesHasNoTrial) {
  PollInterval poll_interval;
  poll_interval.start(0);
  for (std::uint64_t call = 1; call < 100'000; ++call) {
    if (call < poll_interval.next()) continue;
    poll_interval.take_time(call, static_cast<std::int64_t>(call) * 100, kPlanSlots, {});
    EXPECT_EQ(poll_interval.found(), Polling{});
    EXPECT_GT(poll_interval.next(), call + 1'000);
  }
}

TEST(PollInterval, UnlessItIsStartedItIsTheProgramsForEver) {
  EXPECT_EQ(PollInterval().next(), PollInterval::kNever);
  EXPECT_EQ(PollInterval().found(), Polling{});
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
  constexpr std::uint64_t kStep = PollInterval::kSettle + PollInterval::kWindow;
  std::vector<Polling> tried[2];
  const auto run = [&](std::uint32_t rank) {
    Member* m = nullptr;
    const char* why = "";
    if (Member::join(team, rank, &m, &why) != Status::kOk) return;
    FirstSignals first_signals;
    m->keep_first_signals_in(&first_signals);
    m->find_poll_interval();
    for (std::uint64_t made = 1; made <= PollInterval::kFirst + 8 * kStep; ++made) {
      if (call(*m, first_signals) != Status::kOk) break;
      const Polling found = m->waiter().found_polling();
      if (made >= PollInterval::kFirst && (made - PollInterval::kFirst) % kStep == 0)
        tried[rank].push_back(found);
      // Each await of the plan polls as was found.
      const Bound& plan = m->lines().plan(static_cast<PlanSlot>(m->waiter().timed_plan()));
      for (const Step* s = plan.steps; s->code != Code::kEnd; ++s) {
        if (s->code != Code::kAwait) continue;
        EXPECT_EQ(s->pauses, found.pauses != 0 ? found.pauses : plan.pauses) << made;
        EXPECT_EQ(s->delay, found.delay) << made;
      }
      EXPECT_EQ(plan.found, found) << made;
    }
    m->leave();
  };
  std::thread other(run, 1);
  run(0);
  other.join();
  team->release();
  EXPECT_EQ(tried[0], (std::vector<Polling>{
                          {0, 0}, {4, 0}, {4, 52}, {2, 0}, {1, 64}, {1, 52}, {1, 44}, {1, 0}, {0, 0}}));
  EXPECT_EQ(tried[1], tried[0]);
}

INSTANTIATE_TEST_SUITE_P(Calls, PollIntervalOfMembers, testing::Values(0, 1, 2, 3));

}  // namespace
}  // namespace fermata::exec
