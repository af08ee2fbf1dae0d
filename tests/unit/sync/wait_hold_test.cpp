// The auto policy with simulated times: when holds begin and end.
#include "wait_simulated.hpp"

namespace fermata {
namespace {

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
  Simulated third = {AutoWait(Room::kCrowded, 4, &pace, 0), others_now};
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

// A hold that began after stalls far apart has an estimate of their cost that is too low.
TEST_F(AutoWaitTest, ARestEndsSoonWhereCallsTakeMuchLongerThanInTheHold) {
  for (const std::int64_t parked : {100'000, 1'000'000, 2'900'000}) {
    forget(pace);
    exclude_until(pace, 0);
    Simulated member = crowded();
    std::uint64_t call = 10;
    member.wait(call, kSlice);
    call += 150, now += 1'000;
    member.wait(call, kSlice);
    EXPECT_NE(pace.parks_until, 0U);
    for (++call; pace.parks_until != 0 && call < 100'000; ++call) {
      pace.parks_until = call + 1'000;
      EXPECT_EQ(member.wait(call, parked), WaitAction::kPark);
      if (pace.rest_ns != 0) break;
    }
    EXPECT_GT(pace.rest_ns, 0) << "the hold has ended";
    int stalls = 0;
    for (++call; member.wait(call, kSlice) == WaitAction::kYield && stalls < 1'000; ++call, ++stalls)
      now += 1'000;
    const std::int64_t most = 512 * kMs / kSlice, times = std::min<std::int64_t>(16, kSlice / parked);
    EXPECT_LT((stalls - 3) * times, most * 5 / 4) << parked;
    EXPECT_GT((stalls + 3) * times, most * 3 / 4) << parked;
  }
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
    pace.parks_until = 4'000;
    EXPECT_EQ(member.wait(4'000, 2 * kMs), WaitAction::kYield);
    EXPECT_EQ(pace.parks_until.load() != 4'000, members == 4) << members;
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

// Two members that share a CPU wait in turn: the one that comes last goes on, and comes first the next time.
TEST_F(AutoWaitTest, MembersThatWaitInEverySecondCallEndAHold) {
  for (const std::uint64_t first : {0, 1}) {
    forget(pace);
    pace.parks_until = 10'000;
    std::array<Simulated, 2> team = {crowded(2, 0), crowded(2, 1)};
    std::uint64_t call = 10'000;
    for (; call < 10'100 && pace.parks_until.load() != 0; ++call) team[(call + first) % 2].wait(call, 700);
    EXPECT_LT(call, 10'040U) << first;
  }
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
  EXPECT_EQ(team[1].wait(10'004, kSlice), WaitAction::kYield);
  for (std::uint64_t call = 20'000; call < 20'016; ++call) {
    EXPECT_NE(pace.parks_until.load(), 0U) << call;
    EXPECT_EQ(team[call / 4 % 4].wait(call, 700), WaitAction::kYield);
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

// Calls of 20 us each, from this one on, in which all park. Every so often one has a stall. Returns the call
// of the first scout, which has begun to yield.
std::uint64_t first_scout(std::array<Simulated, 4>& team, std::int64_t& now, std::uint64_t call,
                          std::int64_t stalls_every, std::uint64_t most) {
  std::int64_t next_stall = now + stalls_every;
  for (const std::uint64_t end = call + most; call < end; ++call) {
    for (Simulated& member : team)
      if (member.begin(call) == WaitAction::kYield) return call;
    const bool stalls = now >= next_stall;
    if (stalls) next_stall = now + stalls_every;
    for (Simulated& member : team) member.end(&member == &team[0] ? (stalls ? kSlice : 20'000) : 0);
  }
  return call;
}

TEST_F(AutoWaitTest, AHoldWithoutStallsSendsScouts) {
  std::array<Simulated, 4> team = four();
  stall_twice(team[0], 10);
  const std::uint64_t held = pace.parks_until;
  ASSERT_GT(held, 5'000U);
  EXPECT_EQ(first_scout(team, now, 12, 14 * kMs, 2'000), 2'012U) << "stalls go on";
  const std::int64_t from = now;
  EXPECT_LT(first_scout(team, now, 2'012, 1'000 * kMs, 5'000), held);
  EXPECT_LT(now - from, 20 * kMs);
}

// The calm was chance: beside the load, a scout is slow.
TEST_F(AutoWaitTest, AfterAFalseCalmTheNextTakesTwiceAsLong) {
  std::array<Simulated, 4> team = four();
  stall_twice(team[0], 10);
  std::uint64_t call = 12;
  for (const std::int64_t calm : {16, 32}) {
    const std::int64_t from = now;
    call = first_scout(team, now, call, 10'000 * kMs, 20'000);
    EXPECT_NEAR(static_cast<double>(now - from), static_cast<double>(calm * kMs), 4.0 * kMs);
    for (Simulated& member : team) member.end(kSlice);
    ++call;
  }
}

// Where its scouts find the CPU free, the hold ends. Calms in the next one count from the start.
TEST_F(AutoWaitTest, ATrueCalmEndsTheHold) {
  std::array<Simulated, 4> team = four();
  std::uint64_t call = 10;
  for (int hold = 0; hold < 2; ++hold) {
    stall_twice(team[0], call);
    const std::int64_t from = now;
    call = first_scout(team, now, call + 2, 10'000 * kMs, 20'000);
    EXPECT_NEAR(static_cast<double>(now - from), static_cast<double>(16 * kMs), 4.0 * kMs) << hold;
    for (Simulated& member : team) member.end(700);
    for (const std::uint64_t end = call + 100; ++call < end;) {
      for (Simulated& member : team) member.begin(call);
      for (Simulated& member : team) member.end(700);
    }
    EXPECT_EQ(pace.parks_until.load(), 0U) << hold;
    call += 10'000;
  }
}

// In 40 calls in a row, 20 us each, the judge comes last.
TEST_F(AutoWaitTest, CallsInWhichTheJudgeDoesNotWaitAreNoStall) {
  std::array<Simulated, 4> team = four();
  stall_twice(team[0], 10);
  std::uint64_t call = 12;
  for (; call < 5'000; call += 40) {
    if (team[1].begin(call) == WaitAction::kYield) break;
    team[1].end(20'000);
    if (team[0].wait(call, 20'000) == WaitAction::kYield) break;
    now += 39 * 20'000;
  }
  EXPECT_LT(call, 3'000U);
}

// Between two looks of the judge, a stall may have passed unseen.
TEST_F(AutoWaitTest, AJudgeThatHasNotLookedForLongSendsNoScouts) {
  std::array<Simulated, 4> team = four();
  stall_twice(team[0], 10);
  for (std::uint64_t call = 12; call < 5'012; call += 500) {
    now += 10 * kMs;
    EXPECT_EQ(team[0].wait(call, 20'000), WaitAction::kPark) << call;
    EXPECT_EQ(team[1].begin(call), WaitAction::kPark) << call;
    team[1].end(20'000);
  }
}

// A part of the time that a team may lose beside a thread that always runs on its CPU: what its scouts take.
TEST_F(AutoWaitTest, ScoutsTakeASmallPartOfTheTime) {
  std::array<Simulated, 4> team = four();
  const std::int64_t start = now;
  std::int64_t yielded = 0;
  for (std::uint64_t call = 10; now < start + 10'000 * kMs; ++call) {
    Simulated& member = team[call / 4 % team.size()];
    const bool yields = member.begin(call) == WaitAction::kYield;
    if (yields) yielded += kSlice;
    member.end(yields ? kSlice : 16'000);
  }
  EXPECT_LT(yielded, (now - start) / 25);
  EXPECT_GT(yielded, (now - start) / 100);
}

}  // namespace
}  // namespace fermata
