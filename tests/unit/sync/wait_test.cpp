// The auto policy with simulated times: when it spins, yields and parks.
#include "sync/wait.hpp"

#include <gtest/gtest.h>

#include <array>

namespace fermata {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kSlice = 3 * kMs;

// A member whose waits take what the test says.
struct Simulated {
  Simulated(AutoWait p, std::int64_t& clock) : policy(p), now(clock) {}
  AutoWait policy;
  std::int64_t& now;

  // The first action of a wait in that call.
  WaitAction begin(std::uint64_t call, std::uint8_t yielded = 0) {
    view = {};
    view.yielded = yielded;
    view.call = call;
    view.now_ns = now;
    return act();
  }
  // The action after one that took so long.
  WaitAction go_on(std::int64_t ns) {
    pass(ns);
    view.waited_ns += ns;
    return act();
  }
  // The last action took so long, and the signal came.
  void end(std::int64_t ns) {
    pass(ns);
    policy.done(view);
  }
  // A wait that ends before its first action.
  void end_at_once(std::uint64_t call) {
    view = {};
    view.call = call;
    view.now_ns = now;
    policy.done(view);
  }
  // A wait that one action of that length ends. Returns the action.
  WaitAction wait(std::uint64_t call, std::int64_t ns) {
    const WaitAction action = begin(call);
    end(ns);
    return action;
  }

