// fermata_member_set_idle_sleep: a sleeping waiter wakes for its idle hook as often as configured.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "fermata/fermata.h"

namespace {

using Clock = std::chrono::steady_clock;

int note_call(fermata_member*, void* user) {
  static_cast<std::vector<Clock::time_point>*>(user)->push_back(Clock::now());
  return 0;
}

// Returns the median time in seconds between two calls of the hook in a wait of 0.6 s. The gaps grow to an
// eighth of 0.16 s and stay there; the median ignores a single stop of the process.
double gap_in_a_wait(double sleep) {
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  config.members = 2;
  config.wait = FERMATA_WAIT_PARK;
  fermata_team* team = nullptr;
  EXPECT_EQ(fermata_team_create(&config, &team), FERMATA_OK) << fermata_error_detail();
  std::thread late([team] {
    fermata_member* m = nullptr;
    EXPECT_EQ(fermata_team_join(team, 1, &m), FERMATA_OK);
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    EXPECT_EQ(fermata_barrier(m), FERMATA_OK);
    fermata_member_leave(m);
  });
  std::vector<Clock::time_point> calls;
  fermata_member* m = nullptr;
  EXPECT_EQ(fermata_team_join(team, 0, &m), FERMATA_OK);
  EXPECT_EQ(fermata_member_set_idle_hook(m, note_call, &calls), FERMATA_OK);
  EXPECT_EQ(fermata_member_set_idle_sleep(m, sleep), FERMATA_OK);
  EXPECT_EQ(fermata_barrier(m), FERMATA_OK);
  late.join();
  fermata_member_leave(m);
  fermata_team_destroy(team);
  std::vector<double> gaps{0.6};
  for (std::size_t i = 1; i < calls.size(); ++i)
    if (calls[i - 1] - calls[0] > std::chrono::milliseconds(200))
      gaps.push_back(std::chrono::duration<double>(calls[i] - calls[i - 1]).count());
  std::nth_element(gaps.begin(), gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2), gaps.end());
  return gaps[gaps.size() / 2];
}

// About 20 ms and 1 ms on an idle machine.
TEST(IdleSleep, BoundsTheTimeBetweenCallsOfTheHook) {
  bool shorter = false;
  for (int round = 0; round < 10 && !shorter; ++round) shorter = 3 * gap_in_a_wait(1e-3) < gap_in_a_wait(0);
  EXPECT_TRUE(shorter);
}

}  // namespace
