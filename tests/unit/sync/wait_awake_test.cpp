// The auto policy with simulated times: a team with a CPU for each member stays awake before a hold.
#include <initializer_list>

#include "wait_simulated.hpp"

namespace fermata {
namespace {

constexpr std::int64_t kAwake = 128 * kMs;
// With two members: the calls from the beginning of that time to the next one, at least. With parks they take
// 32 times as long.
constexpr std::uint64_t kRest = 512'000;

struct AwakeTest : AutoWaitTest {
  std::uint64_t call = 10;
  // A wait of a slice, in a team that may yield; a short one if it parks.
  void wait_for_a_slice(Simulated& member) {
    WaitAction action = member.begin(call);
    for (const std::int64_t begin = now; now - begin < kSlice && action == WaitAction::kSpin;)
      action = member.go_on(25'000);
    member.end(action == WaitAction::kYield ? kSlice : 10'000);
    ++call;
  }
  bool holds() const { return pace.parks_until != 0 && call < pace.parks_until; }
  // Waits until the team stays awake, or holds. True: it stays awake.
  bool stays_awake(Simulated& member) {
    const std::uint64_t most = call + 100;
    while (pace.awake_until < now && !holds() && call < most) wait_for_a_slice(member);
    EXPECT_LT(call, most) << "neither";
    return pace.awake_until > now;
  }
  // Holds and waits until the team stays awake again.
  void hold_until_awake(Simulated& member) {
    const std::int64_t until = pace.awake_until, begin = now;
    while (pace.awake_until == until && now - begin < 20'000 * kMs) {
      if (holds()) now += 100 * kMs, call = pace.parks_until;
      wait_for_a_slice(member);
    }
    EXPECT_EQ(pace.awake_until - now, kAwake);
  }
};

TEST_F(AwakeTest, StallsKeepAllAwakeForATimeAndThenParkThem) {
  Simulated member = roomy(), other = roomy();
  ASSERT_TRUE(stays_awake(member));
  const std::int64_t begin = now;
  for (; now < begin + kAwake - 2 * kSlice; ++call) {
    EXPECT_EQ(other.begin(call), WaitAction::kSpin);
    for (const std::int64_t wait = now; now - wait < kSlice;)
      EXPECT_EQ(other.go_on(25'000), WaitAction::kYield);
    other.end(1'000);
    EXPECT_GT(other.policy.spins(), 0U);
  }
  EXPECT_EQ(pace.parks_until.load(), 0U) << "stalls of that time begin no hold";
  now = begin + kAwake + 1;
  EXPECT_FALSE(stays_awake(member));
  EXPECT_EQ(other.begin(call), WaitAction::kSpin);
  EXPECT_EQ(other.go_on(25'000), WaitAction::kPark);
}

TEST_F(AwakeTest, AWaitThatOutlastsThatTimeParks) {
  Simulated member = roomy(), other = roomy();
  ASSERT_TRUE(stays_awake(member));
  EXPECT_EQ(other.begin(call), WaitAction::kSpin);
  const std::int64_t begin = now;
  while (now - begin < 2 * kAwake && other.go_on(25'000) != WaitAction::kPark) {
  }
  EXPECT_GE(now - begin, kAwake - 100'000);
  EXPECT_LE(now - begin, kAwake + 100'000);
}

// Spins would hold up an awaited member that waits for this CPU.
TEST_F(AwakeTest, WhoSharesACpuYieldsAtOnceAndNeverParks) {
  Simulated member = roomy(), other = roomy();
  ASSERT_TRUE(stays_awake(member));
  const std::int64_t begin = now;
  for (int n = 0; n < 3; ++n, ++call) {
    EXPECT_EQ(other.begin(call), WaitAction::kSpin);
    EXPECT_EQ(other.go_on(25'000), WaitAction::kYield);
    other.end(2'000);
  }
  for (int n = 0; n < 255; ++n, ++call) {
    EXPECT_EQ(other.policy.spins(), 0U);
    EXPECT_EQ(other.wait(call, 2'000), WaitAction::kYield);
  }
  EXPECT_EQ(other.begin(call), WaitAction::kSpin) << "now and then it spins, too";
  while (now - begin < kAwake / 2) EXPECT_EQ(other.go_on(25'000), WaitAction::kYield) << now;
}

TEST_F(AwakeTest, OnlyTeamsThatMayHaveACpuForEachStayAwake) {
  for (const Room room : {Room::kRationed, Room::kCrowded}) {
    forget(pace);
    Simulated member{AutoWait(room, 4, &pace, 0), now};
    EXPECT_FALSE(stays_awake(member));
    EXPECT_EQ(pace.awake_until.load(), 0);
  }
}

// Where that is fruitless, slow scouts ask for it again and again.
TEST_F(AwakeTest, ItTakesASmallPartOfWhatParksTake) {
  Simulated member = roomy();
  hold_until_awake(member);
  for (int times = 0; times < 5; ++times) {
    const std::uint64_t began = pace.awake_call;
    now += kAwake;
    hold_until_awake(member);
    EXPECT_GE(pace.awake_call - began, kRest);
    EXPECT_LT(pace.awake_call - began, kRest + 20'000) << "a hold of 16,000 calls comes last";
  }
}

// A CPU that has many foreign threads.
TEST_F(AwakeTest, AfterTheLongestStallsTheTeamHoldsAtOnce) {
  for (const std::int64_t stall : {15 * kMs, 16 * kMs}) {
    forget(pace);
    exclude_until(pace, 0);
    Simulated member = roomy();
    call += 1'000;
    for (int n = 0; n < 2; ++n, ++call) {
      EXPECT_EQ(member.begin(call), WaitAction::kSpin);
      EXPECT_EQ(member.go_on(25'000), WaitAction::kYield);
      member.end(stall - 25'000);
      now += 1'000;
    }
    EXPECT_EQ(holds(), stall >= 16 * kMs) << stall;
    EXPECT_EQ(pace.awake_until > now, stall < 16 * kMs) << stall;
  }
}

// The rest is counted in calls, since a program may pause.
TEST_F(AwakeTest, MembersThatHaveMadeManyCallsStayAwakeAgain) {
  for (const std::uint64_t calls : {kRest - 1'000, kRest}) {
    forget(pace);
    exclude_until(pace, call);
    Simulated member = roomy();
    ASSERT_TRUE(stays_awake(member));
    now += 60'000 * kMs;
    call += calls;
    EXPECT_EQ(stays_awake(member), calls == kRest) << calls;
  }
}

TEST_F(AwakeTest, WhateverAFaultyMemberHasWrittenItTakesABoundedTime) {
  for (const std::int64_t until : {std::int64_t{0}, INT64_MIN, INT64_MAX, now - 1})
    for (const std::uint64_t began :
         std::initializer_list<std::uint64_t>{0, call, call + 1'001, std::uint64_t{1} << 63, UINT64_MAX}) {
      forget(pace);
      exclude_until(pace, 0);
      pace.awake_until = until;
      pace.awake_call = began;
      Simulated member = roomy();
      call += 1'000;
      const std::int64_t begin = now;
      hold_until_awake(member);
      EXPECT_LT(now - begin, 5'000 * kMs) << until << " " << began;
    }
}

// In a hold, a member that shares its CPU with the awaited one decides nothing, but for a spin now and then.
TEST_F(AwakeTest, InAHoldMembersOnOneCpuParkUnwatched) {
  Simulated member = roomy();
  pace.parks_until = 20'000;
  for (; !member.policy.parks_unwatched(call) && call < 100; ++call) {
    EXPECT_EQ(member.begin(call), WaitAction::kSpin);
    EXPECT_EQ(member.go_on(25'000), WaitAction::kPark);
    member.end(4'000);
  }
  EXPECT_LT(call, 20U);
  int unwatched = 0;
  for (; member.policy.parks_unwatched(call) && unwatched < 1'000; ++unwatched, ++call)
    member.policy.parked_unwatched();
  EXPECT_GT(unwatched, 100);
  EXPECT_LT(unwatched, 1'000);
  for (int i = 0; i < 10; ++i, ++call) EXPECT_EQ(member.wait(call, 700), WaitAction::kSpin);
  EXPECT_FALSE(member.policy.parks_unwatched(call)) << "spins that succeed go on";
}

// Where foreign threads run often, spins after each of their slices would cost more than parks.
TEST_F(AwakeTest, AStallDoesNotSayWhereTheAwaitedMemberIs) {
  Simulated member = roomy();
  pace.parks_until = 20'000;
  const auto park = [&](std::int64_t ns) {
    EXPECT_EQ(member.begin(call), WaitAction::kSpin);
    EXPECT_EQ(member.go_on(25'000), WaitAction::kPark);
    member.end(ns);
    ++call;
  };
  park(4'000);
  park(kSlice);
  park(4'000);
  park(4'000);
  for (int n = 0; n < 200; ++n, ++call)
    EXPECT_EQ(member.wait(call, n % 10 == 0 ? kSlice : 4'000), WaitAction::kPark) << n;
}

}  // namespace
}  // namespace fermata
