// Whether parks or signals pay for the order of a team's doorbells depends on how often members park.
#include "exec/park_rate.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>

#include "builtin_team.hpp"
#include "exec/member.hpp"

namespace fermata::exec {
namespace {

using TeamFences = Fences<RealAtomics>;

std::uint32_t mode_of(const BuiltinTeam& team) {
  return RealAtomics::load_relaxed(team->header().fences.mode);
}

TEST(ParkRate, AFewParksInARowSayNothing) {
  ParkRate rate;
  for (std::uint64_t call = 0; call < 15; ++call) EXPECT_FALSE(rate.parks_in(call)) << call;
  EXPECT_TRUE(rate.parks_in(15));
}

TEST(ParkRate, OneParkIn128CallsIsFrequent) {
  for (const std::uint64_t apart : {127U, 129U}) {
    ParkRate rate;
    bool frequent = false;
    for (std::uint64_t n = 1; n <= 200; ++n) frequent = rate.parks_in(n * apart);
    EXPECT_EQ(frequent, apart < 128) << apart;
  }
}

TEST(ParkRate, CountsAnewAfterEachWindow) {
  constexpr std::uint64_t kWindow = 16'384;
  ParkRate rate;
  for (std::uint64_t call = 1; call <= 1000; ++call) rate.parks_in(call);
  EXPECT_FALSE(rate.is_rare_in(kWindow - 1));
  EXPECT_FALSE(rate.is_rare_in(kWindow)) << "1,000 parks in this window";
  EXPECT_FALSE(rate.is_rare_in(2 * kWindow - 1));
  EXPECT_TRUE(rate.is_rare_in(2 * kWindow)) << "none in this one";
}

// Both members' loops of `calls` barriers.
void meet(const BuiltinTeam& team, int calls) {
  const auto loop = [&](std::uint32_t rank) {
    Member* member = nullptr;
    const char* detail = "";
    ASSERT_EQ(Member::join(team.get(), rank, &member, &detail), Status::kOk) << detail;
    for (int n = 0; n < calls; ++n) ASSERT_EQ(member->barrier(), Status::kOk);
    member->leave();
  };
  std::thread other(loop, 1U);
  loop(0);
  other.join();
}

TEST(ParkRate, SignalsHaveFencesWhereParksAreFrequent) {
  const BuiltinTeam team(2, 2, WaitKind::kPark);
  ASSERT_NE(team.get(), nullptr);
  if (mode_of(team) != TeamFences::kLight) GTEST_SKIP() << "one CPU, or no membarrier";
  meet(team, 2000);
  EXPECT_EQ(mode_of(team), TeamFences::kFull);
}

TEST(ParkRate, SignalsHaveNoFencesAnyMoreWhereNobodyParks) {
  const BuiltinTeam team(2, 2, WaitKind::kYield);
  ASSERT_NE(team.get(), nullptr);
  if (mode_of(team) != TeamFences::kLight) GTEST_SKIP() << "one CPU, or no membarrier";
  const OsCalls calls;
  team->header().fences.raise(calls);
  ASSERT_EQ(mode_of(team), TeamFences::kFull);
  meet(team, 40'000);
  EXPECT_EQ(mode_of(team), TeamFences::kLight);
}

TEST(ParkRate, FencesThatAreAlwaysNeededStay) {
  TeamFences fences{TeamFences::kAlwaysFull};
  const OsCalls calls;
  fences.lower();
  EXPECT_EQ(RealAtomics::load_relaxed(fences.mode), TeamFences::kAlwaysFull);
  fences.raise(calls);
  EXPECT_EQ(RealAtomics::load_relaxed(fences.mode), TeamFences::kAlwaysFull);
}

// A member that changes them may die. What it leaves suits everybody, and nobody goes on from there.
TEST(ParkRate, FencesThatAreChangingStay) {
  TeamFences fences{TeamFences::kChanging};
  const OsCalls calls;
  fences.lower();
  fences.raise(calls);
  EXPECT_EQ(RealAtomics::load_relaxed(fences.mode), TeamFences::kChanging);
}

}  // namespace
}  // namespace fermata::exec
