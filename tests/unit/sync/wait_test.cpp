// The auto policy with told times: when it spins, yields and parks.
#include "sync/wait.hpp"

#include <gtest/gtest.h>

namespace fermata {
namespace {

WaitView after_yield(std::uint64_t call, std::int64_t ns) {
  WaitView view;
  view.call = call;
  view.waited_ns = ns;
  view.last_action = WaitAction::kYield;
  view.last_action_ns = ns;
  view.first = false;
  return view;
}

struct AutoWaitTest : ::testing::Test {
  Pace pace{};
  AutoWait crowded{true, 2, &pace};
};

TEST_F(AutoWaitTest, WithEnoughCpusSpinsThenParksAndNeverYields) {
  AutoWait roomy(false, 1, &pace);
  WaitView view;
  EXPECT_EQ(roomy.next(view), WaitAction::kSpin);
  view.waited_ns = 60'000;
  EXPECT_EQ(roomy.next(view), WaitAction::kPark);
  EXPECT_GT(roomy.spins(), crowded.spins());
}

TEST_F(AutoWaitTest, CheapYieldsGoOn) {
  for (std::uint64_t call = 1; call < 1000; ++call)
    EXPECT_EQ(crowded.next(after_yield(call, 700)), WaitAction::kYield);
}

TEST_F(AutoWaitTest, ADearYieldParksTheWholeTeamForAWhileAndLongerTheNextTime) {
  AutoWait other(true, 2, &pace);
  EXPECT_EQ(crowded.next(after_yield(10, 700)), WaitAction::kYield);
  EXPECT_EQ(crowded.next(after_yield(11, 3'000'000)), WaitAction::kPark);
  EXPECT_EQ(other.next(after_yield(12, 700)), WaitAction::kPark);
  const std::uint64_t first = pace.park_until.load() - 11;
  EXPECT_EQ(other.next(after_yield(11 + first, 700)), WaitAction::kYield);
  EXPECT_EQ(other.next(after_yield(12 + first, 3'000'000)), WaitAction::kPark);
  EXPECT_EQ(pace.park_until.load() - (12 + first), 4 * first);
}

TEST_F(AutoWaitTest, ATeamsOwnTurnsAreNotDear) {
  AutoWait many(true, 32, &pace);
  EXPECT_EQ(many.next(after_yield(1, 120'000)), WaitAction::kYield);
}

TEST_F(AutoWaitTest, AMemberFarBehindIsWaitedForAsleep) {
  WaitView view = after_yield(1, 700);
  view.waited_ns = 6'000'000;
  EXPECT_EQ(crowded.next(view), WaitAction::kPark);
}

}  // namespace
}  // namespace fermata
