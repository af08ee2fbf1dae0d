// A team over pretended hosts, with a thread for each rank.
#ifndef FERMATA_TESTS_PROCESS_HOUSES_HPP
#define FERMATA_TESTS_PROCESS_HOUSES_HPP

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../loop.hpp"
#include "fermata/fermata.h"
#include "fermata/hosts.h"

namespace fermata::test {

class Houses {
 public:
  // hosts_of_ranks: from 0, never descending, and without gaps. differ: the last host's port has no long
  // messages.
  Houses(std::vector<int> hosts_of_ranks, const net::LoopOptions& links, bool differ = false)
      : hosts(std::move(hosts_of_ranks)),
        differ_(differ),
        loop(std::vector<std::uint32_t>(hosts.begin(), hosts.end()), links) {}
  ~Houses() {
    std::vector<std::thread> ends;
    for (fermata_team* team : teams) ends.emplace_back([team] { fermata_team_destroy(team); });
    for (std::thread& t : ends) t.join();
  }
  Houses(const Houses&) = delete;
  Houses& operator=(const Houses&) = delete;

  // Copied by fermata_team_connect().
  fermata_port port(int host) {
    fermata_port port = *reinterpret_cast<const fermata_port*>(loop.port(static_cast<std::uint32_t>(host)));
    if (differ_ && host == hosts.back()) port.size = FERMATA_PORT_WITHOUT_LONG;
    return port;
  }

  // Runs each rank in a thread of its own; `seconds` limits each wait. Returns each rank's status and detail.
  struct End {
    int status = FERMATA_OK;
    std::string detail;
  };
  std::vector<End> run(double seconds, const std::function<int(fermata_member*, int)>& member) {
    std::vector<End> ends(hosts.size());
    std::vector<std::thread> forked;
    for (int r = 0; r < static_cast<int>(hosts.size()); ++r)
      forked.emplace_back([&, r] {
        fermata_member* m = nullptr;
        ASSERT_EQ(fermata_team_join(teams[hosts[r]], r, &m), FERMATA_OK) << fermata_error_detail();
        fermata_member_set_timeout(m, seconds);
        ends[r].status = member(m, r);
        ends[r].detail = fermata_error_detail();
        fermata_member_leave(m);
      });
    for (std::thread& t : forked) t.join();
    return ends;
  }

  const std::vector<int> hosts;
  const bool differ_;
  net::Loop loop;
  std::vector<fermata_team*> teams;  // by host

 protected:
  // create(host, &team): makes a host's team, which is then connected.
  template <class Create>
  void open(Create&& create) {
    for (int host = 0; host <= hosts.back(); ++host) {
      fermata_team*& team = teams.emplace_back(nullptr);
      EXPECT_EQ(create(host, &team), FERMATA_OK) << fermata_error_detail();
      const fermata_port end = port(host);
      EXPECT_EQ(fermata_team_connect(team, &end), FERMATA_OK) << fermata_error_detail();
    }
  }
};

}  // namespace fermata::test
#endif
