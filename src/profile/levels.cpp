#include "profile/levels.hpp"

#include <algorithm>
#include <tuple>

#include "json/text.hpp"

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
  costs.numa_nodes = n;
  outer.take_over(reader);
}

// Returns the level without a cost, or null. In this order, neighbours show every level that occurs.
const char* missing_level(const LevelCosts& costs, std::vector<Cpu> cpus) {
  std::sort(cpus.begin(), cpus.end(), [](const Cpu& a, const Cpu& b) {
    const auto path = [](const Cpu& c) {
      return std::tuple(c.host, c.package, c.numa, c.l3, c.l2, c.core, c.os_index);
    };
    return path(a) < path(b);
  });
  LevelLinks links(costs, {});  // a network adds to costs, but lacks none
  for (std::size_t i = 0; i < cpus.size(); ++i)
    for (const std::size_t j : {i, std::min(i + 1, cpus.size() - 1)})
      if (!links.between(cpus[i], cpus[j]).known) return name_of(common_level(cpus[i], cpus[j]));
  return nullptr;
}

}  // namespace

LinkCost LevelLinks::between(const Cpu& a, const Cpu& b) {
  const Level level = common_level(a, b);
  if (level == Level::kNetwork) return between_hosts(a.host, b.host);
  if (a.numa == b.numa || costs_.numa_nodes == 0) return costs_.at[static_cast<std::size_t>(level)];
  const auto from = static_cast<std::size_t>(a.numa), to = static_cast<std::size_t>(b.numa);
  if (std::max(from, to) >= costs_.numa_nodes) return {};
  return costs_.numa_pairs[from * costs_.numa_nodes + to];
}

LinkCost LevelLinks::between_hosts(std::int32_t from, std::int32_t to) {
  for (const auto& group : costs_.groups)
    if (from / group.hosts == to / group.hosts) return group.cost;
  LinkCost cost = costs_.at[static_cast<std::size_t>(Level::kNetwork)];
  if (!network_) return cost;
  if (std::max(from, to) >= hosts_of(network_)) return {};
  if (from_ != from) further_ = further_ns(network_, from);
  from_ = from;
  cost.o += further_[static_cast<std::size_t>(to)];
  return cost;
}

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

std::string levels_text(const LevelCosts& costs, const std::string& indent) {
  const auto pair = [](const LinkCost& cost) {
    return "\"o\": " + json_number(cost.o) + ", \"l\": " + json_number(cost.l);
  };
  std::string out;
  for (int level = 0; level < kLevelCount; ++level) {
    const LinkCost& cost = costs.at[static_cast<std::size_t>(level)];
    if (!cost.known) continue;
    out += (out.empty() ? "\n" : ",\n") + indent + "  \"" + name_of(static_cast<Level>(level)) + "\": {" +
           pair(cost);
    if (static_cast<Level>(level) == Level::kNetwork) {
      for (std::size_t g = 0; g < costs.groups.size(); ++g)
        out += std::string(g == 0 ? ", \"groups\": [" : ", ") +
               "{\"hosts\": " + std::to_string(costs.groups[g].hosts) + ", " + pair(costs.groups[g].cost) +
               "}";
      if (!costs.groups.empty()) out += "]";
    }
    out += "}";
  }
  const auto rows = [&](double LinkCost::* part) {
    std::string text;
    for (std::size_t k = 0; k < costs.numa_pairs.size(); ++k)
      text += (k % costs.numa_nodes > 0 ? ", "
               : k > 0                  ? "], ["
                                        : "[[") +
              json_number(costs.numa_pairs[k].*part);
    return text + "]]";
  };
  if (!costs.numa_pairs.empty())
    out += ",\n" + indent + "  \"numa_pairs\": {\"o\": " + rows(&LinkCost::o) +
           ", \"l\": " + rows(&LinkCost::l) + "}";
  return "{" + out + "\n" + indent + "}";
}

std::string expand_levels(const LevelCosts& costs, Profile& p) {
  const auto& cpus = p.topology.cpus;
  for (const Cpu& c : cpus)
    if (costs.numa_nodes > 0 && static_cast<std::size_t>(c.numa) >= costs.numa_nodes)
      return "numa_pairs has fewer nodes than the topology";
  const auto missing = [](const char* level) {
    return std::string("level '") + level + "' occurs and has no cost";
  };
  const auto n = static_cast<std::int32_t>(std::min(cpus.size(), kMaxExpanded));
  if (cpus.size() > kMaxExpanded) {
    if (const char* level = missing_level(costs, cpus)) return missing(level);
    p.levels = costs;
  }
  p.o = Matrix(n);
  p.l = Matrix(n);
  LevelLinks links(costs, p.topology.network);
  for (std::int32_t i = 0; i < n; ++i) {
    for (std::int32_t j = 0; j < n; ++j) {
      const Cpu &a = cpus[static_cast<std::size_t>(i)], &b = cpus[static_cast<std::size_t>(j)];
      const LinkCost cost = links.between(a, b);
      if (!cost.known) return missing(name_of(common_level(a, b)));
      p.o.at(i, j) = cost.o;
      p.l.at(i, j) = cost.l;
    }
  }
  return {};
}

}  // namespace fermata
