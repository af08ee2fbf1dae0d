// Chooses schedules for blocks of any size.
#ifndef FERMATA_PLAN_CHOOSE_BLOCKS_HPP
#define FERMATA_PLAN_CHOOSE_BLOCKS_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "algo/algorithm.hpp"
#include "base/collective.hpp"
#include "schedule/cost.hpp"
#include "schedule/schedule.hpp"

namespace fermata {

// Members wait only for lower ranks, so calls overlap.
inline bool passes_on(Collective collective) {
  return collective == Collective::kScan || collective == Collective::kExscan;
}

// How a program calls scans over several hosts. A row has no other collective between them: their calls
// overlap, since no member waits for higher ranks, so the period counts. Calls that stand alone mostly begin
// at about the same time at all members, so the latency counts.
enum class Pattern : std::uint8_t { kUnknown, kAlone, kInRow };

// A collective on blocks that needs a schedule.
struct BlockCase {
  Collective collective = Collective::kBroadcast;
  std::int32_t members = 1;
  std::int32_t root = 0;
  std::size_t bytes = 1;  // of one block, which a member contributes or gets; irregular: the mean
  // Blocks differ in size. If hides_lengths(collective), each block then goes directly from the member that
  // has it to the member that gets it.
  bool irregular = false;
  // Not associative: all members of an allreduce get the same bits. Not commutative: contributions fold in
  // rank order.
  OpTraits op;
  Pattern pattern = Pattern::kUnknown;
};

// A candidate for the choice: an algorithm of the table, or several algorithms along a tree of clusters. Its
// chunks are whole, or cut into segments.
struct BlockCandidate {
  // "ring*8": the algorithm as spelled, and the number of segments; "ring/linear (2 x 4)": algorithms along a
  // tree.
  std::string name;
  double ns = 0;       // predicted, from the last arrival to the last departure
  double path_ns = 0;  // its critical path alone: without limits of memory and network, without fold_apart
  // The number of transfers between two members, and of stages that have such transfers, times `segments`. A
  // transfer between hosts counts twice: it is also work for another process and the network.
  std::size_t steps = 0;
  // Of scans over several hosts, unless they stand alone: predicted, a call of many back to back; else 0.
  double period_ns = 0;
  const Algorithm* algorithm = nullptr;  // of the table; null: a composition, number `composed`
  std::int32_t degree = 2, segments = 1;
  std::size_t composed = 0;
};

// Ranks all candidates by predicted time (schedule/cost.hpp). The same model gives the same order at every
// member.
class BlockChooser {
 public:
  // model: for the same number of members; nullptr: flat_model (plan/block_knowledge.hpp).
  BlockChooser(const BlockCase& wanted, const CostModel* model);

  // The cheapest one comes first, and among equal times the one with the shorter path. Exceptions, since
  // successive calls overlap:
  // - Rooted collectives: among the candidates near the cheapest, fewer steps come first.
  // - Scans, if members share CPUs: among all candidates, fewer steps come first.
  // - Scans over several hosts: in a row, by period; if the pattern is not known, by the worse of latency and
  //   period, each relative to the least one.
  // No candidate is verified yet. Only compositions are stored as schedules, since hundreds of schedules for
  // many members would fill the memory.
  const std::vector<BlockCandidate>& ranked() const { return ranked_; }
  Schedule build(const BlockCandidate& candidate) const;

 private:
  Request request(std::int32_t degree) const;
  double chunk_bytes(const Schedule& schedule) const;
  void predict(const Schedule& schedule, BlockCandidate& candidate) const;
  void sort_by_period();
  void consider_table();
  void consider_compositions();
  void consider(const Schedule& schedule, BlockCandidate candidate);
  void cut(const Schedule& schedule, BlockCandidate& best) const;

  BlockCase wanted_;
  CostModel model_;
  bool straight_;  // each block goes directly to its receiver (BlockCase::irregular)
  std::vector<Schedule> composed_;
  std::vector<BlockCandidate> ranked_;
};

// Returns the first ranked schedule that is proved for wanted.op. The candidate whose name has the hash
// `preferred` (plan/block_knowledge.hpp; 0: none) is tried first.
// Preconditions: collective is not a barrier; root is a member; there are at most kMostBlockMembers members
// (exec/block_program.hpp), or kMaxAlltoallMembers in an alltoall. Within these limits there is always a
// schedule. If there is none, the result has no chunks, and verify() refuses it.
Schedule choose_blocks(const BlockCase& wanted, const CostModel* model, std::uint64_t preferred = 0);

}  // namespace fermata
#endif
