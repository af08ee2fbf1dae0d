// Topology: where members can be and what surrounds them. A value; readable text.
#ifndef FERMATA_TOPO_TOPOLOGY_HPP
#define FERMATA_TOPO_TOPOLOGY_HPP

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace fermata {

// Domains nest; a smaller value is nearer. kSelf: the same CPU.
enum class Level : std::uint8_t { kSelf = 0, kCore, kL2, kL3, kNuma, kPackage, kMachine, kNetwork };
inline constexpr int kLevelCount = 8;
const char* name_of(Level level);

struct Cpu {
  std::int32_t os_index = 0;  // what sched_setaffinity takes
  std::int32_t core = 0, l2 = 0, l3 = 0, numa = 0, package = 0;  // logical ids, machine-wide
  std::int32_t smt = 0;                                          // index within its core
  std::int32_t host = 0;
  bool operator==(const Cpu&) const = default;
};

struct Topology {
  std::string source;       // "this machine", "xml:FILE", "synthetic:SPEC", "file:FILE"
  std::string model;        // CPU model name
  std::string kernel;       // uname release; empty if not this machine
  bool virtual_machine = false;
  std::int32_t line_bytes = 64;
  std::int32_t cpus_total = 0;   // in the machine
  double quota_cpus = 0;         // cgroup CPU quota in CPUs; 0: none
  std::vector<Cpu> cpus;         // those that this process may use, in logical (locality) order

  // min(affinity, quota rounded up): how many members can run at once. At least 1.
  std::int32_t usable_cpus() const;
  const Cpu* find(std::int32_t os_index) const;
  bool operator==(const Topology&) const = default;
};

// The innermost domain that contains both.
Level common_level(const Cpu& a, const Cpu& b);

Result<Topology> discover_topology();                             // this machine; affinity and cgroup quota honoured
Result<Topology> topology_from_xml(const std::string& path);      // hwloc XML
Result<Topology> topology_from_synthetic(const std::string& spec);  // hwloc synthetic, e.g. "pack:2 l3:2 core:4 pu:2"
Result<Topology> topology_from_text(std::string_view text);       // what to_text printed
std::string to_text(const Topology& topology);                    // versioned, round trips
std::string to_json(const Topology& topology);
std::string to_table(const Topology& topology);                   // for people, <= 100 columns

// Stable identity of a machine for profile and plan files: model, CPU count, domain structure, line size. Hex, 16 digits.
std::string fingerprint(const Topology& topology);

enum class Placement { kCore, kCpu, kRoundRobin };
// CPUs (os_index) for n members: kCore one per core first, kCpu fills SMT siblings, kRoundRobin across packages. Wraps round
// when n exceeds what is usable.
std::vector<std::int32_t> place(const Topology& topology, std::int32_t members, Placement placement);

}  // namespace fermata
#endif
