// A wait without a team: what it does between two actions of its policy, and how it ends.
#include "exec/waiter.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <thread>
#include <vector>

namespace fermata::exec {
namespace {

constexpr std::int64_t kMs = 1'000'000;

// What a test waits for. Its data come after so many looks of the waiter.
struct Fake {
  struct Seen {
    int advances = 0, finished = 0, attended = 0, reports = 0, watches = 0, guarded = 0, unwatched = 0;
    std::vector<std::uint32_t> spins;
    std::vector<std::int64_t> looks, parks;
    Status gave_up = Status::kOk;
  };
  Seen& seen;
  int comes_after = std::numeric_limits<int>::max();
  bool watchable = true;
  Status broken_by = Status::kOk, looks_like = Status::kOk;
  bool beside_requests = false, port = false, away = false, reports_at_once = true;

  bool advance(std::uint32_t spins) const {
    seen.spins.push_back(spins);
    return ++seen.advances > comes_after;
  }
  bool watch() const {
    ++seen.watches;
    return watchable;
  }
  void park(std::int64_t ns, bool guarded) const {
    seen.guarded += guarded;
    seen.parks.push_back(ns);
    std::this_thread::sleep_for(std::chrono::nanoseconds(ns));
  }
  bool park_unwatched(std::int64_t) const {
    ++seen.unwatched;
    return advance(0);
  }
  Status finish() const {
    ++seen.finished;
    return Status::kOk;
  }
  Status look(std::int64_t waited_ns) const {
    seen.looks.push_back(waited_ns);
    return looks_like;
  }
  Status broken() const { return broken_by; }
  Status give_up(Status status) const { return seen.gave_up = status; }
  Status time_out(std::int64_t) const { return Status::kTimeout; }
  bool report_stall(std::int64_t) const {
    ++seen.reports;
    return reports_at_once;
  }
  bool advance_others() const { return beside_requests; }
  bool has_port() const { return port; }
  void attend_port() const { ++seen.attended; }
  bool from_away() const { return away; }
  std::int64_t expected_ns() const { return 0; }
};

TEST(Waiter, EndsWhenTheDataHaveCome) {
  for (const WaitKind collective : {WaitKind::kAuto, WaitKind::kSpin, WaitKind::kYield, WaitKind::kPark}) {
    Fake::Seen seen;
    Waiter waiter(collective, false, 0);
    Pace pace{};
    waiter.set_joined(2, {2, 2}, &pace, 0);
    EXPECT_EQ(waiter.wait(Fake{.seen = seen, .comes_after = 3}, 1), Status::kOk);
    EXPECT_EQ(seen.advances, 4);
    EXPECT_EQ(seen.finished, 1);
  }
}

TEST(Waiter, SpinsFirstOnlyWhereItsPolicyDoes) {
  EXPECT_GT(Waiter(WaitKind::kSpin, false, 0).spins(), 0U);
  EXPECT_EQ(Waiter(WaitKind::kPark, false, 0).spins(), 0U);
  Waiter waiter(WaitKind::kAuto, false, 0);
  EXPECT_GT(waiter.spins(), 0U);
  Pace pace{};
  waiter.set_joined(4, {2, 2}, &pace, 0);  // crowded: who spins takes the CPU from whom it waits for
  EXPECT_EQ(waiter.joined(), 4U);
  EXPECT_EQ(waiter.spins(), 0U);
}

TEST(Waiter, SpinsWithTheCpusOwnWaitWhereItCan) {
  const auto spins_of = [](const Fake& what) {
    Waiter waiter(WaitKind::kSpin, false, 0);
    EXPECT_EQ(waiter.wait(what, 1), Status::kOk);
    return what.seen.spins;
  };
  const std::uint32_t each = SpinWait{}.spins();
  Fake::Seen free, without, ported, busy;
  EXPECT_EQ(spins_of({.seen = free, .comes_after = 1}), std::vector<std::uint32_t>(2, 0));
  EXPECT_EQ(free.watches, 2);
  EXPECT_EQ(spins_of({.seen = without, .comes_after = 1, .watchable = false}),
            std::vector<std::uint32_t>(2, each));
  // The port and other requests do not write to the awaited word.
  EXPECT_EQ(spins_of({.seen = ported, .comes_after = 1, .port = true}), std::vector<std::uint32_t>(2, each));
  EXPECT_EQ(ported.watches, 0);
  EXPECT_EQ(spins_of({.seen = busy, .comes_after = 1, .beside_requests = true}),
            std::vector<std::uint32_t>(2, each));
  EXPECT_EQ(busy.watches, 0);
}

TEST(Waiter, TheHookInterruptsAndIsCalledBeforeEachAction) {
  Fake::Seen seen;
  Waiter waiter(WaitKind::kYield, false, 0);
  int calls = 0;
  waiter.settings.hook = [](void* context) { return ++*static_cast<int*>(context) == 3 ? 1 : 0; };
  waiter.settings.hook_context = &calls;
  EXPECT_EQ(waiter.wait(Fake{.seen = seen}, 1), Status::kInterrupted);
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(seen.advances, 4);  // after each of two hooks and each of two yields
  EXPECT_EQ(seen.finished, 0);
}

// A slow hook makes no stall. A yield beside other programs may be one, so one of many tries is enough.
TEST(Waiter, TheHooksTimeIsNoActions) {
  bool parks = true;
  for (int tries = 0; tries < 100 && parks; ++tries) {
    Waiter waiter(WaitKind::kAuto, false, 0);
    Pace pace{};
    exclude_until(pace, 0);
    waiter.set_joined(4, {2, 2}, &pace, 0);
    waiter.settings.hook = [](void*) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return 0;
    };
    for (std::uint64_t call = 10; call < 14; ++call) {
      Fake::Seen seen;
      EXPECT_EQ(waiter.wait(Fake{.seen = seen, .comes_after = 2}, call), Status::kOk);
    }
    parks = pace.parks_until.load() != 0;
  }
  EXPECT_FALSE(parks);
}

TEST(Waiter, NoParkOutlastsTheTimeLimit) {
  Fake::Seen seen;
  Waiter waiter(WaitKind::kPark, false, 0);
  waiter.settings.timeout_ns = 5 * kMs;
  const std::int64_t start = os::now_ns();
  EXPECT_EQ(waiter.wait(Fake{.seen = seen}, 1), Status::kTimeout);
  EXPECT_GE(os::now_ns() - start, 5 * kMs);
  ASSERT_FALSE(seen.parks.empty());
  for (const std::int64_t ns : seen.parks) EXPECT_LE(ns, 5 * kMs);
}

TEST(Waiter, ParksAreShortWhereMoreThanADoorbellMayEndThem) {
  const auto longest = [](const Fake& what, std::int64_t idle_sleep_ns) {
    Waiter waiter(WaitKind::kPark, false, 0);
    waiter.settings.timeout_ns = 15 * kMs;
    if (idle_sleep_ns != 0) {
      waiter.settings.hook = [](void*) { return 0; };
      waiter.settings.idle_sleep_ns = idle_sleep_ns;
    }
    EXPECT_EQ(waiter.wait(what, 1), Status::kTimeout);
    EXPECT_LE(what.seen.parks.front(),
              what.beside_requests || idle_sleep_ns != 0 || what.port ? Waiter::kWithRequestsNs : 15 * kMs);
    return *std::max_element(what.seen.parks.begin(), what.seen.parks.end());
  };
  Fake::Seen alone, beside, hooked, ported;
  EXPECT_GT(longest({.seen = alone}, 0), 10 * kMs);
  EXPECT_LE(longest({.seen = beside, .beside_requests = true}, 0), Waiter::kWithRequestsNs);
  EXPECT_LE(longest({.seen = hooked}, kMs / 2), kMs / 2);
  EXPECT_LE(longest({.seen = ported, .port = true}, 0), kMs);
}

TEST(Waiter, ABrokenTeamEndsTheWaitUnlessTheDataAreHere) {
  Fake::Seen seen;
  Waiter waiter(WaitKind::kYield, false, 0);
  EXPECT_EQ(waiter.wait(Fake{.seen = seen, .broken_by = Status::kBroken, .port = true}, 1), Status::kBroken);
  EXPECT_EQ(seen.gave_up, Status::kBroken);
  EXPECT_EQ(seen.attended, 1);
  Fake::Seen other;
  EXPECT_EQ(waiter.wait(Fake{.seen = other, .comes_after = 0, .broken_by = Status::kBroken}, 1), Status::kOk);
  EXPECT_EQ(other.finished, 1);
  EXPECT_EQ(other.gave_up, Status::kOk);
}

TEST(Waiter, LooksAtTheOthersAtIntervals) {
  Fake::Seen seen;
  Waiter waiter(WaitKind::kPark, false, 0);
  waiter.settings.timeout_ns = 3 * Waiter::kLookNs;
  EXPECT_EQ(waiter.wait(Fake{.seen = seen}, 1), Status::kTimeout);
  ASSERT_FALSE(seen.looks.empty());
  for (std::size_t i = 0; i < seen.looks.size(); ++i)
    EXPECT_GE(seen.looks[i], static_cast<std::int64_t>(i + 1) * Waiter::kLookNs);
  Fake::Seen lost;
  EXPECT_EQ(waiter.wait(Fake{.seen = lost, .looks_like = Status::kMemberLost}, 1), Status::kMemberLost);
  EXPECT_EQ(lost.gave_up, Status::kMemberLost);
  Fake::Seen retracted;  // the call is repeated, so the team is whole
  EXPECT_EQ(waiter.wait(Fake{.seen = retracted, .looks_like = Status::kRetracted}, 1), Status::kRetracted);
  EXPECT_EQ(retracted.gave_up, Status::kOk);
}

// In a hold a member sleeps without a look at the clock, if nothing needs one.
TEST(Waiter, WhereTheTeamParksAnotherMemberMayLook) {
  struct Case {
    std::int64_t timeout_ns, stall_ns;
    bool hook, beside_requests;
    int unwatched, guarded;
  };
  for (const Case& c : {Case{0, 0, false, false, 1, 1}, Case{1'000 * kMs, 0, false, false, 0, 0},
                        Case{0, 1'000 * kMs, false, false, 0, 0}, Case{0, 0, true, false, 0, 1},
                        Case{0, 0, false, true, 1, 0}}) {
    Pace pace{};
    pace.parks_until = 1'000;
    Fake::Seen seen;
    Waiter waiter(WaitKind::kAuto, false, c.stall_ns);
    waiter.settings.timeout_ns = c.timeout_ns;
    if (c.hook) waiter.settings.hook = [](void*) { return 0; };
    waiter.set_joined(4, {2, 2}, &pace, 1);
    const int advances = c.unwatched + (c.hook ? 2 : 1);  // one more than come_after: the data come then
    EXPECT_EQ(waiter.wait(
                  Fake{.seen = seen, .comes_after = advances - 1, .beside_requests = c.beside_requests}, 500),
              Status::kOk);
    EXPECT_EQ(seen.unwatched, c.unwatched);
    EXPECT_EQ(seen.guarded, c.guarded);
    EXPECT_EQ(seen.parks.size(), 1U);
  }
}

TEST(Waiter, AStallIsReportedOnce) {
  Fake::Seen seen;
  Waiter waiter(WaitKind::kYield, false, kMs);
  waiter.settings.timeout_ns = 10 * kMs;
  EXPECT_EQ(waiter.wait(Fake{.seen = seen}, 1), Status::kTimeout);
  EXPECT_EQ(seen.reports, 1);
}

TEST(Waiter, AwaitsOfOtherHostsAttendThePortAtEachStep) {
  Fake::Seen here, away;
  Waiter waiter(WaitKind::kYield, false, 0);
  EXPECT_EQ(waiter.wait(Fake{.seen = away, .comes_after = 99, .port = true, .away = true}, 1), Status::kOk);
  EXPECT_EQ(away.attended, 100);
  EXPECT_EQ(waiter.wait(Fake{.seen = here, .comes_after = 99, .port = true}, 1), Status::kOk);
  EXPECT_GE(here.attended, 1);
}

TEST(Waiter, SeldomWorkIsDueAgainAndAgain) {
  Waiter waiter(WaitKind::kSpin, false, 0);
  EXPECT_FALSE(waiter.is_due(Waiter::kSeldom - 1));
  EXPECT_TRUE(waiter.is_due(Waiter::kSeldom));
  waiter.do_seldom_work(Waiter::kSeldom, 0, {});
  EXPECT_EQ(waiter.found_polling(), Polling{});  // it measures no poll interval
  EXPECT_FALSE(waiter.is_due(2 * Waiter::kSeldom - 1));
  EXPECT_TRUE(waiter.is_due(2 * Waiter::kSeldom));
  waiter.find_poll_interval(2 * Waiter::kSeldom);
  EXPECT_TRUE(waiter.is_due(2 * Waiter::kSeldom + PollInterval::kFirst));
}

}  // namespace
}  // namespace fermata::exec
