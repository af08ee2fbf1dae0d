// The trees of clusters along which plans on lines are composed.
#include <algorithm>

#include "plan/cluster.hpp"
#include "plan/line_search.hpp"

namespace fermata {
namespace {

// Sorts the participants so that the one nearest to all others comes first and leads. Messages through this
// leader can avoid a link between hosts that is slower than two others together. Changes only the outermost
// level, where any order is valid.
Cluster led_by_the_nearest(const Cluster& tree, const CostModel& model) {
  Cluster led = tree;
  const std::vector<std::int32_t> all = participants(tree);
  std::vector<double> reach(static_cast<std::size_t>(model.members), 0);  // of each participant
  for (const std::int32_t leader : all)
    for (const std::int32_t other : all)
      reach[static_cast<std::size_t>(leader)] += distance(model, leader, other);
  const auto nearer = [&](std::int32_t a, std::int32_t b) {
    return reach[static_cast<std::size_t>(a)] < reach[static_cast<std::size_t>(b)];
  };
  std::stable_sort(led.children.begin(), led.children.end(), [&](const Cluster& a, const Cluster& b) {
    return nearer(a.ranks.front(), b.ranks.front());
  });
  if (led.children.empty()) std::stable_sort(led.ranks.begin(), led.ranks.end(), nearer);
  return led;
}

}  // namespace

std::vector<Cluster> trees_to_try(const Topology& topology, const CostModel& model,
                                  const PlanOptions& options) {
  std::vector<Cluster> trees;
  const Cluster declared = cluster_by_topology(topology, options.key.cpus, model);
  const Cluster measured =
      options.clusters_from_topology ? declared : cluster_by_distance(model, options.sparseness);
  const bool may_lead =
      arrives(options.key.collective) && releases(options.key.collective) && !model.hosts.empty();
  std::vector<Cluster> wanted = {measured, declared};
  if (topology.network) wanted.push_back(cluster_by_topology(topology, options.key.cpus, model, true));
  for (const Cluster& tree : wanted) {
    add_tree(trees, tree);
    if (may_lead) add_tree(trees, led_by_the_nearest(tree, model));
    add_levels(trees, tree);
  }
  return trees;
}

}  // namespace fermata
