// A team whose processes have several members each. Every member is a thread.
#ifndef FERMATA_TESTS_PROCESS_MIXED_HOUSE_HPP
#define FERMATA_TESTS_PROCESS_MIXED_HOUSE_HPP

#include <algorithm>
#include <functional>
#include <thread>
#include <vector>

#include "../failures/forked_members.hpp"

namespace fermata::test {

using Ranks = std::vector<std::vector<int>>;  // the ranks of each process

// Runs body(member, rank) in a thread for each of `ranks` and returns the largest code. With FERMATA_ANY_RANK
// the thread takes any rank that is free. 92: a thread could not join.
inline int live_in_house(fermata_team* team, const std::vector<int>& ranks,
                         const std::function<int(fermata_member*, int)>& body) {
  std::vector<int> codes(ranks.size(), 0);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    threads.emplace_back([&, i] {
      fermata_member* m = nullptr;
      if (fermata_team_join(team, ranks[i], &m) != FERMATA_OK) {
        codes[i] = 92;
        return;
      }
      fermata_member_set_timeout(m, 30);
      codes[i] = body(m, fermata_member_rank(m));
      fermata_member_leave(m);
    });
  for (std::thread& t : threads) t.join();
  return *std::max_element(codes.begin(), codes.end());
}

}  // namespace fermata::test
#endif
