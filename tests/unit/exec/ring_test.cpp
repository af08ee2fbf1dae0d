// A member that sleeps for a call's first signal is woken by the sender, also on the shorter path of repeated
// calls.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "builtin_team.hpp"
#include "exec/member.hpp"
#include "sync/ring.hpp"

namespace fermata::exec {
namespace {

TEST(Ring, WakesWhoSleepsForTheFirstSignal) {
  constexpr int kRounds = 50;
  const BuiltinTeam team(2, 4, WaitKind::kPark);
  ASSERT_NE(team.get(), nullptr);
  const char* detail = "";
  Member* members[2] = {};
  for (std::uint32_t rank = 0; rank < 2; ++rank)
    ASSERT_EQ(Member::join(team.get(), rank, &members[rank], &detail), Status::kOk) << detail;
  std::thread sleeper([&] {
    for (int i = 0; i < kRounds; ++i) EXPECT_EQ(members[1]->barrier(), Status::kOk);
  });
  // Nothing else rings the sleeper's bell. A park also ends by itself, so sometimes nobody needs the ring.
  const Door<RealAtomics>& door = team->segment().door(1);
  int rung = 0;
  for (int i = 0; i < kRounds; ++i) {
    while (door.armed.load() == 0) std::this_thread::yield();
    const std::uint32_t before = door.bell.load();
    EXPECT_EQ(members[0]->barrier(), Status::kOk);
    rung += door.bell.load() != before;
  }
  sleeper.join();
  EXPECT_GT(rung, kRounds / 2);
  for (Member* member : members) member->leave();
}

// A faulty reader takes credit back. What was free stays so: a writer may look twice, and relies on it.
TEST(Ring, CreditNeverFalls) {
  Ring<RealAtomics>::Counter credit{5};
  std::uint64_t seen = 0;
  EXPECT_TRUE(Ring<RealAtomics>::was_read(credit, seen, 5));
  credit = 2;
  EXPECT_FALSE(Ring<RealAtomics>::was_read(credit, seen, 6));
  EXPECT_TRUE(Ring<RealAtomics>::was_read(credit, seen, 5));
}

}  // namespace
}  // namespace fermata::exec
