// Costs of signals by level of the topology, instead of by pair.
#ifndef FERMATA_PROFILE_LEVEL_COSTS_HPP
#define FERMATA_PROFILE_LEVEL_COSTS_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "topo/topology.hpp"

namespace fermata {

struct LinkCost {
  double o = 0, l = 0;  // ns
  bool known = false;
  bool operator==(const LinkCost&) const = default;
};

struct LevelCosts {
  std::array<LinkCost, kLevelCount> at{};
  // Groups of hosts that are nearer to each other than the network level.
  // Hosts h and g share a group if h / hosts == g / hosts.
  // The first group that holds both hosts counts, so smaller groups must come first.
  struct HostGroup {
    std::int32_t hosts = 0;
    LinkCost cost;
    bool operator==(const HostGroup&) const = default;
  };
  std::vector<HostGroup> groups;
  // Costs between NUMA nodes of one host, where levels are too coarse (for example, four chips at four
  // distances). numa_nodes x numa_nodes, row-major; empty: the file has none. Within a node the costs of the
  // levels apply.
  std::vector<LinkCost> numa_pairs;
  std::size_t numa_nodes = 0;
  bool operator==(const LevelCosts&) const = default;
};

// The costs of signals between CPUs: by level, and between hosts by their network, too. The cost of level
// network is for neighbouring hosts, and O grows by what the way between two hosts is longer (further_ns in
// topo/network.hpp). A group's cost does not grow.
class LevelLinks {
 public:
  LevelLinks(const LevelCosts& costs, const Network& network) : costs_(costs), network_(network) {}

  // From a to b. Two CPUs on different hosts cost what the hosts cost. Not known: the costs lack the level or
  // the NUMA node, or the network lacks the host. It keeps the ways from one host, so callers that take all
  // CPUs a of a host together save time.
  LinkCost between(const Cpu& a, const Cpu& b);

 private:
  LinkCost between_hosts(std::int32_t from, std::int32_t to);

  const LevelCosts& costs_;
  const Network network_;
  std::int32_t from_ = -1;
  std::vector<double> further_;  // from this host to each other one
};

}  // namespace fermata
#endif
