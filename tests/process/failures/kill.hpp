// Kills a member's process in the middle of a call, again and again.
#ifndef FERMATA_TESTS_PROCESS_KILL_HPP
#define FERMATA_TESTS_PROCESS_KILL_HPP

#include <dirent.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>

#include "forked_members.hpp"

namespace fermata::test {

inline int open_descriptors() {
  int n = 0;
  DIR* dir = opendir("/proc/self/fd");
  while (dir != nullptr && readdir(dir) != nullptr) ++n;
  if (dir != nullptr) closedir(dir);
  return n;
}

// One process of a team. It is killed delay_us after all members have counted themselves. Before they have
// joined, the others could not know that its members are lost.
struct Victim {
  int rank;       // number of the process; its member's rank where each process has one member
  int processes;  // of the team
  int delay_us;
  int members_each = 1;
};

// Expects all other processes to exit with `code` soon. body(team, process, joined) runs in a process of its
// own and counts each of its members in `joined` once.
inline void expect_survivors_exit(const Victim& victim, int code,
                                  const std::function<int(fermata_team*, int, std::atomic<int>&)>& body) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kSoon{5 * FERMATA_TEST_SCALE};  // also enough on a loaded machine
  const SharedCount count;
  std::atomic<int>& joined = *count;
  const int members = victim.processes * victim.members_each;
  fermata_team* team = make_team(members, FERMATA_PROCESSES);
  ASSERT_NE(team, nullptr) << fermata_error_detail();
  {
    ForkedMembers forked(victim.processes, [&](int process) { return body(team, process, joined); });
    const auto begin = Clock::now();
    while (joined < members && Clock::now() - begin < std::chrono::seconds(30)) usleep(50);
    ASSERT_EQ(joined, members);
    usleep(static_cast<useconds_t>(victim.delay_us));
    const auto killed = Clock::now();
    ASSERT_EQ(kill(forked.pid(victim.rank), SIGKILL), 0);
    for (int p = 0; p < victim.processes; ++p)
      EXPECT_EQ(forked.wait_for(p), p == victim.rank ? 1000 + SIGKILL : code)
          << "process " << p << " of " << victim.processes;
    EXPECT_LT(Clock::now() - killed, kSoon);
  }
  fermata_team_destroy(team);
}

// Joins, counts itself and makes calls until one fails. Returns code_of the status if the error names rank 0.
using Life = std::function<int(fermata_team* team, int rank, unsigned seed, std::atomic<int>& joined)>;

// Kills rank 0 again and again, at times up to most_us after all have joined.
inline void expect_survivors_report(int first, int trials, int step_us, int most_us, const Life& life) {
  const int descriptors = open_descriptors();
  for (int trial = first; trial < first + trials && !::testing::Test::HasFailure(); ++trial) {
    SCOPED_TRACE("trial " + std::to_string(trial));
    const auto body = [&](fermata_team* team, int rank, std::atomic<int>& joined) {
      return life(team, rank, static_cast<unsigned>(trial), joined);
    };
    expect_survivors_exit({0, 2 + trial % 3, trial * step_us % most_us}, code_of(FERMATA_ERR_MEMBER_LOST),
                          body);
  }
  EXPECT_EQ(open_descriptors(), descriptors);
}

}  // namespace fermata::test
#endif
