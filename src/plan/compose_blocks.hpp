// Composes collectives on blocks along a tree of clusters with any number of levels: inside each cluster with
// its leader, and among the leaders.
#ifndef FERMATA_PLAN_COMPOSE_BLOCKS_HPP
#define FERMATA_PLAN_COMPOSE_BLOCKS_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "plan/cluster.hpp"
#include "schedule/cost.hpp"
#include "schedule/schedule.hpp"

namespace fermata {

// Composes as in hybrid-collectives-p7ih, section 4.2. Broadcast and scatter go down the tree, reduce and
// gather go up it. Allreduce, allgather and reduce_scatter go up to the children of the tree's root, then
// across their leaders, then down. The result is not verified. A collective's root leads each cluster that
// contains it, and the leader of a cluster leads the child that contains it. Any other child is led by its
// member that is nearest to the rest of its parent.
//
// An algorithm fits a place if it is applicable there, skipped() does not reject it, it is not serial, and it
// has no function `folding` (algo/algorithm.hpp). In broadcast, reduce and allreduce the vector is cut into
// chunks: their number is the least common multiple of the chunks that the algorithms need. The result is
// empty for barriers, alltoall and scans, for a tree of one leaf, if no algorithm fits one of the places, and
// if this number is above 1,024.
// - family: the algorithm for all places that it fits; empty: none. Other places get the cheapest algorithm
//   that fits.
// - bytes: of one block.
Schedule compose_blocks(Collective collective, std::int32_t root, double bytes, const CostModel& model,
                        const Cluster& tree, const std::string& family);

// Trees for compositions, clustered by the cost of blocks of this size. Trees of one leaf are left out.
std::vector<Cluster> block_trees(const CostModel& model, double bytes);

}  // namespace fermata
#endif
