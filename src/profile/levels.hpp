// Costs per level instead of per pair: how published machines are written down, and how estimates are made.
#ifndef FERMATA_PROFILE_LEVELS_HPP
#define FERMATA_PROFILE_LEVELS_HPP

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "json/reader.hpp"
#include "profile/profile.hpp"

namespace fermata {

struct LinkCost {
  double o = 0, l = 0;  // ns
  bool known = false;
};

struct LevelCosts {
  std::array<LinkCost, kLevelCount> at{};
  // Hosts that are nearer to each other than the network level: hosts h and g with h / hosts == g / hosts.
  // The first group that holds both counts, so the smallest comes first.
  struct HostGroup {
    std::int32_t hosts = 0;
    LinkCost cost;
  };
  std::vector<HostGroup> groups;
  // Between NUMA nodes of one host where levels are too coarse (four chips at four distances): nodes x nodes,
  // row-major; empty: not given. Within a node the levels count.
  std::vector<LinkCost> numa_pairs;
  // Hosts on a mesh of this width: a pair's O grows with each hop after the first.
  std::int32_t mesh_width = 0;
  double o_per_hop = 0;
};

// A complaint goes to `outer`.
LevelCosts level_costs_from_node(const JsonNode& node, ObjectReader& outer);

// Fills p.o and p.l from p.topology. Returns the complaint (a level that occurs has no cost, too many CPUs),
// empty if none. At most kMaxExpanded CPUs: matrices grow with the square while the file does not.
inline constexpr std::size_t kMaxExpanded = 2048;
std::string expand_levels(const LevelCosts& costs, Profile& p);

}  // namespace fermata
#endif
