#include "plan/signal_costs.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "profile/pairs.hpp"
#include "profile/statistics.hpp"

namespace fermata {
namespace {

constexpr std::int32_t kGroupedFrom = 65;  // members; matrices of fewer are small

using Place = GroupedCosts::Place;

double typical_idle_stage(const Profile& profile) {
  std::vector<double> idle;
  for (std::int32_t i = 0; i < profile.o.n; ++i) idle.push_back(profile.o.at(i, i));
  return median(std::move(idle));
}

using ByLevel = std::array<LinkCost, kLevelCount>;

// Returns medians per level, for CPUs that are in the topology but not in the profile.
ByLevel by_level(const Profile& profile) {
  std::array<std::vector<RowPair>, kLevelCount> pairs;
  const auto cpu = [&](std::int32_t row) { return profile.topology.cpus[static_cast<std::size_t>(row)]; };
  for (const RowPair& pair : all_pairs(rows_of(profile)))
    pairs[static_cast<std::size_t>(common_level(cpu(pair.a), cpu(pair.b)))].push_back(pair);
  ByLevel levels;
  for (std::size_t k = 0; k < levels.size(); ++k) levels[k] = median_of(profile, pairs[k]);
  return levels;
}

// Numbers keys from 0, in the order in which they come.
template <class Key>
class Numbers {
 public:
  std::int32_t of(const Key& key) {
    return numbers_.try_emplace(key, static_cast<std::int32_t>(numbers_.size())).first->second;
  }

