// The first actions of a wait in a crowd: which member spins, and for how long.
#include "sync/waiters_here.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sync/unwatched.hpp"

namespace fermata {
namespace {

using WaitersHere = BasicWaitersHere<RealAtomics>;

struct NoTime {
  std::int64_t* at;
  std::int64_t now_ns() const { return *at += 100; }
};

// So many members wait on that CPU in each of the next calls. Returns which of them spin in the last one.
using Which = std::vector<bool>;
Which arrive(WaitersHere& here, std::uint64_t* call, int calls, int members, bool has_come,
             std::int32_t cpu = 0) {
  Which spun;
  std::int64_t now = 0;
  for (int i = 0; i < calls; ++i) {
    ++*call;
    spun.clear();
    for (int member = 0; member < members; ++member) {
      spun.push_back(here.arrive(cpu, *call, static_cast<std::uint32_t>(member)));
      if (spun.back()) here.spin(NoTime{&now}, [&] { return has_come; });
    }
  }
  return spun;
}

TEST(WaitersHere, TheLastMemberThatWaitsOnACpuSpins) {
  WaitersHere here;
  std::uint64_t call = 0;
  for (int i = 0; i < 7; ++i)
    EXPECT_EQ(arrive(here, &call, 1, 3, true), (Which{false, false, false}))
        << "nobody knows who is the last";
  for (int i = 0; i < 40; ++i) EXPECT_EQ(arrive(here, &call, 1, 3, true), (Which{false, false, true})) << i;
}

TEST(WaitersHere, AMemberThatDoesNotWaitInSomeCallsIsStillExpected) {
  WaitersHere here;
  std::uint64_t call = 0;
  arrive(here, &call, 10, 3, true);
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(arrive(here, &call, 1, 2, true), (Which{false, false})) << i;
    EXPECT_EQ(arrive(here, &call, 1, 3, true), (Which{false, false, true})) << i;
  }
}

TEST(WaitersHere, OnceAMemberIsGoneAnotherOneIsTheLast) {
  WaitersHere here;
  std::uint64_t call = 0;
  arrive(here, &call, 10, 3, true);
  arrive(here, &call, 16, 2, true);
  EXPECT_EQ(arrive(here, &call, 1, 2, true), (Which{false, true}));
  EXPECT_EQ(arrive(here, &call, 2, 3, true), (Which{false, false, true})) << "it comes back";
}

TEST(WaitersHere, AMemberAloneOnItsCpuDoesNotSpin) {
  WaitersHere here;
  std::uint64_t call = 0;
  for (int i = 0; i < 40; ++i) EXPECT_EQ(arrive(here, &call, 1, 1, true), (Which{false})) << i;
}

TEST(WaitersHere, TheLastOfSeveralWaitsInACallSpins) {
  WaitersHere here;
  std::uint64_t call = 0;
  arrive(here, &call, 10, 4, true);  // two members, two waits each
  EXPECT_EQ(arrive(here, &call, 1, 4, true), (Which{false, false, false, true}));
}

TEST(WaitersHere, SpinsThatFailAreSeldomTried) {
  for (const std::uint64_t step : {1U, 2U, 64U}) {  // members may wait in every second call
    WaitersHere here;
    std::uint64_t call = 1;
    const auto next = [&](bool has_come) -> bool {
      call += step - 1;
      return arrive(here, &call, 1, 2, has_come)[1];
    };
    for (int i = 0; i < 30; ++i) next(false);
    int spins = 0;
    for (int i = 0; i < 640; ++i) spins += next(false) ? 1 : 0;
    EXPECT_EQ(spins, 10) << step;
    for (int i = 0; i < 640; ++i) next(true);
    EXPECT_TRUE(next(true)) << "they succeed again";
  }
}

TEST(WaitersHere, SpinsThatMostlySucceedGoOn) {
  WaitersHere here;
  std::uint64_t call = 0;
  arrive(here, &call, 8, 2, true);
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(arrive(here, &call, 1, 2, false)[1]) << i;
    arrive(here, &call, 2, 2, true);
  }
}

