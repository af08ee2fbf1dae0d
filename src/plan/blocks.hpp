// Schedules of blocks of any size: choosing one, and compiling it to one block program per member
// (exec/block_program.hpp).
#ifndef FERMATA_PLAN_BLOCKS_HPP
#define FERMATA_PLAN_BLOCKS_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "algo/algorithm.hpp"
#include "base/kind.hpp"
#include "base/result.hpp"
#include "exec/block_program.hpp"
#include "schedule/cost.hpp"
#include "schedule/schedule.hpp"
#include "schedule/verify.hpp"

namespace fermata {

// A member's program and what it points into; moving keeps the vectors' memory, so the program stays valid.
struct CompiledBlocks {
  CompiledBlocks() = default;
  CompiledBlocks(CompiledBlocks&&) = default;
  CompiledBlocks& operator=(CompiledBlocks&&) = default;

  std::vector<BlockStage> stages;
  std::vector<BlockTransfer> transfers;
  std::vector<BlockEdge> edges;
  std::uint32_t pieces = 1;  // that a block is cut into, at all members
  BlockProgram program;
};

// The program of `member`. Proves the schedule first, for operators that commute and associate but do not absorb repetition; whoever
// has proved it for the operator at hand shows the proof instead.
// Errors: kVerify; kArgument if there is no such member; kUnsupported for barriers, words and signals without data.
Result<CompiledBlocks> compile_blocks(const Schedule& schedule, std::int32_t member);
Result<CompiledBlocks> compile_blocks(const Schedule& schedule, std::int32_t member, Verified proof);

// Blocks of different sizes: are those known to a block's two ends only? Of the others all members know all.
constexpr bool hidden_sizes(Kind kind) { return kind == Kind::kGather || kind == Kind::kScatter || kind == Kind::kAlltoall; }

// A collective on blocks, of which a schedule is wanted.
struct BlockCase {
  Kind kind = Kind::kBroadcast;
  std::int32_t members = 1;
  std::int32_t root = 0;
  std::size_t bytes = 1;   // of one block: what a member contributes or gets (of an irregular collective: the mean)
  bool irregular = false;  // blocks differ in size: where their sizes are hidden every block goes straight from where it starts to where
                           // it ends
  OpTraits op;             // with associative == false all members of an allreduce get the same bits, with commutative == false ranks
                           // fold in order
};

// A schedule that could do it: an algorithm of the table, or several along a tree of clusters; whole, or cut into segments.
struct BlockCandidate {
  std::string name;    // "ring*8": the algorithm as spelled, and into how many segments it is cut; "ring/linear (2 x 4)": along a tree
  double ns = 0;       // predicted, from the last arrival to the last departure
  double path_ns = 0;  // the same if memory were never short
  // Stages and transfers between two members, those between hosts twice: they are another process's and the network's work, too.
  std::size_t steps = 0;
  const Algorithm* algorithm = nullptr;  // of the table; else it is number `composed` of the compositions
  std::int32_t degree = 2, segments = 1;
  std::size_t composed = 0;
};

// All pairs alike, as far apart as cores that share a cache.
CostModel flat_model(std::int32_t members);

// All of them, by predicted time (schedule/cost.hpp). The same model gives the same order everywhere.
class BlockChooser {
 public:
  // model: of as many members; nullptr: flat_model.
  BlockChooser(const BlockCase& wanted, const CostModel* model);

  // Cheapest first; of equals the simpler, and where calls overlap (rooted collectives) that is as far as one is worth a longer path
  // than another. Not verified yet: hundreds of schedules of many members at once would fill the memory.
  const std::vector<BlockCandidate>& ranked() const { return ranked_; }
  Schedule build(const BlockCandidate& candidate) const;

 private:
  Request request(std::int32_t degree) const;
  void predict(const Schedule& schedule, BlockCandidate& candidate) const;
  void consider_table();
  void consider_compositions();
  void consider(const Schedule& schedule, BlockCandidate candidate);
  void cut(const Schedule& schedule, BlockCandidate& best) const;

  BlockCase wanted_;
  CostModel model_;
  bool straight_;
  std::vector<Schedule> composed_;
  std::vector<BlockCandidate> ranked_;
};

// The first of the ranked that is proved for wanted.op; the one whose name has the hash `preferred` (plan/block_model.hpp) before all.
// Precondition: kind is no barrier, root a member; members at most kMaxAlltoallMembers for alltoall, else 1024 where the vector has a
// block per member. Then there always is one; beyond, the result has no chunks, which compile_blocks refuses.
Schedule choose_blocks(const BlockCase& wanted, const CostModel* model, std::uint64_t preferred = 0);

}  // namespace fermata
#endif