 private:
  std::map<Key, std::int32_t> numbers_;
};

GroupedCosts all_alike(const Profile& profile, const Topology& topology, const PlanKey& key) {
  const SignalRows rows(profile, topology);
  const auto n = static_cast<std::size_t>(key.members);
  return {std::vector<Place>(n), std::vector<double>(n, rows.idle(-1)),
          [&](std::int32_t, std::int32_t) { return GroupedCosts::Link{rows.typical().o, rows.typical().l}; }};
}

// The domains of a CPU, from the CPU to its host. With costs between NUMA nodes, a domain of several nodes
// counts as one for each node.
constexpr std::size_t kDomains = 7;
using Domain = std::array<std::int32_t, 4>;
Domain domain_of(const Cpu& c, std::size_t size) {
  const std::int32_t ids[kDomains] = {c.os_index, c.core, c.l2, c.l3, c.numa, c.package, 0};
  return {c.host, static_cast<std::int32_t>(size), ids[size], c.numa};
}

// By level, two members cost the same to and from all others if the smallest domain that they share with any
// other member is the same one.
std::vector<Place> places_of(const std::vector<Cpu>& cpus) {
  std::map<Domain, std::int32_t> members;
  for (const Cpu& c : cpus)
    for (std::size_t size = 0; size < kDomains; ++size) ++members[domain_of(c, size)];
  Numbers<std::int32_t> hosts;
  std::map<std::int32_t, Numbers<Domain>> groups;  // by host
  std::vector<Place> places;
  for (const Cpu& c : cpus) {
    std::size_t size = 0;
    while (size + 1 < kDomains && members[domain_of(c, size)] < 2) ++size;
    places.push_back({hosts.of(c.host), groups[c.host].of(domain_of(c, size))});
  }
  return places;
}

// The CPUs of the members; none if one is not known, or is not on the host that the key says.
std::vector<Cpu> cpus_of(const Profile& profile, const Topology& topology, const PlanKey& key) {
  std::vector<Cpu> cpus;
  std::map<std::int32_t, std::int32_t> host_of;  // a host of the topology, by the key's number
  for (const std::int32_t os_index : key.cpus) {
    const Cpu* cpu = profile.topology.find(os_index);
    if (cpu == nullptr && profile.levels) cpu = topology.find(os_index);
    if (cpu == nullptr) return {};
    const std::int32_t host = key.hosts.empty() ? cpu->host : key.hosts[cpus.size()];
    if (host_of.try_emplace(host, cpu->host).first->second != cpu->host) return {};
    cpus.push_back(*cpu);
  }
  return cpus;
}

// None if the costs lack a level, a NUMA node or a host: the CPUs may be of another topology.
GroupedCosts by_level(const LevelCosts& costs, const Network& network, const std::vector<Cpu>& cpus) {
  LevelLinks links(costs, network);
  bool known = true;
  GroupedCosts grouped(
      places_of(cpus), std::vector<double>(cpus.size(), costs.at[0].o), [&](std::int32_t i, std::int32_t j) {
        const LinkCost cost =
            links.between(cpus[static_cast<std::size_t>(i)], cpus[static_cast<std::size_t>(j)]);
        known = known && cost.known;
        return GroupedCosts::Link{cost.o, cost.l};
      });
  return known ? grouped : GroupedCosts();
}

// The groups of the topology, if the profile's pairs agree with them.
GroupedCosts by_pair(const Profile& profile, const Topology& topology, const PlanKey& key,
                     const std::vector<Cpu>& cpus) {
  const SignalRows rows(profile, topology);
  const std::int32_t n = key.members;
  std::vector<std::int32_t> row;
  std::vector<double> self;
  for (const std::int32_t cpu : key.cpus) {
    row.push_back(rows.row(cpu));
    if (row.back() < 0) return {};
    self.push_back(rows.idle(row.back()));
  }
  const auto between = [&](std::int32_t i, std::int32_t j) {
    const auto a = static_cast<std::size_t>(i), b = static_cast<std::size_t>(j);
    const LinkCost cost = rows.between(key.cpus[a], row[a], key.cpus[b], row[b]);
    return GroupedCosts::Link{cost.o, cost.l};
  };
  GroupedCosts grouped(places_of(cpus), std::move(self), between);
  for (std::int32_t i = 0; i < n; ++i)
    for (std::int32_t j = 0; j < n; ++j) {
      if (i == j) continue;
      const GroupedCosts::Link link = between(i, j);
      if (link.o != grouped.o(i, j) || link.l != grouped.l(i, j)) return {};
    }
  return grouped;
}

}  // namespace

std::int32_t rows_of(const Profile& profile) {
  return std::min(profile.o.n, static_cast<std::int32_t>(profile.topology.cpus.size()));
}

SignalRows::SignalRows(const Profile& profile, const Topology& topology)
    : profile_(profile), topology_(topology) {
  for (std::int32_t i = 0; i < rows_of(profile); ++i)
    row_[profile.topology.cpus[static_cast<std::size_t>(i)].os_index] = i;
}

// Members on one CPU exchange through its cache, so only the instructions and the switch take time.
LinkCost SignalRows::between(std::int32_t cpu_a, std::int32_t row_a, std::int32_t cpu_b,
                             std::int32_t row_b) const {
  if (cpu_a == cpu_b) return {idle(row_a), row_a < 0 ? 0 : profile_.l.at(row_a, row_a), true};
  if (row_a < 0 || row_b < 0) return guess(cpu_a, cpu_b);
  return {profile_.o.at(row_a, row_b), profile_.l.at(row_a, row_b), true};
}

double SignalRows::idle(std::int32_t row) const {
  if (row >= 0) return profile_.o.at(row, row);
  if (!idle_) idle_ = typical_idle_stage(profile_);
  return *idle_;
}

const LinkCost& SignalRows::typical() const {
  if (!typical_) typical_ = median_of(profile_, all_pairs(profile_.o.n));
  return *typical_;
}

// For CPUs that the profile lacks: the median of their level, else of the next outer level, else of the next
// inner level.
LinkCost SignalRows::guess(std::int32_t a, std::int32_t b) const {
  if (!levels_) levels_ = by_level(profile_);
  const Cpu* x = topology_.find(a);
  const Cpu* y = topology_.find(b);
  if (x == nullptr || y == nullptr) return typical();
  const int level = static_cast<int>(common_level(*x, *y));
  for (int k = level; k < kLevelCount; ++k)
    if (const LinkCost& cost = (*levels_)[static_cast<std::size_t>(k)]; cost.known) return cost;
  for (int k = level; k >= 0; --k)
    if (const LinkCost& cost = (*levels_)[static_cast<std::size_t>(k)]; cost.known) return cost;
  return typical();
}

void fill_signals(CostModel& model, const Profile& profile, const Topology& topology, const PlanKey& key) {
  const auto n = static_cast<std::size_t>(key.members);
  const SignalRows rows(profile, topology);
  const bool placed = key.cpus.size() == n;
  std::vector<std::int32_t> row(n, -1);
  for (std::size_t i = 0; placed && i < n; ++i) row[i] = rows.row(key.cpus[i]);
  model.o.resize(n * n);
  model.l.resize(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      const LinkCost cost = i == j   ? LinkCost{rows.idle(row[i]), 0, true}
                            : placed ? rows.between(key.cpus[i], row[i], key.cpus[j], row[j])
                                     : rows.typical();
      model.o[i * n + j] = cost.o;
      model.l[i * n + j] = cost.l;
    }
}

GroupedCosts grouped_costs(const Profile& profile, const Topology& topology, const PlanKey& key) {
  if (key.members < kGroupedFrom) return {};
  if (key.cpus.size() != static_cast<std::size_t>(key.members)) return all_alike(profile, topology, key);
  const std::vector<Cpu> cpus = cpus_of(profile, topology, key);
  if (cpus.empty()) return {};
  return profile.levels ? by_level(*profile.levels, profile.topology.network, cpus)
                        : by_pair(profile, topology, key, cpus);
}

}  // namespace fermata
