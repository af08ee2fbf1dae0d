// Reads a topology inside a larger JSON file.
#ifndef FERMATA_TOPO_JSON_HPP
#define FERMATA_TOPO_JSON_HPP

#include "json/reader.hpp"
#include "topo/topology.hpp"

namespace fermata {

// Reads the form that to_json(Topology) prints, or a short form: "regular" with the counts of a RegularShape
// instead of "cpus".
Result<Topology> topology_from_node(const JsonNode& node);

// Checks that there are CPUs, and that each os_index stands for one CPU. Checks that no core lies in two L2,
// L3 or packages, and no package or NUMA node in two hosts. Checks that no text has a control character.
// Returns the error, or an empty string.
std::string topology_flaw(const Topology& topology);

}  // namespace fermata
#endif
