// The tree of clusters. A cluster is a group of ranks that are near each other. Hierarchical schedules are
// composed along the tree.
#ifndef FERMATA_PLAN_CLUSTER_HPP
#define FERMATA_PLAN_CLUSTER_HPP

#include <string>
#include <vector>

#include "plan/plan.hpp"

namespace fermata {

// The paper's sparseness (heterogeneous-mpi-barriers VII.A). It is used where the distances show no gap.
inline constexpr double kDefaultSparseness = 0.35;
// Sorted distances that differ by less than this factor differ by noise, not by a gap. The step from one chip
// to the other chip of a module, 1.18, is a gap (power8-barriers, Table II).
inline constexpr double kSmallestGap = 1.15;

// Returns the mean of O + L in both directions, ns; 0 if i == j.
double distance(const CostModel& model, std::int32_t i, std::int32_t j);

// Returns the mean over all pairs that share memory, or over all pairs if no pair does; 0 for one member.
double mean_distance(const CostModel& model);

// Finds the largest relative gap in the distances and returns its geometric middle, as a share of the largest
// distance. Returns kDefaultSparseness if no gap reaches kSmallestGap. `distances` has each distance of a
// pair at least once, in any order.
double sparseness_from_gap(std::vector<double> distances);

// Clusters by sparse spatial centres, recursively (heterogeneous-mpi-barriers VII.A). The first rank of a
// cluster is its first centre. A rank becomes a centre if it is farther than sparseness x diameter from every
// centre so far. Every other rank joins the nearest centre, the first one of equally near ones. Each cluster
// is split again by its own diameter. A node is a leaf if the split gives one cluster, or one cluster per
// rank. sparseness 0: each cluster gets it from its own gap.
Cluster cluster_by_distance(const CostModel& model, double sparseness);

// The tree of domains that the topology declares for these CPUs (one OS index per rank): hosts, packages,
// NUMA nodes, L3, L2, cores, CPUs. A level that does not divide a node is skipped. A node that a level would
// divide into single ranks is a leaf. The tree is one leaf unless `cpus` has exactly one entry per rank and
// the topology has all these CPUs. The model gives the number of ranks and the nodes' diameters.
// groups_of_hosts: outside of the hosts also the groups of the topology's network: the planes and rows of a
// torus or mesh, the hosts below each switch of a fat tree, the groups and routers of a dragonfly.
Cluster cluster_by_topology(const Topology& topology, const std::vector<std::int32_t>& cpus,
                            const CostModel& model, bool groups_of_hosts = false);

// Keeps `depth` levels of children; the nodes of the last level become leaves. depth 0: one leaf.
Cluster cut_below(const Cluster& tree, int depth);
// The innermost level alone: the leaves as children of one root.
Cluster innermost(const Cluster& tree);
// The same tree with ranks[r] in the place of rank r.
Cluster on_ranks(const Cluster& tree, const std::vector<std::int32_t>& ranks, const CostModel& model);
int depth_of(const Cluster& tree);  // 0 for a leaf
// Who signals at this node: the members of a leaf, else the leaders of the children.
std::vector<std::int32_t> participants(const Cluster& node);
// Adds the tree unless it is there.
void add_tree(std::vector<Cluster>& trees, Cluster tree);
// Adds the tree cut below each depth that is less than its own, from 1 on, and its innermost level alone.
void add_levels(std::vector<Cluster>& trees, const Cluster& tree);

// Text for people: "4 x 6", "2 x (2 x 6)"; where sizes differ, a list of them: "(6, 5)".
std::string shape_text(const Cluster& tree);

}  // namespace fermata
#endif
