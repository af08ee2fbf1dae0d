// Simulated hosts of a team of threads, each with a segment of its own, joined by links within this process.
#ifndef FERMATA_TESTS_PROPERTY_HOSTS_HPP
#define FERMATA_TESTS_PROPERTY_HOSTS_HPP

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "../loop.hpp"
#include "fermata/hosts.h"

namespace fermata::test {

// Losses may come in sequences, and a busy machine may stop for long: a link gives up its peer only
// after very many repeats.
inline constexpr net::LoopOptions kGoodLinks{};
inline constexpr net::LoopOptions kLateLinks{.delay_ns = 50'000};
inline constexpr net::LoopOptions kBadLinks{
    .delay_ns = 20'000, .jitter_ns = 60'000, .held = 0.1, .lost = 0.1, .seed = 11};

// Ranks go to hosts in blocks, or in turn (scattered).
inline std::vector<int> hosts_of_ranks(int members, int hosts, bool scattered) {
  std::vector<int> host_of;
  for (int r = 0; r < members; ++r) host_of.push_back(scattered ? r % hosts : r * hosts / members);
  return host_of;
}

class PretendedHosts {
 public:
  PretendedHosts() = default;
  PretendedHosts(const PretendedHosts&) = delete;
  // Hosts end at the same time, as processes do: a port stays until its messages have been acknowledged.
  ~PretendedHosts() {
    std::vector<std::thread> ends;
    for (fermata_team* team : teams_) ends.emplace_back([team] { fermata_team_destroy(team); });
    for (std::thread& t : ends) t.join();
  }

  // Returns an error, or an empty string.
  std::string make(const fermata_team_config& config, const std::vector<int>& host_of, int hosts,
                   const net::LoopOptions& links) {
    host_of_ = host_of;
    links_ = std::make_unique<net::Loop>(std::vector<std::uint32_t>(host_of.begin(), host_of.end()), links);
    for (int host = 0; host < hosts; ++host) {
      fermata_team* team = nullptr;
      if (fermata_team_create_hosts(&config, host_of.data(), host, &team) != FERMATA_OK)
        return std::string("team: ") + fermata_error_detail();
      teams_.push_back(team);
      const net::Port* port = links_->port(static_cast<std::uint32_t>(host));
      if (fermata_team_connect(team, reinterpret_cast<const fermata_port*>(port)) != FERMATA_OK)
        return std::string("port: ") + fermata_error_detail();
    }
    return {};
  }
  fermata_team* team_of(int rank) const {
    return teams_[static_cast<std::size_t>(host_of_[static_cast<std::size_t>(rank)])];
  }

 private:
  std::vector<int> host_of_;
  std::unique_ptr<net::Loop> links_;
  std::vector<fermata_team*> teams_;
};

}  // namespace fermata::test
#endif
