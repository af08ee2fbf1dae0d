// The effects of an idle hook on the wait that calls it.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "fermata/fermata.h"

namespace {
thread_local int yields = 0;
}  // namespace

// Replaces the C library's function.
extern "C" int sched_yield() noexcept {
  ++yields;
  return static_cast<int>(syscall(SYS_sched_yield));
}

namespace {

struct Meeting {
  std::atomic<bool> may_come{false}, has_come{false};
};

// Like a hook that gives the CPU to the awaited member.
int let_the_other_come(fermata_member*, void* user) {
  auto* meeting = static_cast<Meeting*>(user);
  meeting->may_come = true;
  while (!meeting->has_come) usleep(100);
  return 0;
}

TEST(IdleHook, WhatComesMeanwhileIsSeenWithoutAnotherTurn) {
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  config.members = 2;
  config.wait = FERMATA_WAIT_YIELD;
  fermata_team* team = nullptr;
  ASSERT_EQ(fermata_team_create(&config, &team), FERMATA_OK) << fermata_error_detail();
  Meeting meeting;
  std::thread late([&] {
    fermata_member* m = nullptr;
    EXPECT_EQ(fermata_team_join(team, 1, &m), FERMATA_OK);
    while (!meeting.may_come) usleep(100);
    EXPECT_EQ(fermata_barrier(m), FERMATA_OK);
    meeting.has_come = true;
    fermata_member_leave(m);
  });
  fermata_member* m = nullptr;
  EXPECT_EQ(fermata_team_join(team, 0, &m), FERMATA_OK);
  EXPECT_EQ(fermata_member_set_idle_hook(m, let_the_other_come, &meeting), FERMATA_OK);
  yields = 0;
  EXPECT_EQ(fermata_barrier(m), FERMATA_OK);
  EXPECT_EQ(yields, 0);
  late.join();
  fermata_member_leave(m);
  fermata_team_destroy(team);
}

}  // namespace
