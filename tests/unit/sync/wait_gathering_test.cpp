// The auto policy with simulated times: a crowd gathers on one CPU, if its calls take less time there.
#include <algorithm>

#include "wait_simulated.hpp"

namespace fermata {
namespace {

struct GatheringTest : AutoWaitTest {
  std::array<Simulated, 4> team = four();
  std::size_t judge = 0;  // the member that begins holds
  std::uint64_t call = 8;
  int moves = 0;
  std::int64_t gathered_ns = 0;  // time on one CPU

  GatheringTest() { disperse(); }
  void disperse() {
    for (std::size_t i = 0; i < team.size(); ++i) team[i].cpu = static_cast<std::int32_t>(i % 2);
  }
  bool is_gathered() const {
    return std::all_of(team.begin(), team.end(), [&](const Simulated& m) { return m.cpu == team[0].cpu; });
  }
  void begin_hold() {
    stall_twice(team[judge], call);
    call += 4;
  }
  std::int64_t disperses_ns = 0;  // how long the kernel takes to disperse members that no longer gather
  std::int64_t alone_ns = 0;      // since when they do not
  bool judges = true;             // that member waits, else the others wait for it

  // Calls for so long, in a hold. One takes `apart`, or `together` if all are on one CPU.
  void run(std::int64_t ns, std::int64_t apart, std::int64_t together) {
    for (const std::int64_t end = now + ns; now < end; ++call) {
      pace.parks_until = call + 1'000;
      for (std::size_t i = 0; i < team.size(); ++i) {
        if (i == judge || team[i].parks_unwatched(call)) continue;
        const WaitAction action = team[i].begin(call);
        moves += action == WaitAction::kMove ? 1 : 0;
        team[i].end(0);
      }
      const std::int64_t took = is_gathered() ? together : apart;
      gathered_ns += is_gathered() ? together : 0;
      if (judges) {
        const WaitAction action = team[judge].begin(call);
        moves += action == WaitAction::kMove ? 1 : 0;
        team[judge].end(took);
      } else {
        now += took;
      }
      if (gathers()) alone_ns = now;
      else if (now - alone_ns >= disperses_ns) disperse();
    }
  }
  bool gathers() const { return cpu_of(signs.gather) >= 0 && call < signs.gather_until; }
};

constexpr std::int64_t kDear = kMs, kCheap = 100'000;

TEST_F(GatheringTest, WhereCallsAreCheaperTogetherMembersStayTogether) {
  begin_hold();
  run(100 * kMs, kDear, kCheap);
  EXPECT_TRUE(is_gathered());
  gathered_ns = 0;
  run(10'000 * kMs, kDear, kCheap);
  EXPECT_GT(gathered_ns, 9'600 * kMs) << "but for trials";
  EXPECT_LT(gathered_ns, 10'000 * kMs) << "other loads might come";
}

TEST_F(GatheringTest, WhereTheyAreNotItIsTriedNowAndThen) {
  begin_hold();
  for (const std::int64_t together : {kDear, kCheap * 5 / 4}) {
    gathered_ns = 0;
    run(10'000 * kMs, kCheap, together);
    EXPECT_GT(gathered_ns, 0);
    EXPECT_LT(gathered_ns, 400 * kMs) << together;
  }
}

TEST_F(GatheringTest, WhereItMakesNoDifferenceMembersStayTogether) {
  begin_hold();
  run(100 * kMs, kCheap, kCheap * 21 / 20);
  EXPECT_TRUE(is_gathered());
}

TEST_F(GatheringTest, CallsThatTakeLongAreMostlyWork) {
  begin_hold();
  run(10'000 * kMs, 40 * kMs, kCheap);
  EXPECT_EQ(moves, 0);
}

// Their work takes turns on one CPU.
TEST_F(GatheringTest, WhenCallsBecomeLongMembersDisperse) {
  begin_hold();
  for (const std::int64_t together : {40 * kMs, 600 * kMs}) {
    run(10'000 * kMs, kDear, kCheap);
    ASSERT_TRUE(is_gathered());
    gathered_ns = 0;
    run(120'000 * kMs, 10 * kMs, together);
    EXPECT_FALSE(is_gathered());
    EXPECT_LE(gathered_ns, 15'000 * kMs) << together;
  }
}

TEST_F(GatheringTest, ATrialEndsHoweverLongItsCallsAre) {
  begin_hold();
  run(200'000 * kMs, 15 * kMs, 600 * kMs);
  EXPECT_GT(gathered_ns, 0);
  EXPECT_LT(gathered_ns, 20'000 * kMs);
}

TEST_F(GatheringTest, IfTheJudgeDoesNotWaitMembersDisperse) {
  begin_hold();
  run(100 * kMs, kDear, kCheap);
  ASSERT_TRUE(is_gathered());
  judges = false;
  gathered_ns = 0;
  run(60'000 * kMs, kDear, 2 * kDear);
  EXPECT_FALSE(is_gathered());
  EXPECT_LT(gathered_ns, 10'000 * kMs);
  judges = true;
  run(10'000 * kMs, kDear, kCheap);
  EXPECT_TRUE(is_gathered());
}

// Where members follow each other on one CPU, the judge may come last in many calls.
TEST_F(GatheringTest, AJudgeThatSeldomWaitsJudgesAllTheSame) {
  begin_hold();
  for (int i = 0; i < 1'000; ++i) {
    judges = i % 20 == 0;
    if (i == 200) gathered_ns = 0;
    run(10 * kMs, 4 * kDear, kCheap);
  }
  EXPECT_GT(gathered_ns, 7'500 * kMs) << "of 8 s";
}

// The judges of short holds differ.
TEST_F(GatheringTest, EachJudgeKnowsOfTheLastTrial) {
  for (int holds = 0; holds < 40; ++holds) {
    judge = static_cast<std::size_t>(holds) % 4;
    forget(pace);
    exclude_until(pace, 0);
    call += 10;
    begin_hold();
    run((holds < 20 ? 150 : 60) * kMs, kCheap, kDear);
  }
  EXPECT_GT(gathered_ns, 0);
  EXPECT_LT(gathered_ns, 400 * kMs) << "of 4.2 s";
}

// A trial that ends before they are dispersed says nothing.
TEST_F(GatheringTest, MembersThatTheKernelDispersesLateDoNotStayTogether) {
  disperses_ns = 100 * kMs;
  begin_hold();
  run(10'000 * kMs, kDear, kCheap);
  EXPECT_TRUE(is_gathered());
  gathered_ns = 0;
  run(60'000 * kMs, kCheap, 5 * kCheap);
  EXPECT_FALSE(is_gathered());
  EXPECT_LT(gathered_ns, 15'000 * kMs);
}

TEST_F(GatheringTest, WhereTheKernelDispersesThemLateTheyGatherForLonger) {
  disperses_ns = 100 * kMs;
  begin_hold();
  run(20'000 * kMs, kCheap, kDear);
  EXPECT_GT(gathered_ns, 0);
  EXPECT_LT(gathered_ns, 2'500 * kMs);
}

TEST_F(GatheringTest, WhenCallsBecomeMuchSlowerItIsTriedSoon) {
  begin_hold();
  run(1'000 * kMs, kDear, kCheap);
  EXPECT_TRUE(is_gathered());
  run(300 * kMs, kDear, 4 * kDear);
  EXPECT_FALSE(is_gathered());
  run(300 * kMs, 8 * kDear, kDear);
  EXPECT_TRUE(is_gathered());
}

TEST_F(GatheringTest, PausesAreNotPartOfACall) {
  begin_hold();
  for (int window = 0; window < 4; ++window) {
    run(100 * kMs, kDear, kCheap);
    now += 2'000 * kMs;
  }
  EXPECT_TRUE(is_gathered());
  gathered_ns = 0;
  for (int window = 0; window < 40; ++window) {
    run(100 * kMs, kDear, kCheap);
    now += 2'000 * kMs;
  }
  EXPECT_GT(gathered_ns, 3'800 * kMs) << "the next trial comes as late as without pauses";
}

TEST_F(GatheringTest, ShortBurstsAddUp) {
  begin_hold();
  for (int window = 0; window < 400; ++window) {
    if (window == 20) gathered_ns = 0;
    run(20 * kMs, kDear, kCheap);
    now += 2'000 * kMs;
  }
  EXPECT_GT(gathered_ns, 380 * 20 * kMs * 9 / 10);
}

// Long calls, and some short ones between them.
TEST_F(GatheringTest, WhereCallsArePausesMembersDisperse) {
  begin_hold();
  run(10'000 * kMs, kDear, kCheap);
  ASSERT_TRUE(is_gathered());
  gathered_ns = 0;
  for (int i = 0; i < 100; ++i) {
    run(kMs, 300 * kMs, 600 * kMs);
    run(5 * kMs, kMs / 2, kMs);
  }
  EXPECT_FALSE(is_gathered());
  EXPECT_LT(gathered_ns, 12'000 * kMs);
  run(3'000 * kMs, kDear, kCheap);
  EXPECT_TRUE(is_gathered()) << "it is tried soon again";
}

TEST_F(GatheringTest, AScoutBecomesTheJudgeIfThereIsNone) {
  begin_hold();
  team[0].policy = AutoWait(Room::kCrowded, 4, &pace, 0, &signs);  // it forgets
  judges = false;
  run(5'000 * kMs, kDear, kCheap);
  EXPECT_EQ(moves, 0);
  pace.parks_until = call - 1;
  while (team[1].begin(call) != WaitAction::kYield) team[1].end(kCheap), ++call;
  team[1].end(kSlice);
  ++call;
  judge = 1, judges = true;
  run(200 * kMs, kDear, kCheap);
  EXPECT_TRUE(is_gathered());
}

TEST_F(GatheringTest, WhoIsElsewhereMovesBackButNotTooOften) {
  begin_hold();
  run(100 * kMs, kDear, kCheap);
  ASSERT_TRUE(is_gathered());
  Simulated& member = team[2];
  const std::int32_t other = 1 - member.cpu;
  now += kSlice;
  member.cpu = other;
  EXPECT_FALSE(member.parks_unwatched(call));
  EXPECT_EQ(member.begin(call), WaitAction::kMove);
  EXPECT_EQ(member.go_on(kSlice), WaitAction::kPark);
  EXPECT_EQ(member.cpu, 1 - other);
  EXPECT_TRUE(member.parks_unwatched(call + 1));
  member.end(kCheap);
  member.cpu = other;
  const std::int64_t moved = now;
  int parks = 0;
  while (member.begin(++call) == WaitAction::kPark && parks < 1'000) member.end(kCheap), ++parks;
  EXPECT_GT(now - moved, 3 * kSlice);
  EXPECT_LT(now - moved, 5 * kSlice);
}

TEST_F(GatheringTest, WhoMayNotMoveThereIsNotAskedAgain) {
  team[3].may_move = false;
  begin_hold();
  run(2'000 * kMs, kDear, kCheap);
  const int before = moves;
  EXPECT_LT(before, 20);
  EXPECT_NE(team[3].cpu, team[0].cpu);
  EXPECT_TRUE(team[3].parks_unwatched(call));
  team[3].may_move = true;
  signs.gather = signature(2, 7);
  signs.gather_until = call + 1'000;
  EXPECT_FALSE(team[3].parks_unwatched(call)) << "it may go elsewhere";
}

TEST_F(GatheringTest, TheJudgeOfTheNewestHoldDecides) {
  begin_hold();
  signs.gather = signature(2, -1);
  run(1'000 * kMs, kDear, kCheap);
  EXPECT_EQ(moves, 0);
  EXPECT_EQ(signs.gather, signature(2, -1));
  signs.gather = signature(2, 1);
  signs.gather_until = call + 1'000;
  run(10 * kMs, kDear, kCheap);
  EXPECT_TRUE(is_gathered());
  EXPECT_EQ(team[0].cpu, 1);
}

TEST_F(GatheringTest, WhateverAFaultyMemberWritesMovesTakeAFifthOfTheTime) {
  begin_hold();
  const std::int64_t begin = now;
  std::int64_t moved_ns = 0;
  for (std::uint64_t step = 0; now - begin < 1'000 * kMs; ++step, ++call) {
    pace.parks_until = call + 1'000;
    signs.gather = step * 0x9e3779b97f4a7c15U >> (step % 3 * 31);
    signs.gather_until = call + step % 70;
    signs.rests_ns = static_cast<std::int64_t>(step * 0xd1342543de82ef95U);
    team[0].begin(call);
    team[0].end(1'000);
    if (team[1].begin(call) == WaitAction::kMove) {
      moved_ns += kSlice;
      team[1].end(kSlice);
    } else {
      team[1].end(10'000);
    }
  }
  EXPECT_GT(moved_ns, 0);
  EXPECT_LE(moved_ns, 201 * kMs);
}

// Process-shared barriers have no room for signatures.
TEST_F(GatheringTest, WithoutSignsNobodyGathers) {
  for (std::uint32_t who = 0; who < 4; ++who) team[who].policy = AutoWait(Room::kCrowded, 4, &pace, who);
  begin_hold();
  run(1'000 * kMs, kDear, kCheap);
  EXPECT_EQ(moves, 0);
}

}  // namespace
}  // namespace fermata
