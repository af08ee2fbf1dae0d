// Runs a function as every member of a team of threads.
#ifndef FERMATA_TESTS_WITH_MEMBERS_HPP
#define FERMATA_TESTS_WITH_MEMBERS_HPP

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "fermata/fermata.h"

namespace fermata::test {

// Calls body(member, rank) in one thread per member. Every wait times out after 20 s.
template <class Body>
void with_members(int members, Body&& body, fermata_team_config config = FERMATA_TEAM_CONFIG_INIT) {
  config.members = members;
  fermata_team* team = nullptr;
  ASSERT_EQ(fermata_team_create(&config, &team), FERMATA_OK) << fermata_error_detail();
  std::vector<std::thread> workers;
  for (int r = 0; r < members; ++r)
    workers.emplace_back([&, r] {
      fermata_member* m = nullptr;
      ASSERT_EQ(fermata_team_join(team, r, &m), FERMATA_OK) << fermata_error_detail();
      fermata_member_set_timeout(m, 20);
      body(m, r);
      fermata_member_leave(m);
    });
  for (std::thread& t : workers) t.join();
  fermata_team_destroy(team);
}

}  // namespace fermata::test
#endif
