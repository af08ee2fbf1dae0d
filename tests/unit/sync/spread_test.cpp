// A crowd's members on several CPUs: who moves to another one, and how often.
#include "sync/spread.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace fermata {
namespace {

constexpr std::int64_t kUs = 1'000, kWholeMs = 1'000'000;

struct Spreading {
  Signs signs;
  std::vector<std::int32_t> on;  // each member's CPU
  std::int64_t now = 100 * kWholeMs;
  std::uint64_t call = 1'000;
  std::int64_t move_ns = 10 * kUs;
  bool may_move = true;
  int tries = 0;

  explicit Spreading(std::vector<std::int32_t> cpus) : on(std::move(cpus)) { forget(signs); }

  struct Os {
    Spreading& crowd;
    std::size_t who;
    std::int32_t cpu() const { return crowd.on[who]; }
    std::int64_t now_ns() const { return crowd.now; }
    void join(std::int32_t cpu) const {
      ++crowd.tries;
      crowd.now += crowd.move_ns;
      if (crowd.may_move) crowd.on[who] = cpu;
    }
  };
  // So many calls of so long, in each of which one member looks.
  void calls(int count, std::int64_t ns = 130 * kUs) {
    for (int i = 0; i < count; ++i) {
      ++call;
      now += ns;
      for (std::size_t who = 0; who < on.size(); ++who)
        signs.waiters[static_cast<std::uint32_t>(on[who]) % kSigned].arrive(on[who], call,
                                                                            static_cast<std::uint32_t>(who));
      const std::size_t who = call % on.size();
      spread(signs, call, now, Os{*this, who});
    }
  }
  std::vector<int> members() const {
    std::vector<int> counts(4);
    for (const std::int32_t cpu : on) ++counts[static_cast<std::size_t>(cpu)];
    return counts;
  }
};
using Counts = std::vector<int>;

TEST(Spread, MembersLeaveACpuThatHasTwoMoreThanAnother) {
  Spreading three({0, 0, 0, 1});
  three.calls(100);
  EXPECT_EQ(three.members(), (Counts{2, 2, 0, 0}));
  EXPECT_EQ(three.tries, 1);
  Spreading many({0, 0, 0, 0, 0, 0, 0, 1, 1, 2});
  many.calls(1'000);
  for (const int cpu : {0, 1, 2}) EXPECT_GE(many.members()[static_cast<std::size_t>(cpu)], 3) << cpu;
  EXPECT_EQ(many.members()[3], 0) << "nobody knows that CPU";
}

TEST(Spread, OneMoreIsNoReasonToMove) {
  const std::vector<std::vector<std::int32_t>> all{{0, 0, 1, 1}, {0, 0, 1}, {1, 0, 0, 2, 1}, {0, 0, 0, 0}};
  for (const auto& on : all) {
    Spreading crowd(on);
    crowd.calls(1'000);
    EXPECT_EQ(crowd.tries, 0);
  }
}

// Otherwise several members would leave before anybody has counted anew.
TEST(Spread, AfterAMoveBothCpusAreCountedAnew) {
  Spreading crowd({0, 0, 0, 0, 0, 0, 0, 0, 1, 1});
  crowd.calls(8, 2 * kWholeMs);
  while (crowd.tries == 0) crowd.calls(1, 2 * kWholeMs);
  crowd.calls(7, 2 * kWholeMs);
  EXPECT_EQ(crowd.tries, 1);
  crowd.calls(200, 2 * kWholeMs);
  EXPECT_EQ(crowd.members(), (Counts{5, 5, 0, 0}));
  EXPECT_EQ(crowd.tries, 3);
}

TEST(Spread, LooksAndMovesTakeASmallPartOfTheTime) {
  for (const bool may_move : {true, false}) {
    Spreading crowd({0, 0, 0, 1});
    crowd.may_move = may_move;
    crowd.move_ns = kWholeMs;
    for (int i = 0; i < 10'000; ++i) {
      crowd.calls(1, 10 * kUs);
      if (crowd.on == std::vector<std::int32_t>{1, 0, 0, 1} || crowd.members()[0] == 2)
        crowd.on = {0, 0, 0, 1};  // the kernel moves it back
    }
    EXPECT_GE(crowd.tries, 1);
    EXPECT_LE(crowd.tries, 3) << "in 100 ms";
  }
}

TEST(Spread, TimesThatNobodyHasWrittenDoNoHarm) {
  for (const std::int64_t next : {INT64_MAX, INT64_MIN, std::int64_t{-1}, std::int64_t{1'000'000'000'000}}) {
    Spreading crowd({0, 0, 0, 1});
    crowd.signs.spread_ns = next;
    crowd.calls(100);
    EXPECT_EQ(crowd.members(), (Counts{2, 2, 0, 0})) << next;
  }
}

TEST(Spread, CpusWithoutWaitsInTheLastCallsDoNotCount) {
  Spreading crowd({0, 0, 0, 1});
  crowd.calls(9, 10 * kUs);
  crowd.on = {0, 0, 0, 0};
  crowd.calls(64, 10 * kUs);
  crowd.tries = 0;
  crowd.calls(1'000);
  EXPECT_EQ(crowd.tries, 0);
}

}  // namespace
}  // namespace fermata
