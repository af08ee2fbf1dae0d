// Runs a function as every member of a team of threads.
#ifndef FERMATA_TESTS_WITH_MEMBERS_HPP
#define FERMATA_TESTS_WITH_MEMBERS_HPP

#include <gtest/gtest.h>

#include <cstddef>
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

// The same with a linear plan for allreduces of so many bytes: no rounds, one member folds.
template <class Body>
void with_linear_allreduces(int members, std::size_t bytes, Body&& body) {
  fermata_plan_request request = FERMATA_PLAN_REQUEST_INIT;
  request.members = members;
  request.collective = FERMATA_ALLREDUCE;
  request.payload = bytes;
  request.algorithm = "linear";
  fermata_plan* plan = nullptr;
  ASSERT_EQ(fermata_plan_make(&request, &plan), FERMATA_OK) << fermata_error_detail();
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  const fermata_plan* const plans[] = {plan};
  config.plans = plans;
  config.plan_count = 1;
  with_members(members, body, config);
  fermata_plan_destroy(plan);
}

}  // namespace fermata::test
#endif