TEST(WaitersHere, AnotherCpuTakesWordsThatAreInUseNoMore) {
  WaitersHere here;
  std::uint64_t call = 0;
  arrive(here, &call, 10, 2, true, 0);
  for (const int later : {0, 1, 62}) {
    std::uint64_t other = call - 1 + static_cast<std::uint64_t>(later);
    EXPECT_EQ(arrive(here, &other, 1, 2, true, 8), (Which{false, false}));
  }
  EXPECT_EQ(arrive(here, &call, 1, 2, true, 0), (Which{false, true})) << "nothing has changed";
  arrive(here, &call, 40, 2, false, 0);
  std::uint64_t other = call + 63;
  EXPECT_EQ(arrive(here, &other, 8, 2, true, 8), (Which{false, true}))
      << "it does not know that spins have failed";
  EXPECT_EQ(arrive(here, &other, 1, 2, true, 0), (Which{false, false}));
  call = 10'000'000;
  arrive(here, &call, 8, 2, true, 8);
  call = 0;
  EXPECT_EQ(arrive(here, &call, 8, 2, true, 0), (Which{false, true})) << "the numbers start anew";
}

TEST(WaitersHere, AMemberThatIsCallsBehindDoesNotCount) {
  for (const std::int32_t cpu : {0, 8}) {
    WaitersHere here;
    std::uint64_t call = 2'000;
    arrive(here, &call, 10, 2, true);
    for (std::uint64_t behind : {1, 900}) {
      for (int i = 0; i < 20; ++i) EXPECT_FALSE(here.arrive(cpu, call - behind, 0));
      EXPECT_EQ(arrive(here, &call, 1, 2, true), (Which{false, true})) << behind;
    }
  }
}

TEST(WaitersHere, NumbersMayWrapAroundAndStartAnew) {
  WaitersHere here;
  std::uint64_t call = UINT32_MAX - 20;
  arrive(here, &call, 10, 2, true);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(arrive(here, &call, 1, 2, true), (Which{false, true})) << i;
  call = 5'000'000;
  arrive(here, &call, 1, 2, true);
  call = 0;
  EXPECT_EQ(arrive(here, &call, 1, 2, true), (Which{false, true}));
}

TEST(WaitersHere, CountsTheMembersOfTheLastCalls) {
  WaitersHere here;
  std::uint64_t call = 0;
  EXPECT_EQ(here.members(), 0u) << "not known";
  for (const int members : {3, 2, 4}) {
    arrive(here, &call, 16, members, true);
    EXPECT_EQ(here.members(), static_cast<std::uint32_t>(members));
  }
  EXPECT_EQ(here.cpu(call), 0);
  EXPECT_EQ(here.cpu(call + 63), 0);
  for (const std::uint64_t other : {call + 64, call - 64}) EXPECT_EQ(here.cpu(other), -1) << "long ago";
  here.recount();
  arrive(here, &call, 7, 4, true);
  EXPECT_EQ(here.members(), 0u);
  arrive(here, &call, 1, 4, true);
  EXPECT_EQ(here.members(), 4u);
  // Two of them wait in turn: each one comes last in every second call.
  for (int i = 0; i < 16; ++i) here.arrive(0, ++call, static_cast<std::uint32_t>(i % 2) * 63);
  EXPECT_EQ(here.members(), 2u);
  arrive(here, &call, 64, 1, true, 8);
  EXPECT_EQ(here.cpu(call), 8) << "another CPU uses these words now";
  EXPECT_EQ(here.members(), 0u);
}

TEST(WaitersHere, ANewBarrierKnowsNothingOfTheOldOne) {
  Signs signs;
  forget(signs);
  std::uint64_t call = 0;
  arrive(signs.waiters[0], &call, 10, 2, true);
  forget(signs);
  EXPECT_EQ(arrive(signs.waiters[0], &call, 7, 2, true), (Which{false, false}));
}

