// The effects of an idle hook on the wait that calls it.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "fermata/fermata.h"

namespace {

std::atomic<int> yields{0};

void count_yield(int) { ++yields; }

// From now on a yield of the calling thread is a signal. False: the kernel, or an emulator, can't do that.
bool count_yields() {
  struct sigaction counts = {};
  counts.sa_handler = count_yield;
  sigaction(SIGSYS, &counts, nullptr);
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_yield, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{sizeof rules / sizeof *rules, rules};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) return false;
  syscall(SYS_sched_yield);
  return yields.exchange(0) == 1;
}

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
  bool counted = false;
  std::thread early([&] {
    counted = count_yields();
    fermata_member* m = nullptr;
    EXPECT_EQ(fermata_team_join(team, 0, &m), FERMATA_OK);
    EXPECT_EQ(fermata_member_set_idle_hook(m, let_the_other_come, &meeting), FERMATA_OK);
    yields = 0;
    EXPECT_EQ(fermata_barrier(m), FERMATA_OK);
    EXPECT_EQ(yields, 0);
    fermata_member_leave(m);
  });
  early.join();
  late.join();
  fermata_team_destroy(team);
  if (!counted) GTEST_SKIP() << "no filter of system calls";
}

}  // namespace
