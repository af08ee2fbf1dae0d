// Who is near whom: the tree of clusters that hierarchical schedules are composed along.
#ifndef FERMATA_PLAN_CLUSTER_HPP
#define FERMATA_PLAN_CLUSTER_HPP

#include <string>
#include <vector>

#include "plan/plan.hpp"

namespace fermata {

// The paper's sparseness (heterogeneous-mpi-barriers VII.A), used where the distances show no gap.
inline constexpr double kDefaultSparseness = 0.35;
// Neighbours in the sorted distances that differ by less than this factor are noise, not a gap: the smallest step between
// domains in the published tables is 1.18 (power8-barriers, Table II, same chip to other chip of the module).
inline constexpr double kSmallestGap = 1.15;

// Mean of O + L both ways, ns; 0 for i == j.
double distance(const CostModel& model, std::int32_t i, std::int32_t j);

// Over all pairs that share memory, or, if none does, over all; 0 for one member.
double mean_distance(const CostModel& model);

// The share of the largest distance at which the largest relative gap of the sorted distances lies (its geometric
// middle); kDefaultSparseness if no gap is as large as kSmallestGap. Takes the distances of all pairs, unsorted.
double sparseness_from_gap(std::vector<double> distances);

// Sparse spatial centres, recursively (heterogeneous-mpi-barriers VII.A): rank 0 is the first centre, a rank farther than
// sparseness x diameter from every centre becomes one, every other rank joins the nearest centre (the first of equals). Again inside
// each cluster with its own diameter; one cluster, or all singletons, is a leaf. sparseness 0: from the gap, per cluster.
Cluster cluster_by_distance(const CostModel& model, double sparseness);

// The tree of domains that the topology declares for these CPUs (OS index per rank): hosts, packages, NUMA nodes, L3, L2, cores. A
// level that doesn't divide is left out. No CPUs, or one that the topology doesn't know: one leaf.
Cluster cluster_by_topology(const Topology& topology, const std::vector<std::int32_t>& cpus, const CostModel& model);

// Nodes with children at most `depth` levels deep; below that, leaves. depth 0: one leaf.
Cluster cut_below(const Cluster& tree, int depth);
// The leaves as children of one root: the innermost level alone.
Cluster innermost(const Cluster& tree);
int depth_of(const Cluster& tree);  // 0 for a leaf

// "4 x 6", "2 x (2 x 6)", or sizes where they differ: "(6, 5)". For people.
std::string shape_text(const Cluster& tree);

}  // namespace fermata
#endif
