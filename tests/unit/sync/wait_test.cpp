// The auto policy with simulated times: when it spins, yields and parks.
#include "sync/wait.hpp"

#include <gtest/gtest.h>

namespace fermata {
namespace {

WaitView after_yield(std::uint64_t call, std::int64_t ns, std::int64_t now = 0) {
  WaitView view;
  view.call = call;
  view.now_ns = now;
  view.waited_ns = ns;
  view.last_action = WaitAction::kYield;
  view.last_action_ns = ns;
  view.first = false;
  return view;
}

struct AutoWaitTest : ::testing::Test {
  Pace pace{};
  AutoWaitTest() { exclude_until(pace, 0); }
  AutoWait crowded{true, 2, &pace};
};
// A wait that ends after one yield.
void wait_that_a_yield_ends(AutoWait& policy, std::uint64_t call) {
  WaitView view;
  view.call = call;
  ASSERT_EQ(policy.next(view), WaitAction::kYield);
  EXPECT_EQ(policy.spins(), 0U);
  policy.done(after_yield(call, 700));
}

TEST_F(AutoWaitTest, WithEnoughCpusALongWaitYieldsOnceThenSpinsThenParks) {
  AutoWait roomy(false, 1, &pace);
  EXPECT_GT(roomy.spins(), crowded.spins());
  WaitView view;
  EXPECT_EQ(roomy.next(view), WaitAction::kYield);
  EXPECT_EQ(roomy.next(after_yield(0, 200)), WaitAction::kSpin);
  EXPECT_GT(roomy.spins(), 0U);
  WaitView later = after_yield(0, 200);
  later.waited_ns = 60'000;
  EXPECT_EQ(roomy.next(later), WaitAction::kPark);
}

TEST_F(AutoWaitTest, MembersOnOneCpuYieldAtOnceUntilTheyPart) {
  AutoWait roomy(false, 1, &pace);
  std::uint64_t call = 1;
  for (; call <= 3; ++call) wait_that_a_yield_ends(roomy, call);
  EXPECT_EQ(roomy.spins(), 0U);
  WaitView view;
  int yields = 0;
  for (; yields < 1000; ++yields, ++call) {
    view.call = call;
    if (roomy.next(view) != WaitAction::kYield) break;
    EXPECT_EQ(roomy.next(after_yield(call, 700)), WaitAction::kYield);
    roomy.done(after_yield(call, 700));
  }
  // The policy then spins, at first longer than usual, and behaves as before afterwards.
  EXPECT_LT(yields, 100);
  EXPECT_GT(roomy.spins(), 0U);
  view.first = false;
  view.waited_ns = 1'000'000;
  EXPECT_EQ(roomy.next(view), WaitAction::kSpin);
  view.waited_ns = 20'000'000;
  EXPECT_NE(roomy.next(view), WaitAction::kSpin);
  view.last_action = WaitAction::kSpin;
  roomy.done(view);
  EXPECT_GT(roomy.spins(), 0U);
}

TEST_F(AutoWaitTest, WithEnoughCpusDearYieldsStopTheYieldsAndNotTheSpins) {
  AutoWait roomy(false, 1, &pace);
  WaitView view;
  view.call = 10;
  ASSERT_EQ(roomy.next(view), WaitAction::kYield);
  roomy.done(after_yield(10, 3'000'000, 100'000'000));
  view.call = 11;
  ASSERT_EQ(roomy.next(view), WaitAction::kYield);
  roomy.done(after_yield(11, 3'000'000, 120'000'000));
  view.call = 12;
  EXPECT_EQ(roomy.next(view), WaitAction::kSpin);
}

TEST_F(AutoWaitTest, CheapYieldsGoOn) {
  for (std::uint64_t call = 1; call < 1000; ++call)
    EXPECT_EQ(crowded.next(after_yield(call, 700)), WaitAction::kYield);
}

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kSlice = 3 * kMs;

// Each call has one yield that runs a stranger, until the team parks. Returns the call that parks.
std::uint64_t until_it_parks(AutoWait& policy, std::uint64_t call, std::int64_t* now) {
  for (const std::uint64_t first = call; call < first + 20; ++call) {
    *now += 2 * kSlice;
    if (policy.next(after_yield(call, kSlice, *now)) == WaitAction::kPark) return call;
  }
  ADD_FAILURE() << "it never parks";
  return 0;
}

// Returns the action of a wait's first look, in a later call.
WaitAction later(AutoWait& policy, std::uint64_t call, std::int64_t now) {
  WaitView view;
  view.call = call;
  view.now_ns = now;
  return policy.next(view);
}

// The team parks, with calls that take `ns` each, and then yields again. Returns the call that yields.
std::uint64_t through_parks(AutoWait& policy, const Pace& pace, std::int64_t ns, std::int64_t* now) {
  const std::uint64_t began = until_it_parks(policy, 10, now);
  const std::uint64_t until = pace.park_until.load();
  *now += static_cast<std::int64_t>(until - began) * ns;
  EXPECT_EQ(later(policy, until, *now), WaitAction::kYield);
  return until;
}

TEST_F(AutoWaitTest, DearYieldsParkTheWholeTeamAndLongerTheNextTimeIfThatGained) {
  AutoWait other(true, 2, &pace);
  std::int64_t now = 100 * kMs;
  const std::uint64_t began = until_it_parks(crowded, 10, &now);
  EXPECT_LT(now, 140 * kMs);
  EXPECT_EQ(other.next(after_yield(began + 1, 700, now)), WaitAction::kPark);
  const std::uint64_t first = pace.park_until.load() - began;
  now += static_cast<std::int64_t>(first) * 100'000;  // instead of 6 ms a call
  EXPECT_EQ(later(crowded, began + first, now), WaitAction::kYield);
  EXPECT_EQ(later(other, began + first, now), WaitAction::kYield);
  // Now one expensive yield is enough.
  EXPECT_EQ(other.next(after_yield(began + first, kSlice, now + kSlice)), WaitAction::kPark);
  EXPECT_EQ(pace.park_until.load() - (began + first), 4 * first);
}

// A stranger that comes and goes: with it a call takes 6 ms, without it 20 us.
TEST_F(AutoWaitTest, ParksThatCostMoreThanDearYieldsEndForATime) {
  std::int64_t now = 100 * kMs;
  const std::uint64_t until = through_parks(crowded, pace, 7 * kMs, &now);
  const std::int64_t over = now;
  for (std::uint64_t call = until; now < over + 200 * kMs; now += 2 * kSlice, ++call)
    ASSERT_EQ(crowded.next(after_yield(call, kSlice, now + kSlice)), WaitAction::kYield)
        << (now - over) / kMs;
  now = over + 1000 * kMs;
  until_it_parks(crowded, until + 1000, &now);
}

TEST_F(AutoWaitTest, ParksTooShortForTheClockGainedToo) {
  std::int64_t now = 100 * kMs;
  const std::uint64_t began = until_it_parks(crowded, 10, &now);
  const std::uint64_t until = pace.park_until.load();
  EXPECT_EQ(later(crowded, until, now), WaitAction::kYield);
  EXPECT_EQ(pace.length.load(), 4 * (until - began));
}

TEST_F(AutoWaitTest, ADearYieldBehindParksIsNotEnoughWhereTheOthersWereFaster) {
  std::int64_t now = 100 * kMs;
  const std::uint64_t until = through_parks(crowded, pace, 200'000, &now);
  std::uint64_t call = until;
  for (; call < until + 40; ++call)
    ASSERT_EQ(crowded.next(after_yield(call, 700, now += 20'000)), WaitAction::kYield);
  EXPECT_EQ(crowded.next(after_yield(call, kSlice, now + kSlice)), WaitAction::kYield);
}

// A member that is a thousand calls ahead can't tell how long the calls took.
TEST_F(AutoWaitTest, WhoBeganParksSaysWhetherTheyGained) {
  AutoWait other(true, 2, &pace);
  std::int64_t now = 100 * kMs;
  const std::uint64_t began = until_it_parks(crowded, 10, &now);
  const std::uint64_t until = pace.park_until.load();
  EXPECT_EQ(later(other, until + 100, now + 1), WaitAction::kYield);
  EXPECT_EQ(other.next(after_yield(until + 101, kSlice, now + kSlice)), WaitAction::kYield);
  now += static_cast<std::int64_t>(until - began) * 100'000;
  EXPECT_EQ(later(crowded, until, now), WaitAction::kYield);
  EXPECT_EQ(other.next(after_yield(until + 102, 2 * kSlice, now + 300 * kMs)), WaitAction::kPark);
}

TEST_F(AutoWaitTest, OneDearYieldNowAndThenParksNobody) {
  for (std::uint64_t call = 1; call < 100; ++call)
    EXPECT_EQ(crowded.next(after_yield(call, kSlice, static_cast<std::int64_t>(call) * 50 * kMs)),
              WaitAction::kYield);
}

TEST_F(AutoWaitTest, DearYieldsThatTakeATenthOfTheTimeParkNobody) {
  for (std::uint64_t call = 1; call < 100; ++call)
    EXPECT_EQ(crowded.next(after_yield(call, kSlice / 3, static_cast<std::int64_t>(call) * 10 * kMs)),
              WaitAction::kYield);
}

// In such calls members choose schedules and touch memory for the first time.
TEST_F(AutoWaitTest, TwoYieldsOfAMillisecondOneBehindTheOtherParkNobody) {
  for (std::uint64_t call = 5; call < 500; call += 5) {
    const auto begin = static_cast<std::int64_t>(call) * 100 * kMs;
    EXPECT_EQ(crowded.next(after_yield(call, kMs, begin)), WaitAction::kYield);
    EXPECT_EQ(crowded.next(after_yield(call, kMs, begin + kMs)), WaitAction::kYield);
  }
  EXPECT_EQ(pace.park_until.load(), 0U);
}

TEST_F(AutoWaitTest, ThirtyTwoMembersToACpuMayTakeAMillisecond) {
  AutoWait thronged(true, 32, &pace);
  for (std::uint64_t call = 5; call < 500; ++call)
    EXPECT_EQ(thronged.next(after_yield(call, kMs, static_cast<std::int64_t>(call) * kMs)),
              WaitAction::kYield);
}

TEST_F(AutoWaitTest, TheFirstCallsSayNothingOfStrangers) {
  std::int64_t now = 100 * kMs;
  for (std::uint64_t call = 1; call <= 4; ++call)
    for (int i = 0; i < 3; ++i, now += 2 * kSlice)
      EXPECT_EQ(crowded.next(after_yield(call, kSlice, now)), WaitAction::kYield);
  until_it_parks(crowded, 5, &now);
}

TEST_F(AutoWaitTest, NorDoThoseInWhichAllMembersDoSomethingForTheFirstTime) {
  AutoWait other(true, 2, &pace);
  exclude_until(pace, 100);
  std::int64_t now = 100 * kMs;
  for (std::uint64_t call = 100; call <= 104; ++call)
    for (int i = 0; i < 3; ++i, now += 2 * kSlice)
      EXPECT_EQ(other.next(after_yield(call, kSlice, now)), WaitAction::kYield);
  until_it_parks(other, 105, &now);
}

TEST_F(AutoWaitTest, OneStrangersTurnSeenByTwoMembersIsOne) {
  AutoWait other(true, 2, &pace);
  EXPECT_EQ(crowded.next(after_yield(10, kSlice, 100 * kMs)), WaitAction::kYield);
  EXPECT_EQ(other.next(after_yield(10, kSlice, 101 * kMs)), WaitAction::kYield);
}

TEST_F(AutoWaitTest, CallsThatYieldsMakeFasterThanParksWinTrustBack) {
  std::int64_t now = 100 * kMs;
  const std::uint64_t until = through_parks(crowded, pace, 200'000, &now);
  ASSERT_GT(pace.length.load(), 0U);
  for (std::uint64_t call = until; call < until + 100; ++call)
    crowded.next(after_yield(call, 700, now += 20'000));
  EXPECT_EQ(pace.length.load(), 0U);
}

TEST_F(AutoWaitTest, ATeamsOwnTurnsAreNotDear) {
  AutoWait many(true, 32, &pace);
  EXPECT_EQ(many.next(after_yield(1, 120'000)), WaitAction::kYield);
}

TEST_F(AutoWaitTest, YieldsThatFindNobodyToRunEnd) {
  int yields = 0;
  while (crowded.next(after_yield(1, 200)) == WaitAction::kYield && yields < 10'000) ++yields;
  EXPECT_GT(yields, 100);
  EXPECT_LT(yields, 1'000);
  EXPECT_EQ(crowded.next(after_yield(2, 200)), WaitAction::kYield);
}

TEST_F(AutoWaitTest, AMemberFarBehindIsWaitedForAsleep) {
  WaitView view = after_yield(1, 700);
  view.waited_ns = 6'000'000;
  EXPECT_EQ(crowded.next(view), WaitAction::kPark);
}

}  // namespace
}  // namespace fermata
