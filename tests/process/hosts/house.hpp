// Three pretended hosts with two threads each, every one of which has a time limit.
#ifndef FERMATA_TESTS_PROCESS_HOSTS_HOUSE_HPP
#define FERMATA_TESTS_PROCESS_HOSTS_HOUSE_HPP

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "fermata/fermata.h"
#include "fermata/hosts.h"
#include "net/loop.hpp"

namespace fermata::test {

inline constexpr int kMembers = 6, kHosts = 3;
inline constexpr std::int64_t kMilli = 1'000'000;
inline const net::LoopOptions kLinks{.delay_ns = 20'000, .repeat_ns = 2 * kMilli, .patience_ns = 100 * kMilli};

class House {
 public:
  explicit House(const net::LoopOptions& links, bool tagged = false) : loop({0, 0, 1, 1, 2, 2}, links) {
    fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
    config.members = kMembers;
    config.tagged = tagged;
    for (int host = 0; host < kHosts; ++host) {
      EXPECT_EQ(fermata_team_create_hosts(&config, hosts, host, &teams[host]), FERMATA_OK) << fermata_error_detail();
      EXPECT_EQ(fermata_team_connect(teams[host], port(host)), FERMATA_OK) << fermata_error_detail();
    }
  }
  ~House() {
    std::vector<std::thread> ends;
    for (fermata_team* team : teams) ends.emplace_back([team] { fermata_team_destroy(team); });
    for (std::thread& t : ends) t.join();
  }
  const fermata_port* port(int host) { return reinterpret_cast<const fermata_port*>(loop.port(static_cast<std::uint32_t>(host))); }

  // Each rank in a thread of its own, with a time limit; what each returned, and its detail.
  struct End {
    int status = FERMATA_OK;
    std::string detail;
  };
  std::vector<End> run(double seconds, const std::function<int(fermata_member*, int)>& member) {
    std::vector<End> ends(kMembers);
    std::vector<std::thread> crew;
    for (int r = 0; r < kMembers; ++r)
      crew.emplace_back([&, r] {
        fermata_member* m = nullptr;
        ASSERT_EQ(fermata_team_join(teams[hosts[r]], r, &m), FERMATA_OK) << fermata_error_detail();
        fermata_member_set_timeout(m, seconds);
        ends[r].status = member(m, r);
        ends[r].detail = fermata_error_detail();
        fermata_member_leave(m);
      });
    for (std::thread& t : crew) t.join();
    return ends;
  }

  const int hosts[kMembers] = {0, 0, 1, 1, 2, 2};
  net::Loop loop;
  fermata_team* teams[kHosts] = {};
};

}  // namespace fermata::test
#endif
