// Costs per level instead of per pair, for files of published machines and for estimates.
#ifndef FERMATA_PROFILE_LEVELS_HPP
#define FERMATA_PROFILE_LEVELS_HPP

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "json/reader.hpp"
#include "profile/pairs.hpp"

namespace fermata {

struct LevelCosts {
  std::array<LinkCost, kLevelCount> at{};
  // Groups of hosts that are nearer to each other than the network level.
  // Hosts h and g share a group if h / hosts == g / hosts.
  // The first group that holds both hosts counts, so smaller groups must come first.
  struct HostGroup {
    std::int32_t hosts = 0;
    LinkCost cost;
  };
  std::vector<HostGroup> groups;
  // Costs between NUMA nodes of one host, where levels are too coarse (for example, four chips at four
  // distances). nodes x nodes, row-major; empty: the file has none. Within a node the costs of the levels
  // apply.
  std::vector<LinkCost> numa_pairs;
};

// Reports an error to `outer`.
LevelCosts level_costs_from_node(const JsonNode& node, ObjectReader& outer);

// Fills p.o and p.l for the CPUs of p.topology. If that has a network, the cost of level network is for
// neighbouring hosts, and O grows by what the way between two hosts is longer (further_ns in
// topo/network.hpp). A group's cost does not grow. Returns the error, or an empty string. Errors: the cost of
// a pair of CPUs is missing; numa_pairs has fewer nodes than the topology; there are more than kMaxExpanded
// CPUs. That limit exists because the matrices grow with the square of the number of CPUs, while the file
// does not.
inline constexpr std::size_t kMaxExpanded = 2048;
std::string expand_levels(const LevelCosts& costs, Profile& p);

}  // namespace fermata
#endif
