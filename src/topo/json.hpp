// Reads a topology inside a larger JSON file.
#ifndef FERMATA_TOPO_JSON_HPP
#define FERMATA_TOPO_JSON_HPP

#include "json/reader.hpp"
#include "topo/topology.hpp"

namespace fermata {

// Reads the form that to_json(Topology) prints, or a short form: "regular" with the counts of a RegularShape
// instead of "cpus".
Result<Topology> topology_from_node(const JsonNode& node);

// Checks what must hold for every topology: ids nest, and an os_index has one meaning. Returns what is wrong,
// or an empty string.
std::string topology_flaw(const Topology& topology);

}  // namespace fermata
#endif
