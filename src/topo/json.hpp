// Reads a topology from JSON: a file of its own, or a part of a larger file.
#ifndef FERMATA_TOPO_JSON_HPP
#define FERMATA_TOPO_JSON_HPP

#include "json/reader.hpp"
#include "topo/topology.hpp"

namespace fermata {

// The numbers of a CPU in files, in this order.
struct CpuId {
  const char* name;
  std::int32_t Cpu::* member;
};
inline constexpr CpuId kCpuIds[] = {{"cpu", &Cpu::os_index}, {"core", &Cpu::core}, {"l2", &Cpu::l2},
                                    {"l3", &Cpu::l3},        {"numa", &Cpu::numa}, {"package", &Cpu::package},
                                    {"smt", &Cpu::smt},      {"host", &Cpu::host}};
inline constexpr std::int32_t kMaxId = 65536;  // the largest such number, and the largest count

// Reads the form that to_json(Topology) prints, or a short form: "regular" with the counts of a RegularShape
// instead of "cpus".
Result<Topology> topology_from_node(const JsonNode& node);

// Reads {"torus": [8, 8], "hop_ns": 100, ...}. Reports an error to `outer`.
Network network_from_node(const JsonNode& node, ObjectReader& outer);
std::string to_json(const Network& network);

// Checks that there are CPUs, and that no two have the same os_index, also on different hosts. Checks that no
// core lies in two L2, L3 or packages, and no package or NUMA node in two hosts. Checks that no text has a
// control character, and that the network has each CPU's host. Returns the error, or an empty string.
std::string topology_flaw(const Topology& topology);

}  // namespace fermata
#endif
