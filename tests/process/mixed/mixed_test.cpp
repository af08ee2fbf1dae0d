// Processes with several members of one team: they attach, die, leave and split.
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "../failures/crew.hpp"

namespace fermata::test {
namespace {

// Record locks go with any descriptor of their file that a process closes.
TEST(Attach, AgainIsTheSameTeamAndKeepsItsLocks) {
  const std::string name = "again." + std::to_string(getpid());
  Crew crew(2, [&](int rank) {
    fermata_team* team = nullptr;
    fermata_team* again = nullptr;
    if (rank == 0) {
      team = make_team(2, FERMATA_PROCESSES);
      if (team == nullptr || fermata_team_serve(team, name.c_str(), 2, 20) != FERMATA_OK) return 90;
    } else if (fermata_team_attach(name.c_str(), 20, &team) != FERMATA_OK || fermata_team_attach(name.c_str(), 20, &again) != FERMATA_OK) {
      return 91;
    }
    fermata_member* m = nullptr;
    if (fermata_team_join(team, rank, &m) != FERMATA_OK) return 92;
    fermata_member_set_timeout(m, 20);
    fermata_team_destroy(again);
    if (fermata_barrier(m) != FERMATA_OK) return 93;
    if (rank == 1) usleep(150'000);  // long enough for the other to look whether this one lives
    if (fermata_barrier(m) != FERMATA_OK) return 94;
    if (rank == 1) return 0;  // without leaving
    return code_of(fermata_barrier(m));
  });
  EXPECT_EQ(crew.wait_for(1), 0);
  EXPECT_EQ(crew.wait_for(0), code_of(FERMATA_ERR_MEMBER_LOST));
}

TEST(Attach, TheCreatorMayToo) {
  const std::string name = "own." + std::to_string(getpid());
  fermata_team* team = make_team(2, FERMATA_PROCESSES);
  ASSERT_NE(team, nullptr) << fermata_error_detail();
  fermata_team* again = nullptr;
  int attached = FERMATA_ERR_TIMEOUT;
  std::thread client([&] { attached = fermata_team_attach(name.c_str(), 20, &again); });
  EXPECT_EQ(fermata_team_serve(team, name.c_str(), 1, 20), FERMATA_OK) << fermata_error_detail();
  client.join();
  ASSERT_EQ(attached, FERMATA_OK);
  fermata_member* m = nullptr;
  EXPECT_EQ(fermata_team_join(team, 0, &m), FERMATA_OK);
  fermata_member* twice = nullptr;
  EXPECT_EQ(fermata_team_join(again, 0, &twice), FERMATA_ERR_BUSY);
  fermata_team_destroy(again);
  fermata_team_destroy(team);
  fermata_member_leave(m);
}

}  // namespace
}  // namespace fermata::test
