// Pretended hosts: by default three with two threads each.
#ifndef FERMATA_TESTS_PROCESS_HOSTS_HOUSE_HPP
#define FERMATA_TESTS_PROCESS_HOSTS_HOUSE_HPP

#include <utility>
#include <vector>

#include "../houses.hpp"

namespace fermata::test {

inline constexpr int kMembers = 6;
inline constexpr std::int64_t kMilli = 1'000'000;
inline const net::LoopOptions kLinks{.delay_ns = 20'000, .repeat_ns = 2 * kMilli, .patience = 30};

class House : public Houses {
 public:
  explicit House(const net::LoopOptions& links, bool tagged = false,
                 std::vector<int> hosts_of_ranks = {0, 0, 1, 1, 2, 2}, bool differ = false)
      : Houses(std::move(hosts_of_ranks), links, differ) {
    fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
    config.members = static_cast<int>(hosts.size());
    config.tagged = tagged;
    open([&](int host, fermata_team** team) {
      return fermata_team_create_hosts(&config, hosts.data(), host, team);
    });
  }
};

}  // namespace fermata::test
#endif
