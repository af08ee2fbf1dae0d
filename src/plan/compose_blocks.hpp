// Operations on blocks along a tree of clusters: within each cluster with its leader, leaders among each other, any number of levels.
#ifndef FERMATA_PLAN_COMPOSE_BLOCKS_HPP
#define FERMATA_PLAN_COMPOSE_BLOCKS_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "plan/cluster.hpp"
#include "schedule/cost.hpp"
#include "schedule/schedule.hpp"

namespace fermata {

// Hybrid-collectives-p7ih section 4.2: broadcast and scatter go down the tree, reduce and gather up; allreduce, allgather and
// reduce_scatter up to the root's children, then across their leaders, then down. Empty for other kinds, and for a tree of one leaf.
// Who leads: the root, where it is among a cluster's members; else the member that is nearest to all those outside of it.
//   family  this algorithm wherever it is applicable; empty: at each place the one that costs least there
//   bytes   of one block
// Not verified.
Schedule compose_blocks(Kind kind, std::int32_t root, double bytes, const CostModel& model, const Cluster& tree, const std::string& family);

// Trees worth composing along, by what blocks of this size cost between their members; without those of one leaf.
std::vector<Cluster> block_trees(const CostModel& model, double bytes);

}  // namespace fermata
#endif
