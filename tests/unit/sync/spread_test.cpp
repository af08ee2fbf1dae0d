// A crowd's members on several CPUs: who moves to another one, and how often.
#include "sync/spread.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace fermata {
namespace {

constexpr std::int64_t kUs = 1'000, kWholeMs = 1'000'000;

using Counts = std::vector<int>;
using Cpus = std::vector<std::int32_t>;

struct Spreading {
  Signs signs;
  Pace pace{};
  Cpus on;  // each member's CPU
  std::vector<BasicGathering<RealAtomics>> moves;
  std::int64_t now = 100 * kWholeMs;
  std::uint64_t call = 1'000;
  std::int64_t move_ns = 10 * kUs, moved_ns = 0;
  std::set<std::int32_t> refused;  // CPUs where nobody may go
  int tries = 0;

  explicit Spreading(Cpus cpus) : on(std::move(cpus)), moves(on.size()) { forget(signs); }

  struct Os {
    Spreading& crowd;
    std::size_t who;
    std::int32_t cpu() const { return crowd.on[who]; }
    std::int64_t now_ns() const { return crowd.now; }
    bool spread(std::int32_t from, std::int32_t to) const {
      EXPECT_EQ(from, crowd.on[who]);
      ++crowd.tries;
      if (crowd.refused.contains(to)) return false;
      crowd.now += crowd.move_ns;
      crowd.moved_ns += crowd.move_ns;
      crowd.on[who] = to;
      return true;
    }
  };
  // So many calls. In each the members of the fullest CPU take turns: so long for each of them. One member
  // looks.
  void calls(int count, std::int64_t each_ns = 40 * kUs) {
    for (int i = 0; i < count; ++i) {
      ++call;
      int most = 0;
      for (const int members : counts()) most = std::max(most, members);
      now += most * each_ns;
      for (std::size_t who = 0; who < on.size(); ++who)
        if (who != call % on.size())  // it comes last
          signs.waiters[static_cast<std::uint32_t>(on[who]) % kSigned].arrive(
              on[who], call, static_cast<std::uint32_t>(who % 64));
      look((call * 7 + 1) % on.size());
    }
  }
  void look(std::size_t who) {
    const auto members = static_cast<std::uint32_t>(on.size());
    spread(signs, moves[who], pace, members, call, now, Os{*this, who});
  }
  Counts counts() const {
    Counts members(4);
    for (const std::int32_t cpu : on) ++members[static_cast<std::size_t>(cpu)];
    return members;
  }
};

TEST(Spread, MembersLeaveACpuThatHasTwoMoreThanAnother) {
  Spreading three({0, 0, 0, 1});
  three.calls(100);
  EXPECT_EQ(three.counts(), (Counts{2, 2, 0, 0}));
  EXPECT_EQ(three.tries, 1);
  Spreading many({0, 0, 0, 0, 0, 0, 0, 1, 1, 2});
  many.calls(2'000);
  for (const std::size_t cpu : {0U, 1U, 2U}) EXPECT_GE(many.counts()[cpu], 3) << cpu;
  EXPECT_EQ(many.counts()[3], 0) << "nobody knows that CPU";
}

TEST(Spread, OneMoreIsNoReasonToMove) {
  const std::vector<Cpus> all{{0, 0, 1, 1}, {0, 0, 1}, {1, 0, 0, 2, 1}, {0, 0, 0, 0}};
  for (const Cpus& on : all) {
    Spreading crowd(on);
    crowd.calls(1'000);
    EXPECT_EQ(crowd.tries, 0);
  }
}

// A difference of less than an eighth matters little.
TEST(Spread, ManyMembersSpreadUntilTheyAreAboutEqual) {
  Cpus on(48, 0);
  on.resize(64, 1);
  Spreading crowd(on);
  crowd.calls(2'000, kUs);
  EXPECT_LE(crowd.counts()[0], 34);
  EXPECT_GE(crowd.counts()[1], 30);
  EXPECT_LE(crowd.tries, 17);
  struct {
    std::size_t here, there;
    bool moves;
  } const cases[] = {{17, 15, true}, {31, 29, false}, {31, 28, true}};
  for (const auto& [here, there, moves] : cases) {
    Cpus of_two(here, 0);
    of_two.resize(here + there, 1);
    Spreading other(of_two);
    other.calls(2'000, kUs);
    EXPECT_EQ(other.tries > 0, moves) << here << " and " << there;
  }
}

// Several members may have one number there, so a CPU with many of them can't be counted.
TEST(Spread, InLargeTeamsMembersOfFullCpusStayWhereTheyAre) {
  Cpus on(32, 1);
  on.resize(65, 0);
  Spreading crowd(on);
  crowd.calls(2'000, kUs);
  EXPECT_EQ(crowd.tries, 0);
  Cpus few;
  for (std::int32_t cpu = 0; cpu < 4; ++cpu) few.resize(few.size() + (cpu == 0 ? 12 : 4), cpu);
  Spreading sparse(few);
  const auto look = [&](std::uint32_t team) {
    return emptier_cpu(sparse.signs, sparse.moves[0], team, 0, sparse.call).cpu;
  };
  sparse.calls(20, 1);
  EXPECT_GT(look(24), 0);
  EXPECT_GT(look(1'000), 0) << "few members of a large team are there";
}

// 16 of 64 must leave: they leave one after the other, and others still make calls between two of them.
TEST(Spread, ManyMovesThatAreNeededFollowEachOtherFast) {
  Cpus on(48, 0);
  on.resize(64, 1);
  Spreading crowd(on);
  const std::int64_t begun = crowd.now;
  while (crowd.counts()[0] > 36 && crowd.now < begun + 100 * kWholeMs) crowd.calls(1, kUs);
  EXPECT_LE(crowd.now - begun, 30 * kWholeMs);
  EXPECT_LE(crowd.moved_ns, (crowd.now - begun) / 8);
}

// Otherwise several members would leave before anybody has counted anew.
TEST(Spread, AfterAMoveBothCpusAreCountedAnew) {
  Spreading crowd({0, 0, 0, 0, 0, 0, 0, 0, 1, 1});
  crowd.calls(8, 2 * kWholeMs);
  for (int i = 0; i < 100 && crowd.tries == 0; ++i) crowd.calls(1, 2 * kWholeMs);
  crowd.calls(7, 2 * kWholeMs);
  EXPECT_EQ(crowd.tries, 1);
  crowd.calls(200, 2 * kWholeMs);
  EXPECT_EQ(crowd.counts(), (Counts{5, 5, 0, 0}));
  EXPECT_EQ(crowd.tries, 3);
}

TEST(Spread, MovesOfAnyLengthTakeASmallPartOfTheTime) {
  for (const std::int64_t move_ns : {10 * kUs, kWholeMs, 35 * kWholeMs, 150 * kWholeMs}) {
    Spreading crowd({0, 0, 0, 1});
    crowd.move_ns = move_ns;
    const std::int64_t begun = crowd.now;
    for (int i = 0; i < 20'000; ++i) {
      crowd.calls(1, kWholeMs);
      if (crowd.counts()[0] == 2) crowd.on = {0, 0, 0, 1};  // the kernel moves it back
    }
    EXPECT_GE(crowd.tries, 1);
    EXPECT_LE(crowd.moved_ns, (crowd.now - begun) / 50 + move_ns) << move_ns;
  }
}

TEST(Spread, MovesThatGainNothingBecomeRare) {
  Spreading crowd({0, 0, 0, 1});
  for (int i = 0; i < 100'000; ++i) {
    crowd.calls(1, 10 * kUs);
    if (crowd.counts()[0] == 2) crowd.on = {0, 0, 0, 1};
  }
  EXPECT_LE(crowd.tries, 20) << "in 3 s";
  EXPECT_GE(crowd.tries, 8);
}

TEST(Spread, WhoCanNotGoSomewhereTriesOnce) {
  Spreading crowd({0, 0, 0, 1});
  crowd.refused = {1};
  crowd.calls(10'000);
  EXPECT_LE(crowd.tries, 3) << "each member of that CPU";
  EXPECT_GE(crowd.tries, 1);
  Spreading other({0, 0, 0, 0, 1, 2});
  other.refused = {1};
  other.calls(2'000);
  EXPECT_EQ(other.counts(), (Counts{3, 1, 2, 0})) << "and then somewhere else";
}

// Other stalls count, but for those of the others that wait for it.
TEST(Spread, OnlyMovesExcludeStalls) {
  for (const bool may : {false, true}) {
    Spreading crowd({0, 0, 0, 1});
    if (!may) crowd.refused = {1};
    for (int i = 0; i < 100 && crowd.tries == 0; ++i) crowd.calls(1);
    EXPECT_EQ(crowd.pace.busy_until != 0, may);
  }
}

// Whatever others write, a member moves for a fifth of its time at most.
TEST(Spread, AFaultyMemberDoesNotKeepOthersMoving) {
  Spreading crowd({0, 0, 0, 1});
  crowd.move_ns = 5 * kWholeMs;
  crowd.calls(20);
  crowd.on = {0, 0, 0, 1};
  const std::int64_t begun = crowd.now, moved = crowd.moved_ns;
  for (int i = 0; i < 1'000; ++i) {
    crowd.signs.spread_ns = 0;
    crowd.signs.spread_vain = 0;
    for (std::uint32_t who = 0; who < 40; ++who) {
      crowd.signs.waiters[0].arrive(0, crowd.call + who, who % 4);
      crowd.signs.waiters[1].arrive(1, crowd.call + who, 0);
    }
    crowd.call += 40;
    crowd.now += 100 * kUs;
    crowd.look(0);
    crowd.on = {0, 0, 0, 1};
  }
  EXPECT_GT(crowd.moved_ns, moved) << "the test does what it says";
  EXPECT_LE(crowd.moved_ns - moved, (crowd.now - begun) / 5 + crowd.move_ns);
}

TEST(Spread, TimesThatNobodyHasWrittenDoNoHarm) {
  for (const std::int64_t time :
       {INT64_MAX, INT64_MIN, std::int64_t{-1}, std::int64_t{1'000'000'000'000'000}}) {
    Spreading crowd({0, 0, 0, 1});
    crowd.signs.spread_ns = crowd.signs.spread_at_ns = time;
    crowd.signs.spread_at = static_cast<std::uint64_t>(time);
    crowd.signs.spread_each_ns = crowd.signs.spread_vain = UINT32_MAX;
    crowd.calls(100);
    EXPECT_EQ(crowd.counts(), (Counts{2, 2, 0, 0})) << time;
  }
  Spreading crowd({0, 0, 0, 1});
  crowd.calls(7);
  for (auto& here : crowd.signs.waiters) here.arrive(1'000'000, crowd.call, 0);
  crowd.calls(100);
  for (const std::int32_t cpu : crowd.on) EXPECT_LT(cpu, 2);
}

TEST(Spread, CpusWithoutWaitsInTheLastCallsDoNotCount) {
  Spreading crowd({0, 0, 0, 1});
  crowd.calls(9, kUs);
  crowd.on = {0, 0, 0, 0};
  crowd.calls(64, kUs);
  crowd.tries = 0;
  crowd.calls(1'000);
  EXPECT_EQ(crowd.tries, 0);
}

}  // namespace
}  // namespace fermata
