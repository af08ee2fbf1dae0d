#include "profile/levels.hpp"

namespace fermata {

namespace {

LinkCost read_cost(ObjectReader& reader) {
  return {reader.number("o", 0, kMaxNs), reader.number("l", 0, kMaxNs), true};
}

void read_network(const JsonNode& node, LevelCosts& costs, ObjectReader& outer) {
  ObjectReader reader(node, "network level");
  reader.only({"o", "l", "groups"});
  costs.at[static_cast<std::size_t>(Level::kNetwork)] = read_cost(reader);
  if (const JsonNode* groups = reader.array("groups")) {
    for (const JsonNode& item : groups->items) {
      ObjectReader inner(item, "host group");
      inner.only({"hosts", "o", "l"});
      const auto hosts = static_cast<std::int32_t>(inner.integer("hosts", 1, 65536));
      costs.groups.push_back({hosts, read_cost(inner)});
      reader.take_over(inner);
    }
  }
  outer.take_over(reader);
}

// Reads {"o": rows, "l": rows}: two square matrices of the same size.
void read_numa_pairs(const JsonNode& node, LevelCosts& costs, ObjectReader& outer) {
  ObjectReader reader(node, "numa_pairs");
  reader.only({"o", "l"});
  const JsonNode *o = reader.array("o"), *l = reader.array("l");
  const std::size_t n = o == nullptr ? 0 : o->items.size();
  if (n == 0 || l == nullptr || l->items.size() != n)
    reader.complain(node, "'o' and 'l' of the same size are expected");
  for (std::size_t i = 0; reader.ok() && i < n; ++i) {
    const JsonNode &row_o = o->items[i], &row_l = l->items[i];
    if (row_o.items.size() != n || row_l.items.size() != n)
      reader.complain(row_o, "the matrices must be square");
    for (std::size_t j = 0; reader.ok() && j < n; ++j) {
      const JsonNode &a = row_o.items[j], &b = row_l.items[j];
      if (!a.is_number(0, kMaxNs) || !b.is_number(0, kMaxNs))
        reader.complain(a, "nanoseconds from 0 to 1e12 are expected");
      costs.numa_pairs.push_back({a.number, b.number, true});
    }
  }
  outer.take_over(reader);
}

// further: from a's host to each other one, in ns; empty: there is no network
LinkCost network_cost(const LevelCosts& costs, const Cpu& a, const Cpu& b,
                      const std::vector<double>& further) {
  for (const auto& group : costs.groups)
    if (a.host / group.hosts == b.host / group.hosts) return group.cost;
  LinkCost cost = costs.at[static_cast<std::size_t>(Level::kNetwork)];
  if (!further.empty()) cost.o += further[static_cast<std::size_t>(b.host)];
  return cost;
}

LinkCost cost_between(const LevelCosts& costs, const Cpu& a, const Cpu& b, std::size_t numa_nodes,
                      const std::vector<double>& further) {
  const Level level = common_level(a, b);
  if (level == Level::kNetwork) return network_cost(costs, a, b, further);
  if (a.numa != b.numa && numa_nodes > 0)
    return costs.numa_pairs[static_cast<std::size_t>(a.numa) * numa_nodes + static_cast<std::size_t>(b.numa)];
  return costs.at[static_cast<std::size_t>(level)];
}

}  // namespace

LevelCosts level_costs_from_node(const JsonNode& node, ObjectReader& outer) {
  LevelCosts costs;
  ObjectReader reader(node, "levels");
  reader.only({"self", "core", "l2", "l3", "numa", "package", "machine", "network", "numa_pairs"});
  if (const JsonNode* pairs = reader.object("numa_pairs")) read_numa_pairs(*pairs, costs, reader);
  for (int level = 0; level < kLevelCount && reader.ok(); ++level) {
    const JsonNode* item = reader.object(name_of(static_cast<Level>(level)));
    if (item == nullptr) continue;
    if (static_cast<Level>(level) == Level::kNetwork) {
      read_network(*item, costs, reader);
      continue;
    }
    ObjectReader inner(*item, std::string(name_of(static_cast<Level>(level))) + " level");
    inner.only({"o", "l"});
    costs.at[static_cast<std::size_t>(level)] = read_cost(inner);
    reader.take_over(inner);
  }
  outer.take_over(reader);
  return costs;
}

std::string expand_levels(const LevelCosts& costs, Profile& p) {
  const auto& cpus = p.topology.cpus;
  if (cpus.size() > kMaxExpanded) return "levels can be expanded for 2048 CPUs at most";
  std::size_t nodes = 0;
  while (nodes * nodes < costs.numa_pairs.size()) ++nodes;
  const auto n = static_cast<std::int32_t>(cpus.size());
  for (const Cpu& c : cpus)
    if (nodes > 0 && static_cast<std::size_t>(c.numa) >= nodes)
      return "numa_pairs has fewer nodes than the topology";
  p.o = Matrix(n);
  p.l = Matrix(n);
  std::vector<double> further;  // from the host of row i
  for (std::int32_t i = 0; i < n; ++i) {
    const std::int32_t host = cpus[static_cast<std::size_t>(i)].host;
    if (p.topology.network && (i == 0 || host != cpus[static_cast<std::size_t>(i) - 1].host))
      further = further_ns(p.topology.network, host);
    for (std::int32_t j = 0; j < n; ++j) {
      const Cpu &a = cpus[static_cast<std::size_t>(i)], &b = cpus[static_cast<std::size_t>(j)];
      const LinkCost cost = cost_between(costs, a, b, nodes, further);
      if (!cost.known)
        return std::string("level '") + name_of(common_level(a, b)) + "' occurs and has no cost";
      p.o.at(i, j) = cost.o;
      p.l.at(i, j) = cost.l;
    }
  }
  return {};
}

}  // namespace fermata
