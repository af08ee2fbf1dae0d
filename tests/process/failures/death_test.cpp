// Members die, leave or never join. The members that wait for them learn which rank is missing, and nothing
// is left behind.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "kill.hpp"

namespace fermata::test {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kKills = 10;
#else
constexpr int kKills = 250;  // in each of four tests: 1,000 in all
#endif

// Runs barriers and collectives of every kind until one fails.
int run_for_ever(fermata_team* team, int rank, unsigned seed, std::atomic<int>& joined) {
  fermata_member* member = nullptr;
  int status = fermata_team_join(team, rank, &member);
  if (status != FERMATA_OK) return code_of(status);
  ++joined;
  fermata_member_set_timeout(member, 20);
  double x = rank;
  for (unsigned i = seed; status == FERMATA_OK; ++i) {
    const int root = static_cast<int>(i % static_cast<unsigned>(fermata_member_count(member)));
    switch (i % 4) {
      case 0: status = fermata_barrier(member); break;
      case 1: status = fermata_allreduce(member, &x, &x, 1, FERMATA_DOUBLE, FERMATA_MAX); break;
      case 2: status = fermata_reduce(member, &x, &x, 1, FERMATA_DOUBLE, FERMATA_SUM, root); break;
      default: status = fermata_broadcast(member, &x, sizeof x, root); break;
    }
  }
  // The detail must name the member that was killed, always rank 0 here.
  const bool names = std::strstr(fermata_error_detail(), "rank 0") != nullptr;
  fermata_member_leave(member);
  return names ? code_of(status) : 99;
}

TEST(Death, SurvivorsReportAKilledProcess1) { expect_survivors_report(0, kKills, 37, 3000, run_for_ever); }
TEST(Death, SurvivorsReportAKilledProcess2) { expect_survivors_report(1000, kKills, 37, 3000, run_for_ever); }
TEST(Death, SurvivorsReportAKilledProcess3) { expect_survivors_report(2000, kKills, 37, 3000, run_for_ever); }
TEST(Death, SurvivorsReportAKilledProcess4) { expect_survivors_report(3000, kKills, 37, 3000, run_for_ever); }

TEST(Death, AThreadThatLeavesIsNamed) {
  fermata_team* team = make_team(3, FERMATA_THREADS);
  ASSERT_NE(team, nullptr);
  int status[3] = {};
  std::string detail[3];
  std::thread forked[3];
  for (int r = 0; r < 3; ++r)
    forked[r] = std::thread([&, r] {
      fermata_member* m = nullptr;
      ASSERT_EQ(fermata_team_join(team, r, &m), FERMATA_OK);
      status[r] = fermata_barrier(m);
      if (r != 1) {
        status[r] = fermata_barrier(m);
        detail[r] = fermata_error_detail();
      }
      fermata_member_leave(m);
    });
  for (std::thread& t : forked) t.join();
  for (const int r : {0, 2}) {
    EXPECT_EQ(status[r], FERMATA_ERR_MEMBER_LOST);
    EXPECT_NE(detail[r].find("rank 1"), std::string::npos) << detail[r];
  }
  fermata_team_destroy(team);
}

TEST(Death, LeavingAfterTheLastCallIsNoLoss) {
  for (int trial = 0; trial < 50; ++trial) {
    fermata_team* team = make_team(3, FERMATA_THREADS, FERMATA_WAIT_PARK);
    std::thread forked[3];
    for (int r = 0; r < 3; ++r)
      forked[r] = std::thread([&, r] {
        fermata_member* m = nullptr;
        ASSERT_EQ(fermata_team_join(team, r, &m), FERMATA_OK);
        for (int e = 0; e < 5; ++e) EXPECT_EQ(fermata_barrier(m), FERMATA_OK) << fermata_error_detail();
        fermata_member_leave(m);
      });
    for (std::thread& t : forked) t.join();
    fermata_team_destroy(team);
  }
}

TEST(Death, ExitWhileOthersWait) {
  fermata_team* team = make_team(2, FERMATA_PROCESSES);
  ASSERT_NE(team, nullptr);
  ForkedMembers forked(2, [&](int rank) {
    fermata_member* m = nullptr;
    if (fermata_team_join(team, rank, &m) != FERMATA_OK) return 98;
    if (fermata_barrier(m) != FERMATA_OK) return 97;
    if (rank == 0) return 0;  // _exit without leaving
    return code_of(fermata_barrier(m));
  });
  EXPECT_EQ(forked.wait_for(0), 0);
  EXPECT_EQ(forked.wait_for(1), code_of(FERMATA_ERR_MEMBER_LOST));
  fermata_team_destroy(team);
}

// The process ends with the exit code it was given, in whatever call and by whatever policy its threads wait.
TEST(Death, ExitWhileThreadsWait) {
  for (const int wait : {FERMATA_WAIT_AUTO, FERMATA_WAIT_SPIN, FERMATA_WAIT_PARK}) {
    ForkedMembers forked(1, [wait](int) -> int {
      fermata_team* team = make_team(3, FERMATA_THREADS, wait);
      std::atomic<int> joined{0};
      for (int r = 0; r < 2; ++r)
        std::thread([&, r] {
          fermata_member* m = nullptr;
          if (fermata_team_join(team, r, &m) != FERMATA_OK) _exit(90);
          ++joined;
          fermata_barrier(m);
          _exit(91);
        }).detach();
      while (joined < 2) usleep(100);
      usleep(5000);
      std::exit(7);  // runs the exit handlers; ends the threads while they wait
    });
    EXPECT_EQ(forked.wait_for(0), 7);
  }
}

TEST(Death, InterruptInABlockingCallKillsAndIsReported) {
  fermata_team* team = make_team(2, FERMATA_PROCESSES, FERMATA_WAIT_PARK);
  ASSERT_NE(team, nullptr);
  int over[2];
  ASSERT_EQ(pipe(over), 0);
  ForkedMembers forked(2, [&](int rank) {
    fermata_member* m = nullptr;
    if (fermata_team_join(team, rank, &m) != FERMATA_OK) return 98;
    if (fermata_barrier(m) != FERMATA_OK) return 97;
    // Ctrl-C arrives here: the default action ends the process
    if (rank == 0) return code_of(fermata_barrier(m));
    char byte = 0;
    if (read(over[0], &byte, 1) != 1) return 96;
    // Its arrival may have been made before it died, and then this barrier completes. The next barrier
    // cannot.
    const int status = fermata_barrier(m);
    return code_of(status != FERMATA_OK ? status : fermata_barrier(m));
  });
  EXPECT_TRUE(comes_to_say(team, 0, "is in call 2"));
  kill(forked.pid(0), SIGINT);
  EXPECT_EQ(forked.wait_for(0), 1000 + SIGINT);
  EXPECT_EQ(write(over[1], "o", 1), 1);
  EXPECT_EQ(forked.wait_for(1), code_of(FERMATA_ERR_MEMBER_LOST));
  close(over[0]);
  close(over[1]);
  fermata_team_destroy(team);
}

TEST(Fork, ChildCannotUseItsParentsMember) {
  fermata_team* team = make_team(1, FERMATA_PROCESSES);
  fermata_member* m = nullptr;
  ASSERT_EQ(fermata_team_join(team, 0, &m), FERMATA_OK);
  const pid_t pid = fork();
  if (pid == 0) {
    const int status = fermata_barrier(m);
    fermata_member_leave(m);  // must not give up the parent's rank
    _exit(code_of(status));
  }
  int how = 0;
  waitpid(pid, &how, 0);
  EXPECT_EQ(WEXITSTATUS(how), code_of(FERMATA_ERR_FORKED));
  EXPECT_EQ(fermata_barrier(m), FERMATA_OK) << fermata_error_detail();
  fermata_member_leave(m);
  fermata_team_destroy(team);

  fermata_team* threads = make_team(1, FERMATA_THREADS);
  const pid_t second = fork();
  if (second == 0) {
    fermata_member* mine = nullptr;
    _exit(code_of(fermata_team_join(threads, 0, &mine)));
  }
  waitpid(second, &how, 0);
  EXPECT_EQ(WEXITSTATUS(how), code_of(FERMATA_ERR_FORKED));
  fermata_team_destroy(threads);
}

}  // namespace
}  // namespace fermata::test