 private:
  WaitAction act() { return view.last_action = policy.next(view); }
  void pass(std::int64_t ns) {
    now += ns;
    view.now_ns = now;
    view.last_action_ns = ns;
    view.first = false;
  }
  WaitView view;
};

struct AutoWaitTest : ::testing::Test {
  Pace pace{};
  std::int64_t now = 100 * kMs;
  AutoWaitTest() { exclude_until(pace, 0); }
  Simulated roomy() { return {AutoWait(false, 2, &pace, 0), now}; }
  Simulated crowded(std::uint32_t members = 4, std::uint32_t who = 0) {
    return {AutoWait(true, members, &pace, who), now};
  }
  std::array<Simulated, 4> four() { return {crowded(4, 0), crowded(4, 1), crowded(4, 2), crowded(4, 3)}; }
  // Two stalls, one soon after the other, from that call on.
  void stall_twice(Simulated& member, std::uint64_t call) {
    EXPECT_EQ(member.wait(call, kSlice), WaitAction::kYield);
    now += 1'000;
    EXPECT_EQ(member.wait(call + 1, kSlice), WaitAction::kYield);
  }
};

TEST_F(AutoWaitTest, InEachCallOfACrowdOneMemberWatchesTheClock) {
  for (std::uint64_t call = 1; call <= 8; ++call) {
    int watch = 0;
    for (std::uint32_t who = 0; who < 4; ++who)
      watch += AutoWait(true, 4, &pace, who).unwatched_yields(call) == 0 ? 1 : 0;
    EXPECT_EQ(watch, 1) << call;
  }
  // Numbers of threads may be any.
  EXPECT_EQ(AutoWait(true, 4, &pace, 4'000'001).unwatched_yields(5), 0u);
}

TEST_F(AutoWaitTest, YieldsThatNobodyWatchedCountWhenAWaitParks) {
  const std::uint8_t before = AutoWait(true, 4, &pace, 1).unwatched_yields(4);
  EXPECT_GT(before, 0);
  for (const std::uint8_t yielded : {std::uint8_t{0}, before}) {
    Simulated member = crowded();
    int yields = yielded;
    for (WaitAction action = member.begin(4, yielded); action == WaitAction::kYield; ++yields)
      action = member.go_on(1'000);
    EXPECT_EQ(yields, 16);
  }
}

TEST_F(AutoWaitTest, WithoutALookAtTheClockACrowdYieldsOrInAHoldParks) {
  Simulated judge = crowded(), other = crowded(4, 1), roomy_one = roomy();
  EXPECT_GT(other.policy.unwatched_yields(12), 0U);
  EXPECT_FALSE(other.policy.parks_unwatched(12));
  stall_twice(judge, 8);
  for (std::uint64_t call = 12; call <= 16; ++call) {
    EXPECT_EQ(other.policy.unwatched_yields(call), 0U);
    EXPECT_TRUE(other.policy.parks_unwatched(call));
    EXPECT_FALSE(judge.policy.parks_unwatched(call)) << "it adds up its waits";
    EXPECT_EQ(roomy_one.policy.unwatched_yields(call), 0U);
    EXPECT_FALSE(roomy_one.policy.parks_unwatched(call));
  }
  const std::uint64_t until = pace.parks_until;
  EXPECT_FALSE(other.policy.parks_unwatched(until)) << "a scout looks at the clock";
}

TEST_F(AutoWaitTest, WithACpuForEachAWaitSpinsThenYieldsThenParks) {
  Simulated member = roomy();
  EXPECT_GT(member.policy.spins(), 0U);
  EXPECT_EQ(member.begin(10), WaitAction::kSpin);
  int spins = 0;
  while (member.go_on(5'000) == WaitAction::kSpin && spins < 100) ++spins;
  EXPECT_LT(spins, 20);
  EXPECT_EQ(member.policy.spins(), 0U) << "a signal that comes during a yield is not one of a spin";
  const std::int64_t begin = now;
  while (member.go_on(700) == WaitAction::kYield && now - begin < 20 * kMs) {
  }
  EXPECT_GT(now - begin, 15 * kMs) << "as long as a foreign thread's slice may take";
  EXPECT_LT(now - begin, 17 * kMs);
  EXPECT_EQ(member.go_on(700), WaitAction::kPark);
}

// Members that do not compute equally long wait for milliseconds in many calls. They leave their CPUs idle.
TEST_F(AutoWaitTest, WhereManyWaitsAreLongYieldsAreFew) {
  for (const std::uint64_t often : {1U, 10U, 1'000U}) {
    forget(pace);
    exclude_until(pace, 1'000'000);  // no stall begins a hold
    Simulated member = roomy();
    std::int64_t yielded = 0;
    for (std::uint64_t call = 1'000'000 - 10'000; call < 1'000'000; ++call) {
      WaitAction action = member.begin(call);
      const std::int64_t begin = now, length = call % often == 0 ? 2 * kMs : 1'000;
      while (now - begin < length) {
        const std::int64_t ns = action == WaitAction::kPark ? length - (now - begin) : 1'000;
        yielded += action == WaitAction::kYield ? ns : 0;
        if (now - begin + ns >= length) break;
        action = member.go_on(ns);
      }
      member.end(1'000);
    }
    const std::int64_t waited = static_cast<std::int64_t>(10'000 / often) * 2 * kMs;
    if (often == 1'000) EXPECT_GT(yielded, waited * 9 / 10);
    else EXPECT_LT(yielded, waited / 10) << often;
  }
}

TEST_F(AutoWaitTest, WithoutACpuForEachNobodySpins) {
  Simulated member = crowded();
  EXPECT_EQ(member.policy.spins(), 0U);
  EXPECT_EQ(member.begin(10), WaitAction::kYield);
  int yields = 1;
  while (member.go_on(700) == WaitAction::kYield && yields < 1'000) ++yields;
  EXPECT_GT(yields, 10);
  EXPECT_LT(yields, 1'000);
}

TEST_F(AutoWaitTest, SpinsInVainAreLeftOutForAWhile) {
  Simulated member = roomy();
  std::uint64_t call = 10;
  for (; call < 13; ++call) {
    ASSERT_EQ(member.begin(call), WaitAction::kSpin);
    while (member.go_on(25'000) == WaitAction::kSpin) {
    }
    member.end(700);
  }
  int without = 0;
  for (; member.policy.spins() == 0 && without < 1'000; ++without, ++call)
    EXPECT_EQ(member.wait(call, 700), WaitAction::kYield);
  EXPECT_GT(without, 10);
  EXPECT_LT(without, 1'000);
  for (int i = 0; i < 10; ++i, ++call) EXPECT_EQ(member.wait(call, 700), WaitAction::kSpin);
  EXPECT_GT(member.policy.spins(), 0U) << "spins that succeed go on";
}

TEST_F(AutoWaitTest, QuickYieldsGoOn) {
  Simulated member = crowded();
  for (std::uint64_t call = 5; call < 1'000; ++call) EXPECT_EQ(member.wait(call, 700), WaitAction::kYield);
}

TEST_F(AutoWaitTest, StallsCloseTogetherParkTheWholeTeam) {
  Simulated member = crowded(), other = crowded();
  stall_twice(member, 10);
  EXPECT_EQ(other.begin(12), WaitAction::kPark);
  now += 10 * kSlice;
  EXPECT_EQ(member.begin(13), WaitAction::kPark);
}

TEST_F(AutoWaitTest, SeldomStallsParkNobody) {
  Simulated member = crowded();
  for (std::uint64_t call = 10; call < 100'000; ++call)
    ASSERT_EQ(member.wait(call, call % 1'000 == 0 ? kSlice : 700), WaitAction::kYield) << call;
}

// The larger the team, the more a park of all costs, and the more stalls it bears.
TEST_F(AutoWaitTest, WhatParkingCostsCountsForEachMember) {
  for (const std::uint32_t members : {4U, 64U}) {
    forget(pace);
    Simulated member = crowded(members);
    member.wait(10, kSlice);
    for (std::uint64_t call = 11; call < 60; ++call) member.wait(call, 700);
    member.wait(60, kSlice);
    EXPECT_EQ(member.begin(61), members == 4 ? WaitAction::kPark : WaitAction::kYield) << members;
  }
}

// A member is away for a slice: it ends its wait late, and the others wait for it in the next call.
TEST_F(AutoWaitTest, AStallSeenByAllMembersInTwoCallsIsOne) {
  Simulated member = crowded(), other = crowded();
  std::int64_t others_now = now;
  Simulated third = {AutoWait(true, 4, &pace, 0), others_now};
  third.wait(10, 700);
  EXPECT_EQ(third.begin(11), WaitAction::kYield);
  member.wait(10, kSlice);
  third.end(kSlice);
  EXPECT_EQ(other.begin(12), WaitAction::kYield);
}

// Two minutes at a breakpoint say nothing of the next two.
TEST_F(AutoWaitTest, NoHoldIsLongerThanThatOfALongStall) {
  Simulated member = crowded();
  member.wait(10, 60'000 * kMs);
  now += 1'000;
  member.wait(11, 60'000 * kMs);
  EXPECT_EQ(member.begin(12), WaitAction::kPark);
  EXPECT_LT(pace.parks_until.load(), 40'000U);
  pace.parks_until = 10'000'000;  // a faulty member's
  EXPECT_EQ(member.begin(13), WaitAction::kYield);
}

// Members that compute for a millisecond, and not equally long: parks gain nothing, and cost little.
TEST_F(AutoWaitTest, WhereParksGainNothingTheyEndForATime) {
  Simulated member = crowded();
  std::int64_t parks = 0, yielding = 0;
  const std::int64_t start = now;
  for (std::uint64_t call = 10; now < start + 5'000 * kMs; ++call) {
    const bool parked = member.begin(call) == WaitAction::kPark;
    parks += parked;
    yielding += call % 50 == 0 ? kMs : 3'000;
    member.end(call % 50 == 0 ? kMs : parked ? 30'000 : 3'000);
  }
  EXPECT_GT(parks, 0);
  EXPECT_LT(now - start, yielding * 11 / 10);
}

// A rest costs no more than a hold: where each call is a stall by then, members soon park again.
TEST_F(AutoWaitTest, ARestEndsOnceStallsHaveCostAsMuchAsALongHold) {
  Simulated member = crowded();
  pace.rest_ns = INT64_MAX;  // a faulty member's
  std::uint64_t call = 10;
  for (; call < 1'000 && member.wait(call, kSlice) == WaitAction::kYield; ++call) now += 1'000;
  EXPECT_GT(call, 100U);
  EXPECT_LT(call, 200U);
}

// The signal came while the idle hook ran: there was no wait.
TEST_F(AutoWaitTest, AWaitWithoutAnActionIsNone) {
  Simulated member = crowded();
  stall_twice(member, 10);
  const std::uint64_t until = pace.parks_until;
  for (std::uint64_t call = 12; call <= until; ++call) {
    member.end_at_once(call);
    member.wait(call, 2 * kMs);
  }
  EXPECT_NE(pace.parks_until.load(), 0U) << "its parks cost less than stalls";
}

// Whoever began a hold judges no other one.
TEST_F(AutoWaitTest, AHoldThatHasEndedIsNotJudged) {
  Simulated member = crowded();
  stall_twice(member, 10);
  const std::uint64_t until = pace.parks_until;
  pace.parks_until = 0;
  exclude_until(pace, 12);
  for (std::uint64_t call = 12; call <= 16; ++call) member.wait(call, 60'000 * kMs);
  pace.parks_until = until + 1'000;
  member.wait(until + 1, 16'000);
  EXPECT_NE(pace.parks_until.load(), 0U);
}

// A scout's wait timed out, or its thread was cancelled and cleaned up. Its next yield is no scout's.
TEST_F(AutoWaitTest, AScoutThatTimesOutLeavesNothing) {
  Simulated member = crowded();
  stall_twice(member, 10);
  EXPECT_EQ(member.begin(10'000), WaitAction::kYield);
  pace.parks_until = 0;
  EXPECT_EQ(member.wait(10'001, kSlice), WaitAction::kYield);
  EXPECT_EQ(pace.parks_until.load(), 0U);
}

// In a team of 1,000 a yield lets hundreds of members run.
TEST_F(AutoWaitTest, WhatAScoutsYieldMayTakeGrowsWithTheTeam) {
  for (const std::uint32_t members : {4U, 1'000U}) {
    Simulated member = crowded(members);
    forget(pace);
    pace.parks_until = 1'000;
    EXPECT_EQ(member.wait(1'000, 2 * kMs), WaitAction::kYield);
    EXPECT_EQ(pace.parks_until.load() != 1'000, members == 4) << members;
    EXPECT_EQ(pace.quick.load(), members == 4 ? 0U : 1U);
  }
}

// The time of idle hooks and of other requests lies between the actions.
TEST_F(AutoWaitTest, OnlyTheTimeOfActionsCounts) {
  Simulated member = crowded();
  for (std::uint64_t call = 10; call < 20; ++call) {
    EXPECT_EQ(member.begin(call), WaitAction::kYield);
    now += kSlice;
    member.end(700);
  }
  stall_twice(member, 20);
  now += 64 * kSlice;
  EXPECT_EQ(member.begin(10'000), WaitAction::kYield);
  now += kSlice;
  member.end(700);
  EXPECT_EQ(pace.quick.load(), 1U) << "a quick scout";
}

TEST_F(AutoWaitTest, WithACpuForEachATeamOfStallsSpinsAndThenParks) {
  Simulated member = roomy();
  for (std::uint64_t call = 10; call < 12; ++call) {
    now += 1'000;
    member.begin(call);
    while (member.go_on(25'000) == WaitAction::kSpin) {
    }
    member.end(kSlice);
  }
  EXPECT_EQ(member.begin(12), WaitAction::kSpin);
  EXPECT_EQ(member.go_on(25'000), WaitAction::kPark);
}

TEST_F(AutoWaitTest, AfterAHoldScoutsGoOneAtATimeAndEndIt) {
  std::array<Simulated, 4> team = four();
  stall_twice(team[0], 10);
  now += 64 * kSlice;
  int scouts = 0;
  std::uint64_t call = 10'000;  // quick ones
  for (; call < 10'030 && pace.parks_until.load() != 0; ++call) {
    int yields = 0;
    for (Simulated& member : team) yields += member.begin(call) == WaitAction::kYield;
    EXPECT_LE(yields, 1) << call;
    scouts += yields;
    for (Simulated& member : team) member.end(700);
  }
  EXPECT_EQ(scouts, 16);
  for (Simulated& member : team) EXPECT_EQ(member.begin(call), WaitAction::kYield);
}

// Where only some members ever wait, these go again.
TEST_F(AutoWaitTest, OneMemberAloneEndsAHoldLater) {
  Simulated member = crowded(8);
  stall_twice(member, 10);
  now += 64 * kSlice;
  int yields = 0;
  std::uint64_t call = 10'000;
  for (; call < 11'000 && pace.parks_until.load() != 0; ++call)
    yields += member.wait(call, 700) == WaitAction::kYield;
  EXPECT_EQ(yields, 16);
  EXPECT_GT(call, 10'100U);
  EXPECT_LT(call, 10'200U);
}

TEST_F(AutoWaitTest, AScoutThatIsAwayLongRenewsTheHold) {
  Simulated member = crowded(), other = crowded();
  stall_twice(member, 10);
  now += 64 * kSlice;
  EXPECT_EQ(member.wait(10'000, kSlice), WaitAction::kYield);
  EXPECT_EQ(other.begin(10'001), WaitAction::kPark);
  now += 16 * kSlice;
  EXPECT_EQ(other.begin(15'000), WaitAction::kPark);
  now += 64 * kSlice;
  EXPECT_EQ(other.begin(20'000), WaitAction::kYield);
}

TEST_F(AutoWaitTest, QuickScoutsBeforeASlowOneCountNoMore) {
  std::array<Simulated, 4> team = four();
  pace.parks_until = 10'000;
  EXPECT_EQ(team[0].wait(10'000, 700), WaitAction::kYield);
  EXPECT_EQ(team[1].wait(10'001, kSlice), WaitAction::kYield);
  for (std::uint64_t call = 20'000; call < 20'016; ++call) {
    EXPECT_NE(pace.parks_until.load(), 0U) << call;
    EXPECT_EQ(team[call % 4].wait(call, 700), WaitAction::kYield);
  }
  EXPECT_EQ(pace.parks_until.load(), 0U);
}

// In such calls members choose schedules and touch memory for the first time.
TEST_F(AutoWaitTest, CallsWithSlowWorkSayNothingOfOthers) {
  Simulated member = crowded();
  for (std::uint64_t call = 1; call <= 4; ++call) EXPECT_EQ(member.wait(call, kSlice), WaitAction::kYield);
  exclude_until(pace, 100);
  for (std::uint64_t call = 100; call <= 104; ++call)
    EXPECT_EQ(member.wait(call, kSlice), WaitAction::kYield);
  stall_twice(member, 105);
  EXPECT_EQ(member.begin(107), WaitAction::kPark);
}

// A part of the time that a team may lose beside a thread that always runs on its CPU: what its scouts take.
TEST_F(AutoWaitTest, ScoutsTakeASmallPartOfTheTime) {
  std::array<Simulated, 4> team = four();
  const std::int64_t start = now;
  std::int64_t yielded = 0;
  for (std::uint64_t call = 10; now < start + 10'000 * kMs; ++call) {
    Simulated& member = team[call % team.size()];
    const bool yields = member.begin(call) == WaitAction::kYield;
    if (yields) yielded += kSlice;
    member.end(yields ? kSlice : 16'000);
  }
  EXPECT_LT(yielded, (now - start) / 25);
  EXPECT_GT(yielded, (now - start) / 100);
}

}  // namespace
}  // namespace fermata
