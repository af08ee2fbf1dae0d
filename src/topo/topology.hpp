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
  std::int32_t os_index = 0;                                     // what sched_setaffinity takes
  std::int32_t core = 0, l2 = 0, l3 = 0, numa = 0, package = 0;  // logical ids, machine-wide
  std::int32_t smt = 0;                                          // index within its core
  std::int32_t host = 0;
  bool operator==(const Cpu&) const = default;
};

struct Topology {
  std::string source;  // "this machine", "xml:FILE", "synthetic:SPEC", "file:FILE"
  std::string model;   // CPU model name
  std::string kernel;  // uname release; empty if not this machine
  bool virtual_machine = false;
  std::int32_t line_bytes = 64;
  std::int32_t cpus_total = 0;  // in the machine
  double quota_cpus = 0;        // cgroup CPU quota in CPUs; 0: none
  std::vector<Cpu> cpus;        // those that this process may use, in logical (locality) order
  std::string shape;            // 16 hex digits over the whole machine's CPUs; empty: cpus are the whole machine

  // min(affinity, quota rounded up): how many members can run at once. At least 1.
  std::int32_t usable_cpus() const;
  const Cpu* find(std::int32_t os_index) const;
  bool operator==(const Topology&) const = default;
};

// The innermost domain that contains both. A level that the machine doesn't have is never returned: where a
// cache is missing its id is that of the next inner domain. A NUMA node that spans packages doesn't make them
// near.
Level common_level(const Cpu& a, const Cpu& b);

Result<Topology> discover_topology();                               // this machine; affinity and cgroup quota honoured
Result<Topology> topology_from_xml(const std::string& path);        // hwloc XML
Result<Topology> topology_from_synthetic(const std::string& spec);  // hwloc synthetic, e.g. "pack:2 l3:2 core:4 pu:2"
Result<Topology> topology_from_text(std::string_view text);         // what to_text printed
Result<Topology> topology_from_file(const std::string& path);       // to_text, to_json or hwloc XML
std::string to_text(const Topology& topology);                      // versioned, round trips
std::string to_json(const Topology& topology);
std::string to_table(const Topology& topology);  // for people, <= 100 columns

// 16 hex digits over the domain structure of these CPUs.
std::string shape_of(const std::vector<Cpu>& cpus);

// Stable identity of a machine for profile and plan files: model, CPU count, domain structure, line size.
// Hex, 16 digits.
std::string fingerprint(const Topology& topology);

// A machine that is the same everywhere: children per parent. l3 = 0 or l2 = 0: the machine has no such
// cache.
struct RegularShape {
  std::int32_t hosts = 1, packages = 1, numa = 1, l3 = 1, l2 = 0, cores = 1, smt = 1;  // numa per package ...
  // CPUs in all; 0 if a count is out of 1..65536 (l3, l2: 0..65536) or the product exceeds 65536.
  std::int32_t cpus() const;
};
Result<Topology> topology_from_regular(const RegularShape& shape);  // os_index counts up in locality order

// "0-3,8": CPU lists as the kernel writes them; out of order and repeats are kept as given.
Result<std::vector<std::int32_t>> parse_cpu_list(std::string_view text);
std::string cpu_list(std::vector<std::int32_t> cpus);  // sorted, ranges

enum class Placement { kCore, kCpu, kRoundRobin };
// CPUs (os_index) for n members: kCore one per core first, kCpu fills SMT siblings, kRoundRobin across
// packages. Wraps round when n exceeds what is usable.
std::vector<std::int32_t> place(const Topology& topology, std::int32_t members, Placement placement);

}  // namespace fermata
#endif
