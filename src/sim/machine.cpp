#include "sim/machine.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace fermata::sim {
namespace {

// The model's costs per pair, without the factors for members that share a CPU: the simulation has its own.
CostModel pairs_of(const Profile& profile, const Topology& topology, const PlanKey& key) {
  CostModel model = signal_model(profile, topology, key);
  if (model.members_per_cpu > 1) model.scale_signals(1 / model.members_per_cpu);
  return model;
}

void place_members(Machine& m, const Topology& topology, const PlanKey& key) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> numbers;  // of {host, core}
  for (const std::int32_t cpu : key.cpus) {
    const Cpu& c = *topology.find(cpu);
    m.core.push_back(
        numbers.try_emplace({c.host, c.core}, static_cast<std::int32_t>(numbers.size())).first->second);
  }
  m.cores = static_cast<std::int32_t>(numbers.size());
  m.host = key.hosts;
  if (m.host.empty()) m.host.assign(static_cast<std::size_t>(m.members), 0);
  m.hosts = *std::max_element(m.host.begin(), m.host.end()) + 1;
  if (m.hosts > 1) m.network = topology.network;
  m.place.resize(static_cast<std::size_t>(m.hosts));
  for (std::size_t i = 0; i < m.host.size(); ++i)
    m.place[static_cast<std::size_t>(m.host[i])] = topology.find(key.cpus[i])->host;
}

}  // namespace

MemoryCosts memory_costs(const Profile& profile, const MemoryParameters& wanted) {
  MemoryCosts costs;
  for (const MemoryParameters* const known : {&profile.memory, &wanted}) {
    costs.miss_share = known->miss_share.value_or(costs.miss_share);
    costs.overlap = known->overlap.value_or(costs.overlap);
    costs.work_ns = known->work_ns.value_or(costs.work_ns);
    costs.sibling_share = known->sibling_share.value_or(costs.sibling_share);
    costs.prefetch = known->prefetch.value_or(costs.prefetch);
  }
  return costs;
}

Machine machine_of(const Profile& profile, const Topology& topology, const PlanKey& key,
                   const MemoryCosts& costs) {
  const CostModel model = pairs_of(profile, topology, key);
  Machine m;
  m.members = key.members;
  m.line_bytes = topology.line_bytes > 64 ? 128 : 64;
  m.costs = costs;
  m.served_share =
      profile.memory.line_share ? *profile.memory.line_share * costs.miss_share : reader_share(profile);
  place_members(m, topology, key);
  const auto n = static_cast<std::size_t>(m.members), cores = static_cast<std::size_t>(m.cores);
  std::vector<std::int32_t> on_core(cores, 0), first(cores, -1);
  for (std::size_t i = 0; i < n; ++i) {
    const auto core = static_cast<std::size_t>(m.core[i]);
    if (on_core[core]++ == 0) first[core] = static_cast<std::int32_t>(i);
  }
  for (std::size_t i = 0; i < n; ++i) {
    const std::int32_t siblings = on_core[static_cast<std::size_t>(m.core[i])] - 1;
    m.work.push_back(from_ns(costs.work_ns * (1 + costs.sibling_share * siblings)));
    const auto r = static_cast<std::int32_t>(i);
    m.send.push_back(from_ns(model.o_at(r, r)));
  }
  m.signal.assign(cores * cores, 0);
  m.further.assign(cores * cores, 0);
  for (std::size_t a = 0; a < cores; ++a)
    for (std::size_t b = 0; b < cores; ++b) {
      if (a == b) continue;  // a core reads what it has written from its own cache
      const double o = model.o_at(first[a], first[b]), l = model.l_at(first[a], first[b]);
      m.signal[a * cores + b] = from_ns(without_work(o + l, costs.work_ns));
      m.further[a * cores + b] = from_ns(l);
    }
  if (m.hosts == 1) return m;
  m.message.assign(n * n, 0);
  m.gap.assign(n * n, 0);
  for (std::int32_t i = 0; i < m.members; ++i)
    for (std::int32_t j = 0; j < m.members; ++j) {
      const std::size_t at = m.pair(i, j);
      if (!model.is_message(i, j)) continue;
      m.message[at] = from_ns(model.o_at(i, j) + model.l_at(i, j));
      m.gap[at] = from_ns(model.l_at(i, j));
    }
  return m;
}

}  // namespace fermata::sim
