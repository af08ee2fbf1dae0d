// Topology: the CPUs on which members can run, and the domains that contain them. A value type with a
// readable text form.
#ifndef FERMATA_TOPO_TOPOLOGY_HPP
#define FERMATA_TOPO_TOPOLOGY_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "topo/network.hpp"

namespace fermata {

// Domains mostly nest (common_level() has an exception); a smaller value is nearer. kSelf: the same CPU.
enum class Level : std::uint8_t { kSelf = 0, kCore, kL2, kL3, kNuma, kPackage, kMachine, kNetwork };
inline constexpr int kLevelCount = 8;
const char* name_of(Level level);

struct Cpu {
  // The number that sched_setaffinity takes. Among the hosts of a team or job: the rank or the process.
  std::int32_t os_index = 0;
  std::int32_t core = 0, l2 = 0, l3 = 0, numa = 0, package = 0;  // logical ids, unique in the topology
  std::int32_t smt = 0;                                          // index within its core
  std::int32_t host = 0;
  bool operator==(const Cpu&) const = default;
};

struct Topology {
  // "this machine", "xml:FILE", "synthetic:SPEC", "regular", "processes of an MPI job", "hosts of a team", or
  // what a file says
  std::string source;
  std::string model;   // CPU model name
  std::string kernel;  // release by uname, where the machine was discovered; else empty
  bool virtual_machine = false;
  std::int32_t line_bytes = 64;
  std::int32_t cpus_total = 0;  // CPUs in the machine
  double quota_cpus = 0;        // cgroup CPU quota in CPUs; 0: none
  // Of this machine: the CPUs that this process may use. Else the CPUs that the source allows or describes.
  // In logical (locality) order.
  std::vector<Cpu> cpus;
  // A hash of the whole machine's CPUs, 16 hex digits. Empty: `cpus` is the whole machine.
  std::string shape;
  Network network;  // between the hosts; the number of a CPU's host is its place in it

  // How many members can run at once: min(affinity, quota rounded up), at least 1.
  std::int32_t usable_cpus() const;
  const Cpu* find(std::int32_t os_index) const;
  bool operator==(const Topology&) const = default;
};

// Returns the innermost domain that contains both CPUs. Never returns a cache level that the machine lacks: a
// missing cache has the id of the next inner domain. CPUs of two packages have kMachine in common, even if
// one NUMA node spans both packages.
Level common_level(const Cpu& a, const Cpu& b);

// Discovers this machine: the CPUs that this process may use, and its cgroup quota.
Result<Topology> discover_topology();
Result<Topology> topology_from_xml(const std::string& path);        // hwloc XML
Result<Topology> topology_from_synthetic(const std::string& spec);  // an hwloc string, as "pack:2 core:4"
Result<Topology> topology_from_text(std::string_view text);         // the output of to_text
// A file by to_text or to_json, hwloc XML, or the topology of a profile's file.
Result<Topology> topology_from_file(const std::string& path);
std::string to_text(const Topology& topology);  // for topology_from_text
std::string to_json(const Topology& topology);
std::string to_table(const Topology& topology);  // for people, about 100 columns

// A hash of these CPUs: their OS indices and the domains that contain them. 16 hex digits.
std::string shape_of(const std::vector<Cpu>& cpus);

// The stable identity of a machine for profile and plan files: a hash of model, line size, and the number and
// the shape of the whole machine's CPUs. The affinity makes no difference. 16 hex digits.
std::string fingerprint(const Topology& topology);

// A regular machine: each count is the number of children per parent. l3 = 0 or l2 = 0: the machine has no
// such cache.
struct RegularShape {
  // For example, numa is the number of NUMA nodes per package.
  std::int32_t hosts = 1, packages = 1, numa = 1, l3 = 1, l2 = 0, cores = 1, smt = 1;
  // The number of CPUs; 0 if a count is outside 1..65536 (l3, l2: 0..65536) or the product exceeds 65536.
  std::int32_t cpus() const;
};
Result<Topology> topology_from_regular(const RegularShape& shape);  // os_index counts up in locality order

// Parses a CPU list as the kernel writes it, for example "0-3,8". Keeps the order and repeated CPUs.
Result<std::vector<std::int32_t>> parse_cpu_list(std::string_view text);
std::string cpu_list(std::vector<std::int32_t> cpus);  // sorted, each CPU once, with ranges

enum class Placement { kCore, kCpu, kNuma, kRoundRobin, kRandom };
// Returns a CPU (os_index) for each member. kCore: one CPU of each core first. kCpu: all SMT siblings of a
// core before the next core. kNuma, kRoundRobin: alternating NUMA nodes, alternating packages. kRandom: in an
// order by the seed. If there are more members than usable CPUs, starts again at the first CPU.
std::vector<std::int32_t> place(const Topology& topology, std::int32_t members, Placement placement,
                                std::uint64_t seed = 1);
// "core", "cpu", "numa", "round-robin" or "random".
std::optional<Placement> placement_from(std::string_view name);

}  // namespace fermata
#endif
