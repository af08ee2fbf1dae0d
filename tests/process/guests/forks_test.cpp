// A child that is forked while another thread is in a call of the library has not got that thread, and what it held is nobody's there.
#include <fermata/fermata.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "../failures/crew.hpp"
#include "child.hpp"

namespace fermata {
namespace {

constexpr std::int64_t kMostNs = 20'000'000'000;

int make_team() {
  fermata_team* const team = test::make_team(2, FERMATA_THREADS);
  fermata_team_destroy(team);
  return team != nullptr ? 0 : 1;
}

// Who makes a process's first team reads the machine and its profile, which takes milliseconds.
int first_teams() {
  std::thread first([] { make_team(); });
  usleep(2000);
  const int result = in_child(kMostNs, make_team);
  first.join();
  return result;
}

TEST(Forks, WhileAnotherThreadMakesTheFirstTeam) {
  for (int i = 0; i < 5; ++i) EXPECT_EQ(in_child(2 * kMostNs, first_teams), 0);
}

TEST(Forks, WhileAnotherThreadSwitchesTheProgressThread) {
  std::atomic<bool> stop{false};
  std::thread switcher([&] {
    while (!stop.load())
      for (const int on : {1, 0}) fermata_progress_thread(on);
  });
  for (int i = 0; i < 20; ++i) EXPECT_EQ(in_child(kMostNs, [] { return fermata_progress_thread(0); }), 0);
  stop.store(true);
  switcher.join();
}

}  // namespace
}  // namespace fermata
