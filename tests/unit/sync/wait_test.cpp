// The auto policy with simulated times: when it spins, yields and parks.
#include "wait_simulated.hpp"

namespace fermata {
namespace {

TEST_F(AutoWaitTest, InEachCallOfACrowdOneMemberWatchesTheClock) {
  for (std::uint64_t call = 1; call <= 8; ++call) {
    int watch = 0;
    for (std::uint32_t who = 0; who < 4; ++who)
      watch += AutoWait(Room::kCrowded, 4, &pace, who).is_its_turn(call) ? 1 : 0;
    EXPECT_EQ(watch, 1) << call;
  }
  // Numbers of threads may be any.
  EXPECT_TRUE(AutoWait(Room::kCrowded, 4, &pace, 4'000'001).is_its_turn(5));
}

TEST_F(AutoWaitTest, YieldsThatNobodyWatchedCountWhenAWaitParks) {
  for (const std::uint8_t yielded : {0, 4}) {
    Simulated member = crowded();
    int yields = yielded;
    for (WaitAction action = member.begin(8, {yielded, 0}); action == WaitAction::kYield; ++yields)
      action = member.go_on(2'000);
    EXPECT_EQ(yields, 16);
  }
}

// The signal came just after the yields that were timed.
TEST_F(AutoWaitTest, StallsBeforeTheFirstActionCount) {
  Simulated member = crowded();
  for (const std::uint64_t call : {8U, 9U}) {
    now += kSlice + 1'000;
    member.end_at_once(call, {4, kSlice});
  }
  EXPECT_GT(pace.parks_until, 9U);
}

// A yield that runs nobody takes no time: 16 of them are much cheaper than a park.
TEST_F(AutoWaitTest, ACrowdYieldsForAsLongAsAParkCosts) {
  Simulated member = crowded();
  int yields = 0;
  for (WaitAction action = member.begin(8); action == WaitAction::kYield; ++yields)
    action = member.go_on(100);
  EXPECT_GE(yields, 200);
  EXPECT_LT(yields, 250);
}

TEST_F(AutoWaitTest, WithoutALookAtTheClockACrowdYieldsOrInAHoldParks) {
  Simulated judge = crowded(), other = crowded(4, 1), roomy_one = roomy();
  EXPECT_TRUE(other.policy.yields_first(12));
  EXPECT_FALSE(other.parks_unwatched(12));
  stall_twice(judge, 8);
  for (std::uint64_t call = 12; call <= 16; ++call) {
    EXPECT_FALSE(other.policy.yields_first(call));
    EXPECT_TRUE(other.parks_unwatched(call));
    EXPECT_FALSE(judge.parks_unwatched(call)) << "it adds up its waits";
    EXPECT_FALSE(roomy_one.policy.yields_first(call));
    EXPECT_FALSE(roomy_one.parks_unwatched(call)) << "it looks who else is on its CPU";
  }
  const std::uint64_t until = pace.parks_until;
  EXPECT_FALSE(other.parks_unwatched(until)) << "a scout looks at the clock";
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

// CPU time that a quota rations: a wait may spin for as long as a park costs, and yields little.
TEST_F(AutoWaitTest, WithinAQuotaAWaitSpinsAndParksSoon) {
  EXPECT_EQ(room_of(2, {.all = 2, .in_quota = 1}), Room::kRationed);
  EXPECT_EQ(room_of(2, {.all = 2, .in_quota = 2}), Room::kOwn);
  EXPECT_EQ(room_of(3, {.all = 2, .in_quota = 1}), Room::kCrowded);
  Simulated member{AutoWait(Room::kRationed, 2, &pace, 0, &signs), now};
  EXPECT_GT(member.policy.spins(), 0U);
  EXPECT_EQ(member.begin(10), WaitAction::kSpin);
  const std::int64_t begin = now;
  int spins = 0, yields = 0;
  WaitAction action = WaitAction::kSpin;
  while ((action = member.go_on(5'000)) == WaitAction::kSpin && spins < 100) ++spins;
  EXPECT_GE(now - begin, 20'000);
  EXPECT_LT(now - begin, 100'000);
  for (; action == WaitAction::kYield && yields < 100; ++yields) action = member.go_on(700);
  EXPECT_LE(yields, 16);
  EXPECT_EQ(action, WaitAction::kPark);
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

// Members that wait for work: the wait is long on a quiet machine, too. They stay awake for as long as is
// asked.
TEST_F(AutoWaitTest, LongWaitsForWorkAreNoStalls) {
  constexpr std::uint32_t kAwakeUs = 6'000;
  for (const Room room : {Room::kOwn, Room::kCrowded}) {
    forget(pace);
    Simulated member{AutoWait(room, 4, &pace, 0, &signs, kAwakeUs), now};
    for (std::uint64_t call = 10; call < 200; ++call) {
      WaitAction action = member.begin(call);
      const std::int64_t begin = now;
      while (action != WaitAction::kPark && now - begin < 20 * kMs) action = member.go_on(2'000);
      if (room == Room::kOwn) {
        ASSERT_GE(now - begin, kAwakeUs * 1'000) << call;
        ASSERT_LT(now - begin, (kAwakeUs + 100) * 1'000) << call;
      }
      ASSERT_EQ(action, WaitAction::kPark);
      member.end(50 * kMs);
    }
    EXPECT_EQ(pace.parks_until, 0U) << "no hold";
  }
}

TEST_F(AutoWaitTest, SlowYieldsInWaitsForWorkAreStalls) {
  Simulated member{AutoWait(Room::kOwn, 2, &pace, 0, &signs, 6'000), now};
  std::uint64_t call = 10;
  for (; member.policy.spins() > 0 && call < 30; ++call) {
    WaitAction action = member.begin(call);
    while (action == WaitAction::kSpin) action = member.go_on(25'000);
    EXPECT_EQ(member.go_on(kSlice), WaitAction::kPark);
    member.end(10 * kMs);
  }
  EXPECT_LT(call, 20U);
  EXPECT_EQ(member.wait(call, kSlice), WaitAction::kPark);
}

// Beside foreign threads that always run, a yield takes all of their slices, and the kernel charges it.
TEST_F(AutoWaitTest, AfterASlowYieldAWaitParks) {
  Simulated member = roomy();
  WaitAction action = member.begin(10);
  while (action == WaitAction::kSpin) action = member.go_on(25'000);
  EXPECT_EQ(action, WaitAction::kYield);
  EXPECT_EQ(member.go_on(1'000), WaitAction::kYield);
  EXPECT_EQ(member.go_on(kSlice), WaitAction::kPark);
}

// There spins would use up the little CPU time that the member gets.
TEST_F(AutoWaitTest, WhereManyCallsStallNobodySpins) {
  for (const Room room : {Room::kOwn, Room::kRationed}) {
    forget(pace);
    exclude_until(pace, UINT64_MAX - 1'000);
    Simulated member{AutoWait(room, 2, &pace, 0, &signs), now};
    std::uint64_t call = 10;
    for (; member.policy.spins() > 0 && call < 20; ++call) {
      WaitAction action = member.begin(call);
      while (action == WaitAction::kSpin) action = member.go_on(25'000);
      member.end(kSlice);
    }
    EXPECT_LT(call, 15U);
    for (int n = 0; n < 1'000; ++n, ++call) EXPECT_EQ(member.wait(call, kSlice), WaitAction::kPark);
    int parks = 0;
    for (; member.begin(call) == WaitAction::kPark && parks < 1'000; ++parks, ++call) member.end(10'000);
    EXPECT_GT(parks, 100);
    EXPECT_LT(parks, 300);
    member.end(700);
    EXPECT_GT(member.policy.spins(), 0U) << "no call has stalled for a while";
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

// A barrier between processes has no room for what its members learn, not even for the CPUs that they are on.
TEST_F(AutoWaitTest, SpinsInVainAreLeftOutForAWhile) {
  Simulated member{AutoWait(Room::kOwn, 2, &pace, 0), now};
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

// In a hold, such a member that shares its CPU decides nothing, but for a spin now and then.
TEST_F(AutoWaitTest, WithoutSignsMembersOnOneCpuParkUnwatchedInAHold) {
  Simulated member{AutoWait(Room::kOwn, 2, &pace, 0), now};
  std::uint64_t call = 10;
  pace.parks_until = 20'000;
  for (; !member.parks_unwatched(call) && call < 100; ++call) {
    EXPECT_EQ(member.begin(call), WaitAction::kSpin);
    EXPECT_EQ(member.go_on(25'000), WaitAction::kPark);
    member.end(4'000);
  }
  EXPECT_LT(call, 20U);
  int unwatched = 0;
  for (; member.parks_unwatched(call) && unwatched < 1'000; ++unwatched, ++call)
    member.policy.parked_unwatched();
  EXPECT_GT(unwatched, 100);
  EXPECT_LT(unwatched, 1'000);
  for (int i = 0; i < 10; ++i, ++call) EXPECT_EQ(member.wait(call, 700), WaitAction::kSpin);
  EXPECT_FALSE(member.parks_unwatched(call)) << "spins that succeed go on";
}

// Where foreign threads run often, spins after each of their slices would cost more than parks.
TEST_F(AutoWaitTest, AStallDoesNotSayWhereTheAwaitedMemberIs) {
  for (Signs* const known : {static_cast<Signs*>(nullptr), &signs}) {
    Simulated member{AutoWait(Room::kOwn, 2, &pace, 0, known), now};
    std::uint64_t call = 10;
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
}

TEST_F(AutoWaitTest, QuickYieldsGoOn) {
  Simulated member = crowded();
  for (std::uint64_t call = 5; call < 1'000; ++call) EXPECT_EQ(member.wait(call, 700), WaitAction::kYield);
}

}  // namespace
}  // namespace fermata
