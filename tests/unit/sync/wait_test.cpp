// The auto policy with told times: when it spins, yields and parks.
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
  AutoWaitTest() { excuse(pace, 0); }
  AutoWait crowded{true, 2, &pace};
};
// A wait that yields once and is over behind it.
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
  // It burns, longer than it would spin, and is as before afterwards.
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
  roomy.done(after_yield(11, 3'000'000, 105'000'000));
  view.call = 12;
  EXPECT_EQ(roomy.next(view), WaitAction::kSpin);
}

TEST_F(AutoWaitTest, CheapYieldsGoOn) {
  for (std::uint64_t call = 1; call < 1000; ++call)
    EXPECT_EQ(crowded.next(after_yield(call, 700)), WaitAction::kYield);
}

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kSlice = 3 * kMs;

TEST_F(AutoWaitTest, DearYieldsThatComeBackParkTheWholeTeamForAWhileAndLongerTheNextTime) {
  AutoWait other(true, 2, &pace);
  EXPECT_EQ(crowded.next(after_yield(10, 700, 100 * kMs)), WaitAction::kYield);
  EXPECT_EQ(crowded.next(after_yield(11, kSlice, 110 * kMs)), WaitAction::kYield);
  EXPECT_EQ(crowded.next(after_yield(11, kSlice, 116 * kMs)), WaitAction::kPark);
  EXPECT_EQ(other.next(after_yield(12, 700, 117 * kMs)), WaitAction::kPark);
  const std::uint64_t first = pace.park_until.load() - 11;
  EXPECT_EQ(other.next(after_yield(11 + first, 700, 200 * kMs)), WaitAction::kYield);
  // Once that is known of the machine, one is enough.
  EXPECT_EQ(other.next(after_yield(12 + first, kSlice, 300 * kMs)), WaitAction::kPark);
  EXPECT_EQ(pace.park_until.load() - (12 + first), 4 * first);
}

TEST_F(AutoWaitTest, OneDearYieldNowAndThenParksNobody) {
  for (std::uint64_t call = 1; call < 100; ++call)
    EXPECT_EQ(crowded.next(after_yield(call, kSlice, static_cast<std::int64_t>(call) * 50 * kMs)), WaitAction::kYield);
}

TEST_F(AutoWaitTest, DearYieldsThatTakeATenthOfTheTimeParkNobody) {
  for (std::uint64_t call = 1; call < 100; ++call)
    EXPECT_EQ(crowded.next(after_yield(call, kSlice / 3, static_cast<std::int64_t>(call) * 10 * kMs)), WaitAction::kYield);
}

// There members choose schedules and touch memory for the first time.
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
    EXPECT_EQ(thronged.next(after_yield(call, kMs, static_cast<std::int64_t>(call) * kMs)), WaitAction::kYield);
}

TEST_F(AutoWaitTest, TheFirstCallsSayNothingOfStrangers) {
  std::int64_t now = 100 * kMs;
  for (std::uint64_t call = 1; call <= 4; ++call)
    for (int i = 0; i < 3; ++i, now += 2 * kSlice) EXPECT_EQ(crowded.next(after_yield(call, kSlice, now)), WaitAction::kYield);
  EXPECT_EQ(crowded.next(after_yield(5, kSlice, now)), WaitAction::kYield);
  EXPECT_EQ(crowded.next(after_yield(5, kSlice, now + 2 * kSlice)), WaitAction::kPark);
}

TEST_F(AutoWaitTest, NorDoThoseInWhichAllMembersDoSomethingForTheFirstTime) {
  AutoWait other(true, 2, &pace);
  excuse(pace, 100);
  std::int64_t now = 100 * kMs;
  for (std::uint64_t call = 100; call <= 104; ++call)
    for (int i = 0; i < 3; ++i, now += 2 * kSlice) EXPECT_EQ(other.next(after_yield(call, kSlice, now)), WaitAction::kYield);
  EXPECT_EQ(other.next(after_yield(105, kSlice, now)), WaitAction::kYield);
  EXPECT_EQ(other.next(after_yield(105, kSlice, now + 2 * kSlice)), WaitAction::kPark);
}

TEST_F(AutoWaitTest, OneStrangersTurnSeenByTwoMembersIsOne) {
  AutoWait other(true, 2, &pace);
  EXPECT_EQ(crowded.next(after_yield(10, kSlice, 100 * kMs)), WaitAction::kYield);
  EXPECT_EQ(other.next(after_yield(10, kSlice, 101 * kMs)), WaitAction::kYield);
}

TEST_F(AutoWaitTest, CheapYieldsWinTrustBack) {
  crowded.next(after_yield(11, kSlice, 100 * kMs));
  crowded.next(after_yield(11, kSlice, 106 * kMs));
  ASSERT_GT(pace.length.load(), 0U);
  for (std::uint64_t call = 0; call < 20'000; ++call) crowded.next(after_yield(1'000'000 + call, 700, 200 * kMs));
  EXPECT_EQ(pace.length.load(), 0U);
  EXPECT_EQ(crowded.next(after_yield(2'000'000, kSlice, 300 * kMs)), WaitAction::kYield);
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
