#include "plan/hosts.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "profile/store.hpp"

namespace fermata {
namespace {

// Estimates in ns for a TCP message over a switch. They weigh rounds against messages and do not predict a
// time.
constexpr double kMessage = 20000, kFurtherMessage = 2000;

}  // namespace

Topology topology_of_hosts(const std::vector<std::int32_t>& hosts) {
  Topology topology;
  topology.source = "hosts of a team";
  topology.model = "hosts";
  std::vector<std::size_t> ranks(hosts.size());
  std::iota(ranks.begin(), ranks.end(), std::size_t{0});
  std::stable_sort(ranks.begin(), ranks.end(),
                   [&](std::size_t a, std::size_t b) { return hosts[a] < hosts[b]; });
  for (const std::size_t r : ranks) {
    Cpu cpu;
    cpu.os_index = cpu.core = cpu.l2 = static_cast<std::int32_t>(r);
    cpu.l3 = cpu.numa = cpu.package = cpu.host = hosts[r];
    topology.cpus.push_back(cpu);
  }
  topology.cpus_total = static_cast<std::int32_t>(hosts.size());
  return topology;
}

Profile profile_of_hosts(const Topology& topology) {
  Profile profile = estimate_profile(topology);
  for (std::int32_t i = 0; i < profile.o.n; ++i)
    for (std::int32_t j = 0; j < profile.o.n; ++j) {
      if (topology.cpus[static_cast<std::size_t>(i)].host == topology.cpus[static_cast<std::size_t>(j)].host)
        continue;
      profile.o.at(i, j) = kMessage;
      profile.l.at(i, j) = kFurtherMessage;
    }
  if (profile.levels)
    profile.levels->at[static_cast<std::size_t>(Level::kNetwork)] = {kMessage, kFurtherMessage, true};
  return profile;
}

Topology topology_of(const Allocation& team) {
  Topology topology = topology_of_hosts(team.hosts);
  for (const std::string& name : team.names) topology.model += " " + name;
  return topology;
}

Profile profile_of(const Allocation& team, const Topology& topology) {
  if (!team.names.empty()) {
    const auto job = load_job_profile(team.names);
    if (job)
      if (auto found = profile_of(team, topology, *job)) return std::move(*found);
  }
  return profile_of_hosts(topology);
}

}  // namespace fermata