// A kernel whose clock advances by 100 ns with each look at it and at the slot.
struct Simulated {
  Signs signs;
  Pace pace;
  std::int64_t now = 1'000'000;
  int yields = 0;
  struct Os {
    Simulated& at;
    static std::int32_t cpu() { return 1; }
    std::int64_t now_ns() const { return at.now += 100; }
    void yield() const { ++at.yields; }
    static bool spread(std::int32_t, std::int32_t) { return false; }
  };
  Simulated() {
    forget(pace);
    exclude_until(pace, 0);
    forget(signs);
  }
  // True if the wait of that member is over without a word of its policy. comes_ns: how long after its begin
  // the signal comes; yielding: after so many yields.
  bool over(std::uint32_t who, std::uint64_t call, std::int64_t comes_ns, int yielding = 99) {
    AutoWait policy(Room::kCrowded, 4, &pace, who, &signs);
    const std::int64_t begun = now;
    yields = 0;
    yielded = {};
    return over_unwatched(policy, call, &yielded, Os{*this}, [&] {
      now += 100;
      return now - begun >= comes_ns || yields >= yielding;
    });
  }
  Yielded yielded;
};

constexpr std::int64_t kNever = INT64_MAX;

TEST(Unwatched, TheLastMemberHereSpinsForAboutASwitchAndThenYields) {
  Simulated crowd;
  for (std::uint64_t call = 104; call < 140; ++call) {
    const std::int64_t begun = crowd.now;
    crowd.over(0, call, kNever, 1);
    EXPECT_LE(crowd.now - begun, 300) << "the first one yields at once";
    if (call < 112) {
      crowd.over(1, call, kNever, 1);
    } else {
      EXPECT_TRUE(crowd.over(1, call, 2'000)) << call;
      EXPECT_EQ(crowd.yields, 0) << call;
    }
  }
  // Not for ever: it yields then, and the policy goes on with the wait.
  crowd.over(0, 141, kNever, 1);
  const std::int64_t begun = crowd.now;
  EXPECT_FALSE(crowd.over(1, 141, kNever));
  EXPECT_EQ(crowd.yields, 4);
  EXPECT_EQ(crowd.yielded.times, 4);
  EXPECT_LT(crowd.now - begun, 6'000);
  EXPECT_GT(crowd.now - begun, 2'500);
}

TEST(Unwatched, SpinsThatFailAreSeldomTried) {
  Simulated crowd;
  int spins = 0;
  for (std::uint64_t call = 104; call < 744; ++call) {
    crowd.over(0, call, kNever, 1);
    const std::int64_t begun = crowd.now;
    crowd.over(1, call, kNever, 1);
    spins += crowd.now - begun > 1'000 ? 1 : 0;
  }
  EXPECT_GT(spins, 10);
  EXPECT_LT(spins, 30);
}

// What it knows of the last hold would be wrong in the next one.
TEST(Unwatched, WhoHasJudgedAHoldAsksItsPolicyNext) {
  Simulated crowd;
  AutoWait judge(Room::kCrowded, 4, &crowd.pace, 1, &crowd.signs);
  const auto wait = [&](std::uint64_t call, std::int64_t ns) {
    WaitView view;
    view.call = call;
    view.now_ns = crowd.now += 1'000;
    view.last_action = judge.next(view);
    view.first = false;
    view.now_ns = crowd.now += ns;
    view.last_action_ns = view.waited_ns = ns;
    judge.done(view);
  };
  EXPECT_TRUE(judge.yields_first(10));
  wait(10, 4'000'000);
  wait(11, 4'000'000);
  crowd.pace.parks_until = 0;
  EXPECT_FALSE(judge.yields_first(12));
  wait(12, 1'000);
  EXPECT_TRUE(judge.yields_first(13));
}

TEST(Unwatched, InAHoldAndWithACpuForEachNothingComesFirst) {
  Simulated crowd;
  for (std::uint64_t call = 970; call < 980; ++call)
    for (const std::uint32_t who : {0U, 1U}) crowd.over(who, call, 0);
  crowd.pace.parks_until = 1'000;
  const std::int64_t begun = crowd.now;
  for (const std::uint32_t who : {0U, 1U}) EXPECT_FALSE(crowd.over(who, 990, 0));
  EXPECT_EQ(crowd.now, begun) << "nobody has looked at anything";
  AutoWait roomy(Room::kOwn, 2, &crowd.pace, 0, &crowd.signs);
  Yielded yielded;
  EXPECT_FALSE(over_unwatched(roomy, 2'000, &yielded, Simulated::Os{crowd}, [] { return true; }));
  EXPECT_EQ(yielded.times, 0);
}

// A wait in that call that takes so many yields of so long, also those that the policy asks for.
void wait_long(Simulated& crowd, AutoWait& policy, std::uint64_t call, int yields, std::int64_t each_ns) {
  Yielded yielded;
  crowd.yields = 0;
  const std::int64_t begun = crowd.now;
  const auto over = [&] {
    crowd.now = begun + crowd.yields * each_ns;
    return crowd.yields >= yields;
  };
  if (over_unwatched(policy, call, &yielded, Simulated::Os{crowd}, over)) return;
  WaitView view;
  view.call = call;
  view.yielded = yielded;
  view.now_ns = crowd.now;
  do {
    view.last_action = policy.next(view);
    ++crowd.yields;
    const bool ends = over();
    view.last_action_ns = each_ns;
    view.waited_ns += each_ns;
    view.now_ns = crowd.now;
    view.first = false;
    if (ends) break;
  } while (view.waited_ns < 1'000'000'000);
  policy.done(view);
}

// Nobody else would see that each call takes a foreign thread's time slice.
TEST(Unwatched, TheMemberThatHasItsTurnSeesStalls) {
  for (const int yields : {1, 4, 6}) {
    Simulated crowd;
    AutoWait policy(Room::kCrowded, 4, &crowd.pace, 1, &crowd.signs);
    ASSERT_FALSE(policy.is_its_turn(8));
    for (const std::uint64_t call : {8U, 9U}) wait_long(crowd, policy, call, std::min(yields, 4), 4'000'000);
    EXPECT_EQ(crowd.pace.parks_until, 0u) << yields;
    ASSERT_TRUE(policy.is_its_turn(21) && policy.is_its_turn(22));
    for (const std::uint64_t call : {21U, 22U}) wait_long(crowd, policy, call, yields, 4'000'000);
    EXPECT_GT(crowd.pace.parks_until, 100u) << yields << ": a hold";
  }
}

TEST(Unwatched, OneStallOfAnyLengthBeginsNoHold) {
  for (const std::uint64_t call : {20U, 21U, 24U, 1'044U})
    for (const int yields : {1, 4, 5, 7, 12})
      for (const std::int64_t ms : {1, 3, 7}) {
        Simulated crowd;
        AutoWait policy(Room::kCrowded, 4, &crowd.pace, 1, &crowd.signs);
        wait_long(crowd, policy, call, yields, ms * 1'000'000);
        EXPECT_EQ(crowd.pace.parks_until, 0u) << call << ", " << yields << " yields of " << ms << " ms";
      }
}

// Only the policy counts members and CPUs anew, and knows waits for work.
TEST(Unwatched, SeldomAWaitAsksItsPolicyAtOnce) {
  for (const std::uint32_t members : {2U, 3U, 4U, 16U, 64U})
    for (const std::uint32_t who : {0U, members - 1}) {
      Simulated crowd;
      AutoWait policy(Room::kCrowded, members, &crowd.pace, who, &crowd.signs);
      AutoWait for_work(Room::kCrowded, members, &crowd.pace, who, &crowd.signs, 6'000);
      std::uint64_t asks = 0, turns = 0;
      Yielded yielded;
      for (std::uint64_t call = 0; call < 1'280 * members; ++call) {
        const auto over = [&](AutoWait& waits) {
          return over_unwatched(waits, call, &yielded, Simulated::Os{crowd}, [] { return true; });
        };
        asks += over(policy) ? 0 : 1;
        turns += policy.is_its_turn(call) ? 1 : 0;
        EXPECT_EQ(over(for_work), !for_work.is_its_turn(call));
      }
      EXPECT_EQ(turns, 1'280u) << members;
      EXPECT_EQ(asks, 20u) << members;
    }
}

TEST(Unwatched, WithoutSignsAWaitOnlyYields) {
  Simulated crowd;
  AutoWait policy(Room::kCrowded, 4, &crowd.pace, 1);
  Yielded yielded;
  int looks = 0;
  EXPECT_FALSE(over_unwatched(policy, 104, &yielded, Simulated::Os{crowd}, [&] {
    ++looks;
    return false;
  }));
  EXPECT_EQ(looks, 4);
  EXPECT_EQ(yielded.times, 4);
}

}  // namespace
}  // namespace fermata
