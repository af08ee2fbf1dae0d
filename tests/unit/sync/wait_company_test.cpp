// The auto policy with simulated times: a member that shares its CPU with another one.
#include <algorithm>
#include <initializer_list>
#include <vector>

#include "wait_simulated.hpp"

namespace fermata {
namespace {

constexpr std::int64_t kLeast = kMs;     // a move is taken to cost so much at least
constexpr std::int64_t kQuick = 10'000;  // a call of two members that share a CPU

struct CompanyTest : AutoWaitTest {
  std::uint64_t call = 10;
  std::array<Simulated, 2> two() {
    std::array<Simulated, 2> both = {roomy(), roomy()};
    both[1].thread = 1;
    return both;
  }
  // Both wait in turn, each on its CPU. Waits end after what they take. Returns the one that moves, or 2.
  std::size_t wait_in_turn(std::array<Simulated, 2>& team, int calls, std::int64_t ns = kQuick) {
    for (int i = 0; i < calls; ++i, ++call) {
      Simulated& member = team[call % 2];
      WaitAction action = member.begin(call);
      while (action == WaitAction::kSpin) action = member.go_on(25'000);
      if (action == WaitAction::kMove) return call % 2;
      member.end(ns);
    }
    return 2;
  }
  // Until one moves. Returns how long it has taken.
  std::int64_t until_a_move(std::array<Simulated, 2>& team, std::int64_t ns = kQuick) {
    const std::int64_t begin = now;
    EXPECT_LT(wait_in_turn(team, 100'000, ns), 2U);
    return now - begin;
  }
  void end_move(Simulated& member, std::int32_t to, std::int64_t ns) {
    member.cpu = to;
    member.end(ns);
    ++call;
  }
};

TEST_F(CompanyTest, WhoSharesACpuLeavesOutTheSpinAndThenMoves) {
  std::array<Simulated, 2> team = two();
  EXPECT_EQ(wait_in_turn(team, 20), 2U);
  for (const Simulated& member : team) EXPECT_EQ(member.policy.spins(), 0U);
  const std::int64_t begin = now;
  const std::size_t moves = wait_in_turn(team, 1'000);
  ASSERT_LT(moves, 2U);
  EXPECT_LT(now - begin, 2 * kLeast + 20 * kQuick) << "each waits in every second call";
  Simulated& other = team[1 - moves];
  EXPECT_EQ(other.begin(call), WaitAction::kYield) << "only one";
  other.end(kQuick);
  end_move(team[moves], 1, kSlice);
  EXPECT_GT(team[moves].policy.spins(), 0U);
  for (int i = 0; i < 10; ++i, ++call) {
    EXPECT_EQ(team[moves].wait(call, 700), WaitAction::kSpin);
    other.wait(call, 700);
  }
  EXPECT_GT(other.policy.spins(), 0U) << "it sees that it is alone";
}

// A move takes as long as foreign threads run. The other member waits for the one that moves.
TEST_F(CompanyTest, NobodyFollowsAMemberThatMoves) {
  std::array<Simulated, 2> team = two();
  until_a_move(team);
  Simulated &mover = team[call % 2], &other = team[1 - call % 2];
  WaitAction action = other.begin(call + 1);
  for (int i = 0; i < 40 && action != WaitAction::kPark; ++i) {
    EXPECT_NE(action, WaitAction::kMove);
    action = other.go_on(action == WaitAction::kSpin ? 25'000 : kMs);
  }
  end_move(mover, 1, 40 * kMs);
  other.end(kQuick);
  for (int i = 0; i < 10; ++i, ++call) {
    EXPECT_NE(other.wait(call, kQuick), WaitAction::kMove);
    mover.wait(call, 700);
  }
}

// It yields, and the kernel moves it.
TEST_F(CompanyTest, WhomTheKernelHasPartedDoesNotGoBack) {
  std::array<Simulated, 2> team = two();
  exclude_until(pace, UINT64_MAX - 1'000);
  wait_in_turn(team, 20);
  Simulated& member = team[call % 2];
  WaitAction action = member.begin(call);
  EXPECT_EQ(action, WaitAction::kYield);
  member.cpu = 1;
  for (int i = 0; i < 40 && action == WaitAction::kYield; ++i) action = member.go_on(400'000);
  EXPECT_NE(action, WaitAction::kMove);
  member.end(kQuick);
  EXPECT_GT(member.policy.spins(), 0U);
}

TEST_F(CompanyTest, OnCpusOfTheirOwnNobodyMoves) {
  std::array<Simulated, 2> team = two();
  team[1].cpu = 1;
  EXPECT_EQ(wait_in_turn(team, 10'000), 2U);
  for (const Simulated& member : team) EXPECT_GT(member.policy.spins(), 0U);
  // The kernel wakes a member beside the other one, and moves it at once.
  for (int i = 0; i < 100; ++i) {
    team[1].cpu = 0;
    EXPECT_EQ(wait_in_turn(team, 1), 2U);
    team[1].cpu = 1;
    EXPECT_EQ(wait_in_turn(team, 20), 2U);
    for (const Simulated& member : team) EXPECT_GT(member.policy.spins(), 0U);
  }
}

// It always comes last, and wakes the other one.
TEST_F(CompanyTest, AMemberThatOnlyWakesOthersIsSeen) {
  Simulated member = roomy();
  WaitAction action = WaitAction::kSpin;
  for (const std::int64_t begin = now; action != WaitAction::kMove && now - begin < 10 * kMs; ++call) {
    sign(signs, 1, member.cpu);
    for (action = member.begin(call); action == WaitAction::kSpin;) action = member.go_on(25'000);
    if (action != WaitAction::kMove) member.end(kQuick);
  }
  EXPECT_EQ(action, WaitAction::kMove);
}

// A thread may have joined as several members.
TEST_F(CompanyTest, MembersOfOneThreadDoNotMove) {
  std::array<Simulated, 2> team = two();
  team[1].thread = team[0].thread;
  EXPECT_EQ(wait_in_turn(team, 10'000), 2U);
  for (const Simulated& member : team) EXPECT_GT(member.policy.spins(), 0U);
}

TEST_F(CompanyTest, InACrowdNobodyMoves) {
  std::array<Simulated, 2> team = {crowded(4, 0), crowded(4, 1)};
  team[1].thread = 1;
  EXPECT_EQ(wait_in_turn(team, 1'000), 2U);
}

TEST_F(CompanyTest, MovesTakeAtMostHalfOfTheTimeAndLessIfTheyGainNothing) {
  for (const bool gains : {true, false}) {
    forget(pace);
    forget(signs);
    exclude_until(pace, UINT64_MAX - 1'000);  // no holds
    std::array<Simulated, 2> team = two();
    const std::int64_t begin = now;
    std::int64_t moving = 0;
    int moves = 0;
    while (now - begin < 20'000 * kMs) {
      until_a_move(team);
      Simulated& mover = team[call % 2];
      end_move(mover, 1, 4 * kMs);
      moving += 4 * kMs;
      ++moves;
      // Apart for 10 ms, with ten times as many calls, or with a third.
      team[0].cpu = 0, team[1].cpu = 1;
      for (int i = gains ? 10'000 : 300; i > 0; --i, ++call)
        team[call % 2].wait(call, gains ? 1'000 : 3 * kQuick);
      team[0].cpu = team[1].cpu = 0;
    }
    if (gains) EXPECT_GT(moves, 900) << "each time as soon as it has lasted as long as a move";
    else EXPECT_LT(moving, (now - begin) / 25);
    EXPECT_LT(moving, (now - begin) / 2);
  }
}

// A sandbox that forbids it, or threads that are bound to one CPU.
TEST_F(CompanyTest, WhoCannotMoveTriesOnce) {
  std::array<Simulated, 2> team = two();
  team[0].may_move = team[1].may_move = false;
  exclude_until(pace, UINT64_MAX - 1'000);
  for (int tries = 0; tries < 2; ++tries) {
    until_a_move(team);
    end_move(team[call % 2], 0, 2'000);
  }
  EXPECT_EQ(wait_in_turn(team, 100'000), 2U) << "each has tried";
  for (const Simulated& member : team) EXPECT_EQ(member.policy.spins(), 0U);
}

TEST_F(CompanyTest, WhateverAFaultyMemberHasWrittenMovesAreFew) {
  for (const std::int64_t moved : {INT64_MIN, std::int64_t{0}, INT64_MAX}) {
    Simulated member = roomy();
    const std::int64_t begin = now;
    int moves = 0;
    while (now - begin < 100 * kMs) {
      for (std::uint32_t i = 0; i < kSigned; ++i)
        signs.waited_on[i] = signature(7, static_cast<std::int32_t>(i));
      signs.moved_ns = moved;
      WaitAction action = member.begin(++call);
      while (action == WaitAction::kSpin) action = member.go_on(25'000);
      if (action == WaitAction::kMove) ++moves, member.cpu = (member.cpu + 1) % 4;
      member.end(action == WaitAction::kMove ? 10'000 : kQuick);
    }
    EXPECT_LE(moves, 100) << moved;
    EXPECT_GT(moves, 0) << moved;
  }
}

// Where it shall not go: to CPUs where others are.
TEST_F(CompanyTest, AMemberThatIsElsewhereNowHasNoSignatureWhereItWas) {
  std::array<Simulated, 2> team = two();
  const auto taken = [&] {
    std::vector<std::int32_t> cpus;
    leave_cpu(signs, 0, [&](std::int32_t, const std::int32_t* list, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i)
        if (list[i] >= 0) cpus.push_back(list[i]);
      return true;
    });
    std::sort(cpus.begin(), cpus.end());
    cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
    return cpus;
  };
  team[0].cpu = 3, team[1].cpu = 5;
  wait_in_turn(team, 10);
  EXPECT_EQ(taken(), (std::vector<std::int32_t>{3, 5}));
  team[0].cpu = 4;
  wait_in_turn(team, 10);
  EXPECT_EQ(taken(), (std::vector<std::int32_t>{4, 5}));
  team[1].cpu = 4;
  wait_in_turn(team, 10);
  EXPECT_EQ(taken(), std::vector<std::int32_t>{4});
}

TEST_F(CompanyTest, AnySignatureHasACpuOrNone) {
  static_assert(cpu_of(signature(7, 0)) == 0 && cpu_of(signature(7, 8191)) == 8191 && cpu_of(0) == -1);
  static_assert(cpu_of(0x8000'0000) == INT32_MAX && cpu_of(UINT64_MAX) == -2, "a faulty member's");
}

// CPUs whose numbers share a word.
TEST_F(CompanyTest, CpusWithTheSameSignatureWordAreDifferentOnes) {
  std::array<Simulated, 2> team = two();
  team[1].cpu = static_cast<std::int32_t>(kSigned);
  EXPECT_EQ(wait_in_turn(team, 10'000), 2U);
  for (const Simulated& member : team) EXPECT_GT(member.policy.spins(), 0U);
}

}  // namespace
}  // namespace fermata
