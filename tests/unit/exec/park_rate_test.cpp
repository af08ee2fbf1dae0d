// Whether parks or signals pay for the order of a team's doorbells depends on how often members park.
#include "exec/park_rate.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <thread>

#include "builtin_team.hpp"
#include "exec/member.hpp"

namespace fermata::exec {
namespace {

using TeamFences = Fences<RealAtomics>;

TEST(ParkRate, AFewParksInARowSayNothing) {
  ParkRate rate;
  for (std::uint64_t call = 1; call < 16; ++call) EXPECT_FALSE(rate.parks_in(call)) << call;
  EXPECT_TRUE(rate.parks_in(16));
}

TEST(ParkRate, AWaitOfManyParksCountsOnce) {
  ParkRate rate;
  for (int n = 0; n < 1000; ++n) EXPECT_FALSE(rate.parks_in(20));
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

// Two members of a team.
struct Two {
  explicit Two(WaitKind wait) : team(2, 2, wait) {
    const char* detail = "";
    for (std::uint32_t rank = 0; rank < 2; ++rank)
      EXPECT_EQ(Member::join(team.get(), rank, &members[rank], &detail), Status::kOk) << detail;
  }
  ~Two() {
    for (Member* member : members) member->leave();
  }
  Two(const Two&) = delete;
  Two& operator=(const Two&) = delete;

  std::uint32_t mode() const { return RealAtomics::load_relaxed(team->header().fences.mode); }

  const BuiltinTeam team;
  Member* members[2] = {};
};

TEST(ParkRate, SignalsHaveFencesWhereParksAreFrequent) {
  const Two two(WaitKind::kPark);
  if (two.mode() != TeamFences::kLight) GTEST_SKIP() << "one CPU, or no membarrier";
  const auto meet = [&](std::size_t rank) {
    for (int n = 0; n < 300; ++n) EXPECT_EQ(two.members[rank]->barrier(), Status::kOk);
  };
  std::thread other(meet, 1);
  meet(0);
  other.join();
  EXPECT_EQ(two.mode(), TeamFences::kFull);
}

TEST(ParkRate, SignalsHaveNoFencesAnyMoreWhereNobodyParks) {
  const Two two(WaitKind::kPark);
  if (two.mode() != TeamFences::kLight) GTEST_SKIP() << "one CPU, or no membarrier";
  const OsCalls calls;
  two.team->header().fences.raise(calls);
  ASSERT_EQ(two.mode(), TeamFences::kFull);
  for (int n = 0; n < 40'000; ++n) {
    for (Member* member : two.members) ASSERT_EQ(member->arrive(), Status::kOk);
    for (Member* member : two.members) ASSERT_EQ(member->depart(), Status::kOk);
  }
  EXPECT_EQ(two.mode(), TeamFences::kLight);
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
