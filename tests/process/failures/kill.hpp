// Kills a member's process in the middle of what it does, again and again.
#ifndef FERMATA_TESTS_PROCESS_KILL_HPP
#define FERMATA_TESTS_PROCESS_KILL_HPP

#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <functional>

#include "crew.hpp"

namespace fermata::test {

inline int open_descriptors() {
  int n = 0;
  DIR* dir = opendir("/proc/self/fd");
  while (dir != nullptr && readdir(dir) != nullptr) ++n;
  if (dir != nullptr) closedir(dir);
  return n;
}

// Joins, counts itself, makes calls until one fails, and hands back code_of its status if the error names rank 0.
using Life = std::function<int(fermata_team* team, int rank, unsigned seed, std::atomic<int>& joined)>;

// Kills rank 0 up to most_us after all have joined; before that nobody could know that it will not come.
inline void expect_survivors_report(int first, int trials, int step_us, int most_us, const Life& life) {
  const int descriptors = open_descriptors();
  auto& joined = *static_cast<std::atomic<int>*>(
      mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  for (int trial = first; trial < first + trials && !::testing::Test::HasFailure(); ++trial) {
    const int members = 2 + trial % 3;
    joined = 0;
    fermata_team* team = make_team(members, FERMATA_PROCESSES);
    ASSERT_NE(team, nullptr) << fermata_error_detail();
    {
      Crew crew(members, [&](int rank) { return life(team, rank, static_cast<unsigned>(trial), joined); });
      while (joined < members) usleep(50);
      usleep(static_cast<useconds_t>(trial * step_us % most_us));
      ASSERT_EQ(kill(crew.pid(0), SIGKILL), 0);
      EXPECT_EQ(crew.wait_for(0), 1000 + SIGKILL);
      for (int r = 1; r < members; ++r)
        EXPECT_EQ(crew.wait_for(r), code_of(FERMATA_ERR_MEMBER_LOST)) << "trial " << trial << " rank " << r;
    }
    fermata_team_destroy(team);
  }
  munmap(&joined, sizeof joined);
  EXPECT_EQ(open_descriptors(), descriptors);
}

}  // namespace fermata::test
#endif
