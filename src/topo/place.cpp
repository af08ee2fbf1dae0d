// Places members on CPUs, and makes the topologies of regular machines.
#include <algorithm>
#include <map>
#include <utility>

#include "topo/topology.hpp"

namespace fermata {

namespace {

constexpr std::int32_t kMaxCpus = 65536;

// Returns one CPU of each core in locality order, then the second CPU of each core, and so on. Cpu::smt may
// have gaps where the affinity excludes a sibling, so this function counts siblings itself.
std::vector<Cpu> core_order(const std::vector<Cpu>& cpus) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> seen;
  std::map<std::int32_t, std::vector<Cpu>> turns;
  for (const Cpu& c : cpus) turns[seen[{c.host, c.core}]++].push_back(c);
  std::vector<Cpu> out;
  for (const auto& [turn, members] : turns) out.insert(out.end(), members.begin(), members.end());
  return out;
}

// Alternates between the domains, which are the values of a field of Cpu on a host.
std::vector<Cpu> alternating(const std::vector<Cpu>& cpus, std::int32_t Cpu::* domain) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::vector<Cpu>> domains;
  for (const Cpu& c : core_order(cpus)) domains[{c.host, c.*domain}].push_back(c);
  std::vector<Cpu> out;
  for (std::size_t turn = 0; out.size() < cpus.size(); ++turn) {
    for (const auto& [id, members] : domains)
      if (turn < members.size()) out.push_back(members[turn]);
  }
  return out;
}

// The same on every machine, unlike std::shuffle: Fisher-Yates by a linear congruential generator.
std::vector<Cpu> shuffled(std::vector<Cpu> cpus, std::uint64_t seed) {
  std::uint64_t state = seed;
  for (std::size_t left = cpus.size(); left > 1; --left) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    std::swap(cpus[left - 1], cpus[static_cast<std::size_t>((state >> 33) % left)]);
  }
  return cpus;
}

std::vector<Cpu> order_of(const std::vector<Cpu>& cpus, Placement placement, std::uint64_t seed) {
  switch (placement) {
    case Placement::kCore: return core_order(cpus);
    case Placement::kCpu: return cpus;
    case Placement::kNuma: return alternating(cpus, &Cpu::numa);
    case Placement::kRoundRobin: return alternating(cpus, &Cpu::package);
    case Placement::kRandom: return shuffled(cpus, seed);
  }
  return cpus;
}

}  // namespace

std::optional<Placement> placement_from(std::string_view name) {
  if (name == "core") return Placement::kCore;
  if (name == "cpu") return Placement::kCpu;
  if (name == "numa") return Placement::kNuma;
  if (name == "round-robin") return Placement::kRoundRobin;
  if (name == "random") return Placement::kRandom;
  return std::nullopt;
}

std::vector<std::int32_t> place(const Topology& topology, std::int32_t members, Placement placement,
                                std::uint64_t seed) {
  std::vector<std::int32_t> out;
  if (topology.cpus.empty() || members < 1) return out;
  const std::vector<Cpu> order = order_of(topology.cpus, placement, seed);
  // If the cgroup quota is below the affinity, the kernel would throttle members on more CPUs than the quota,
  // in the middle of a wait.
  const std::int32_t limit = topology.usable_cpus();
  for (std::int32_t i = 0; i < members; ++i)
    out.push_back(order[static_cast<std::size_t>(i % limit)].os_index);
  return out;
}

std::int32_t RegularShape::cpus() const {
  std::int64_t product = 1;
  for (const std::int32_t count : {hosts, packages, numa, std::max(l3, 1), std::max(l2, 1), cores, smt}) {
    if (count < 1 || count > kMaxCpus || l3 < 0 || l2 < 0) return 0;
    product *= count;
    if (product > kMaxCpus) return 0;
  }
  return static_cast<std::int32_t>(product);
}

Result<Topology> topology_from_regular(const RegularShape& shape) {
  const std::int32_t total = shape.cpus();
  if (total == 0)
    return Error{Status::kArgument, "regular topology: counts from 1, and at most 65536 CPUs in all"};
  Topology t;
  t.source = "regular";
  t.cpus_total = total;
  for (std::int32_t i = 0; i < total; ++i) {
    Cpu c;
    c.os_index = i;
    c.smt = i % shape.smt;
    c.core = i / shape.smt;
    const std::int32_t l2 = c.core / shape.cores;
    c.l2 = shape.l2 > 0 ? l2 : c.core;
    const std::int32_t l3 = l2 / std::max(shape.l2, 1);
    c.l3 = shape.l3 > 0 ? l3 : c.l2;
    c.numa = l3 / std::max(shape.l3, 1);
    c.package = c.numa / shape.numa;
    c.host = c.package / shape.packages;
    t.cpus.push_back(c);
  }
  return t;
}

}  // namespace fermata
