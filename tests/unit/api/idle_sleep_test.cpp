// fermata_member_set_idle_sleep: who sleeps in a wait wakes for its idle hook as often as it was told to.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "fermata/fermata.h"

namespace {

int count_call(fermata_member*, void* user) {
  ++*static_cast<int*>(user);
  return 0;
}

// Calls of the hook in a wait of 0.6 s.
int calls_in_a_wait(double sleep) {
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
  int calls = 0;
  fermata_member* m = nullptr;
  EXPECT_EQ(fermata_team_join(team, 0, &m), FERMATA_OK);
  EXPECT_EQ(fermata_member_set_idle_hook(m, count_call, &calls), FERMATA_OK);
  EXPECT_EQ(fermata_member_set_idle_sleep(m, sleep), FERMATA_OK);
  EXPECT_EQ(fermata_barrier(m), FERMATA_OK);
  late.join();
  fermata_member_leave(m);
  fermata_team_destroy(team);
  return calls;
}

// 30 and 600 where nobody disturbs them.
TEST(IdleSleep, BoundsTheTimeBetweenCallsOfTheHook) { EXPECT_GT(calls_in_a_wait(1e-3), 3 * calls_in_a_wait(0)); }

}  // namespace
