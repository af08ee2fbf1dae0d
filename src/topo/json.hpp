// A topology inside a larger JSON file.
#ifndef FERMATA_TOPO_JSON_HPP
#define FERMATA_TOPO_JSON_HPP

#include "json/reader.hpp"
#include "topo/topology.hpp"

namespace fermata {

// Either the full form that to_json(Topology) prints, or "regular" with a RegularShape's counts instead of
// "cpus".
Result<Topology> topology_from_node(const JsonNode& node);

// Checks that hold for every topology that is read: ids nest, an os_index has one meaning. Empty: none
// broken.
std::string topology_flaw(const Topology& topology);

}  // namespace fermata
#endif
