#include "plan/cluster.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>

namespace fermata {
namespace {

using Ranks = std::vector<std::int32_t>;

// Each distance at least once: how often it occurs makes no difference to a gap.
std::vector<double> distances_of(const CostModel& model, const Ranks& ranks) {
  std::vector<double> all;
  model.each_pair(ranks, [&](std::int32_t i, std::int32_t j, double) {
    const double d = distance(model, i, j);
    if (all.empty() || all.back() != d) all.push_back(d);
  });
  return all;
}

double diameter_of(const CostModel& model, const Ranks& ranks) {
  double widest = 0;
  model.each_pair(ranks, [&](std::int32_t i, std::int32_t j, double) {
    widest = std::max(widest, distance(model, i, j));
  });
  return widest;
}

// Finds all centres before any rank joins one. The order of ranks decides which ranks are centres; which
// centre a rank joins depends on distances alone.
std::vector<Ranks> split(const CostModel& model, const Ranks& ranks, double reach) {
  Ranks centres = {ranks.front()};
  for (const std::int32_t r : ranks) {
    // The last centre first: in the order of ranks it is often near.
    const bool far = std::all_of(centres.rbegin(), centres.rend(),
                                 [&](std::int32_t c) { return distance(model, r, c) > reach; });
    if (far) centres.push_back(r);
  }
  const auto nearest_of = [&](std::int32_t r) {
    std::size_t best = 0;
    double nearest = std::numeric_limits<double>::infinity();
    for (std::size_t c = 0; c < centres.size(); ++c) {
      const double d = distance(model, r, centres[c]);
      if (d < nearest) {
        nearest = d;
        best = c;
      }
    }
    return best;
  };
  std::vector<Ranks> groups(centres.size());
  std::map<GroupedCosts::Place, std::size_t> known;  // of members that are no centres
  std::size_t centre = 0;                            // the next one, in the order of ranks
  for (const std::int32_t r : ranks) {
    if (centre < centres.size() && r == centres[centre]) {
      groups[centre++].push_back(r);
    } else if (model.grouped.empty()) {
      groups[nearest_of(r)].push_back(r);
    } else {
      const auto [at, fresh] = known.try_emplace(model.grouped.place(r));
      if (fresh) at->second = nearest_of(r);
      groups[at->second].push_back(r);
    }
  }
  return groups;
}

Cluster grow(const CostModel& model, Ranks ranks, double sparseness) {
  Cluster node;
  node.ranks = std::move(ranks);
  if (node.ranks.size() < 2) return node;
  std::vector<double> distances = distances_of(model, node.ranks);
  const auto [least, most] = std::minmax_element(distances.begin(), distances.end());
  const double nearest = *least;
  node.diameter_ns = *most;
  const double s = sparseness > 0 ? sparseness : sparseness_from_gap(std::move(distances));
  const double reach = std::max(0.0, s * node.diameter_ns);
  if (nearest > reach) return node;  // each rank would be a centre
  std::vector<Ranks> groups = split(model, node.ranks, reach);
  if (groups.size() == 1 || groups.size() == node.ranks.size()) return node;
  for (Ranks& group : groups) node.children.push_back(grow(model, std::move(group), sparseness));
  return node;
}

std::int32_t domain_of(const Cpu& cpu, Level level) {
  switch (level) {
    case Level::kNetwork: return cpu.host;
    case Level::kPackage: return cpu.package;
    case Level::kNuma: return cpu.numa;
    case Level::kL3: return cpu.l3;
    case Level::kL2: return cpu.l2;
    case Level::kCore: return cpu.core;
    default: return cpu.os_index;
  }
}

// The number of a CPU's domain at each level of a tree, from the outermost.
using Domain = std::function<std::int32_t(const Cpu&)>;

constexpr Level kOutsideIn[] = {Level::kNetwork, Level::kPackage, Level::kNuma, Level::kL3,
                                Level::kL2,      Level::kCore,    Level::kSelf};

std::vector<Domain> domains_of(const Topology& topology, bool groups_of_hosts) {
  std::vector<Domain> domains;
  const std::vector<std::int32_t>& sides = topology.network.sides;
  for (std::size_t level = sides.size(); groups_of_hosts && level-- > 1;) {
    const auto hosts = std::accumulate(sides.begin(), sides.begin() + static_cast<std::ptrdiff_t>(level), 1,
                                       std::multiplies<>());
    domains.push_back([hosts](const Cpu& cpu) { return cpu.host / hosts; });
  }
  for (const Level level : kOutsideIn)
    domains.push_back([level](const Cpu& cpu) { return domain_of(cpu, level); });
  return domains;
}

Cluster grow_declared(const std::vector<const Cpu*>& cpus, const CostModel& model, Ranks ranks,
                      const std::vector<Domain>& levels, std::size_t level) {
  Cluster node;
  node.ranks = std::move(ranks);
  node.diameter_ns = diameter_of(model, node.ranks);
  for (; level < levels.size(); ++level) {
    std::vector<std::int32_t> domains;
    std::vector<Ranks> groups;
    for (const std::int32_t r : node.ranks) {
      const std::int32_t d = levels[level](*cpus[static_cast<std::size_t>(r)]);
      const auto at = std::find(domains.begin(), domains.end(), d);
      if (at == domains.end()) {
        domains.push_back(d);
        groups.push_back({r});
      } else {
        groups[static_cast<std::size_t>(at - domains.begin())].push_back(r);
      }
    }
    if (groups.size() == node.ranks.size()) return node;
    if (groups.size() == 1) continue;
    for (Ranks& group : groups)
      node.children.push_back(grow_declared(cpus, model, std::move(group), levels, level + 1));
    return node;
  }
  return node;
}

void collect_leaves(const Cluster& tree, std::vector<Cluster>& leaves) {
  if (tree.children.empty()) {
    leaves.push_back(tree);
    return;
  }
  for (const Cluster& child : tree.children) collect_leaves(child, leaves);
}

}  // namespace

double distance(const CostModel& model, std::int32_t i, std::int32_t j) {
  if (i == j) return 0;
  return 0.5 * (model.o_at(i, j) + model.l_at(i, j) + model.o_at(j, i) + model.l_at(j, i));
}

double mean_distance(const CostModel& model) {
  double sum = 0, pairs = 0, apart = 0, pairs_apart = 0;
  model.each_pair(model.everyone(), [&](std::int32_t i, std::int32_t j, double count) {
    const bool message = model.is_message(i, j);
    (message ? apart : sum) += count * distance(model, i, j);
    (message ? pairs_apart : pairs) += count;
  });
  return pairs > 0 ? sum / pairs : pairs_apart > 0 ? apart / pairs_apart : 0;
}

double sparseness_from_gap(std::vector<double> distances) {
  std::sort(distances.begin(), distances.end());
  if (distances.size() < 2 || distances.back() <= 0) return kDefaultSparseness;
  double widest = kSmallestGap;
  double middle = 0;
  for (std::size_t k = 0; k + 1 < distances.size(); ++k) {
    if (distances[k] <= 0) continue;  // members of one CPU have no distance, so there is no ratio
    const double ratio = distances[k + 1] / distances[k];
    if (ratio < widest) continue;
    widest = ratio;
    middle = std::sqrt(distances[k] * distances[k + 1]);
  }
  return middle > 0 ? middle / distances.back() : kDefaultSparseness;
}

Cluster cluster_by_distance(const CostModel& model, double sparseness) {
  Ranks everyone(static_cast<std::size_t>(model.members));
  std::iota(everyone.begin(), everyone.end(), 0);
  return grow(model, std::move(everyone), sparseness);
}

Cluster cluster_by_topology(const Topology& topology, const std::vector<std::int32_t>& cpus,
                            const CostModel& model, bool groups_of_hosts) {
  Ranks everyone(static_cast<std::size_t>(model.members));
  std::iota(everyone.begin(), everyone.end(), 0);
  std::vector<const Cpu*> places;
  for (const std::int32_t os_index : cpus) places.push_back(topology.find(os_index));
  const bool known = places.size() == everyone.size() &&
                     std::none_of(places.begin(), places.end(), [](const Cpu* c) { return c == nullptr; });
  if (!known) {
    Cluster leaf;
    leaf.ranks = everyone;
    leaf.diameter_ns = diameter_of(model, everyone);
    return leaf;
  }
  return grow_declared(places, model, std::move(everyone), domains_of(topology, groups_of_hosts), 0);
}

Cluster cut_below(const Cluster& tree, int depth) {
  Cluster cut = tree;
  if (depth == 0) cut.children.clear();
  for (Cluster& child : cut.children) child = cut_below(child, depth - 1);
  return cut;
}

Cluster innermost(const Cluster& tree) {
  Cluster root = tree;
  if (tree.children.empty()) return root;
  std::vector<Cluster> leaves;
  collect_leaves(tree, leaves);
  root.children = std::move(leaves);
  return root;
}

Cluster on_ranks(const Cluster& tree, const std::vector<std::int32_t>& ranks, const CostModel& model) {
  Cluster put;
  for (const std::int32_t r : tree.ranks) put.ranks.push_back(ranks[static_cast<std::size_t>(r)]);
  if (tree.diameter_ns > 0) put.diameter_ns = diameter_of(model, put.ranks);
  for (const Cluster& child : tree.children) put.children.push_back(on_ranks(child, ranks, model));
  return put;
}

int depth_of(const Cluster& tree) {
  int deepest = -1;
  for (const Cluster& child : tree.children) deepest = std::max(deepest, depth_of(child));
  return deepest + 1;
}

void add_tree(std::vector<Cluster>& trees, Cluster tree) {
  if (std::find(trees.begin(), trees.end(), tree) == trees.end()) trees.push_back(std::move(tree));
}

void add_levels(std::vector<Cluster>& trees, const Cluster& tree) {
  for (int depth = 1; depth < depth_of(tree); ++depth) add_tree(trees, cut_below(tree, depth));
  add_tree(trees, innermost(tree));
}

std::vector<std::int32_t> participants(const Cluster& node) {
  if (node.children.empty()) return node.ranks;
  std::vector<std::int32_t> leaders;
  for (const Cluster& child : node.children) leaders.push_back(child.ranks.front());
  return leaders;
}

std::string shape_text(const Cluster& tree) {
  if (tree.children.empty()) return std::to_string(tree.ranks.size());
  std::vector<std::string> parts;
  for (const Cluster& child : tree.children) parts.push_back(shape_text(child));
  const bool same =
      std::all_of(parts.begin(), parts.end(), [&](const std::string& p) { return p == parts[0]; });
  if (same) {
    const bool nested = !tree.children[0].children.empty();
    return std::to_string(parts.size()) + " x " + (nested ? "(" + parts[0] + ")" : parts[0]);
  }
  std::string text = "(";
  for (std::size_t i = 0; i < parts.size(); ++i) text += (i ? ", " : "") + parts[i];
  return text + ")";
}

}  // namespace fermata
