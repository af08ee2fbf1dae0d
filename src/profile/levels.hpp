// Costs per level in files of published machines, and the matrices that they stand for.
#ifndef FERMATA_PROFILE_LEVELS_HPP
#define FERMATA_PROFILE_LEVELS_HPP

#include <cstdint>
#include <string>

#include "json/reader.hpp"
#include "profile/profile.hpp"

namespace fermata {

// Reports an error to `outer`.
LevelCosts level_costs_from_node(const JsonNode& node, ObjectReader& outer);

std::string levels_text(const LevelCosts& costs, const std::string& indent);  // the object in a file

// Fills p.o and p.l for the first kMaxExpanded CPUs of p.topology, because matrices grow with the square of
// the number of CPUs. If there are more CPUs, p.levels has the costs of all. Returns the error, or an empty
// string. Errors: the cost of a pair of CPUs is missing; numa_pairs has fewer nodes than the topology.
inline constexpr std::size_t kMaxExpanded = 2048;
std::string expand_levels(const LevelCosts& costs, Profile& p);

}  // namespace fermata
#endif
