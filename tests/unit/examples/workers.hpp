// Runs a body as every member of a team, in C++.
#ifndef FERMATA_TESTS_UNIT_EXAMPLES_WORKERS_HPP
#define FERMATA_TESTS_UNIT_EXAMPLES_WORKERS_HPP

#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <vector>

#include "fermata/fermata.hpp"

// Runs each rank on a thread of its own. Assertions in the body must not be fatal; an exception is a failure.
inline void with_team(int members, const std::function<void(fermata::Member&)>& body) {
  fermata::Team team(members);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < members; ++rank)
    threads.emplace_back([&, rank] {
      try {
        fermata::Member member = team.join(rank);
        member.set_timeout(std::chrono::seconds(20 * FERMATA_TEST_SCALE));
        body(member);
      } catch (const std::exception& e) {
        ADD_FAILURE() << "rank " << rank << ": " << e.what();
        team.abort();
      }
    });
}

#endif
