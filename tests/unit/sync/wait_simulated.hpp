// Members whose waits take simulated times, for tests of the auto policy.
#ifndef FERMATA_TESTS_UNIT_SYNC_WAIT_SIMULATED_HPP
#define FERMATA_TESTS_UNIT_SYNC_WAIT_SIMULATED_HPP

#include <gtest/gtest.h>

#include <array>

#include "sync/wait.hpp"

namespace fermata {

inline constexpr std::int64_t kMs = 1'000'000;
inline constexpr std::int64_t kSlice = 3 * kMs;

// A member whose waits take what the test says.
struct Simulated {
  Simulated(AutoWait p, std::int64_t& clock) : policy(p), now(clock) {}
  AutoWait policy;
  std::int64_t& now;
  std::int32_t cpu = 0;
  std::uint32_t thread = 0;
  bool may_move = true;

  // The first action of a wait in that call.
  WaitAction begin(std::uint64_t call, Yielded yielded = {}) {
    view = {};
    view.yielded = yielded;
    view.call = call;
    view.now_ns = now;
    view.thread_id = thread, view.cpu = cpu;
    return act();
  }
  // The action after one that took so long.
  WaitAction go_on(std::int64_t ns) {
    pass(ns);
    view.waited_ns += ns;
    return act();
  }
  // The last action took so long, and the signal came.
  void end(std::int64_t ns) {
    pass(ns);
    policy.done(view);
  }
  // A wait that ends before its first action.
  void end_at_once(std::uint64_t call, Yielded yielded = {}) {
    view = {};
    view.yielded = yielded;
    view.call = call;
    view.now_ns = now;
    policy.done(view);
  }
  bool parks_unwatched(std::uint64_t call) const {
    return policy.parks_unwatched(call, [this] { return cpu; });
  }
  // A wait that one action of that length ends. Returns the action.
  WaitAction wait(std::uint64_t call, std::int64_t ns) {
    const WaitAction action = begin(call);
    end(ns);
    return action;
  }

 private:
  WaitAction act() {
    view.last_action = policy.next(view);
    if (view.last_action == WaitAction::kMove)
      policy.move(
          view, [&](std::int32_t, const std::int32_t*, std::size_t) { return may_move; },
          [&](std::int32_t to) {
            if (may_move) cpu = to;
            return may_move;
          });
    return view.last_action;
  }
  void pass(std::int64_t ns) {
    now += ns;
    view.now_ns = now;
    view.cpu = cpu;
    view.last_action_ns = ns;
    view.first = false;
  }
  WaitView view;
};

struct AutoWaitTest : ::testing::Test {
  Pace pace{};
  Signs signs{};
  std::int64_t now = 100 * kMs;
  AutoWaitTest() { exclude_until(pace, 0); }
  Simulated roomy() { return {AutoWait(Room::kOwn, 2, &pace, 0, &signs), now}; }
  Simulated crowded(std::uint32_t members = 4, std::uint32_t who = 0) {
    return {AutoWait(Room::kCrowded, members, &pace, who, &signs), now};
  }
  std::array<Simulated, 4> four() { return {crowded(4, 0), crowded(4, 1), crowded(4, 2), crowded(4, 3)}; }
  // Two stalls, one soon after the other, from that call on.
  void stall_twice(Simulated& member, std::uint64_t call) {
    EXPECT_EQ(member.wait(call, kSlice), WaitAction::kYield);
    now += 1'000;
    EXPECT_EQ(member.wait(call + 1, kSlice), WaitAction::kYield);
  }
};

}  // namespace fermata
#endif
