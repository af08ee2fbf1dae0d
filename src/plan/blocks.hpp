// Schedules of blocks of any size: choosing one, and compiling it to one block program per member
// (exec/block_program.hpp).
#ifndef FERMATA_PLAN_BLOCKS_HPP
#define FERMATA_PLAN_BLOCKS_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

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
  BlockProgram program;
};

// The program of `member`. Proves the schedule first, for operators that commute and associate but do not absorb repetition; whoever
// has proved it for the operator at hand shows the proof instead.
// Errors: kVerify; kArgument if there is no such member; kUnsupported for barriers, words and signals without data.
Result<CompiledBlocks> compile_blocks(const Schedule& schedule, std::int32_t member);
Result<CompiledBlocks> compile_blocks(const Schedule& schedule, std::int32_t member, Verified proof);

// The schedule of least predicted time (schedule/cost.hpp) among the table's, whole and pipelined, that is proved for `op`: with
// op.associative == false all members of an allreduce get the same bits, with op.commutative == false ranks fold in order.
//   block_bytes  of one block: what a member contributes or gets (of an irregular collective: the mean)
//   irregular    blocks differ in size, and those of gather, scatter and alltoall are known to their two ends only: there every
//                block goes straight from where it starts to where it ends
//   model        of at least `members`; nullptr: all pairs alike, as far apart as cores that share a cache
// Precondition: kind is no barrier, root a member; members at most kMaxAlltoallMembers for alltoall, else 1024 where the vector has a
// block per member. Then there always is one; beyond, the result has no chunks, which compile_blocks refuses.
Schedule choose_blocks(Kind kind, std::int32_t members, std::int32_t root, std::size_t block_bytes, bool irregular, OpTraits op,
                       const CostModel* model);

}  // namespace fermata
#endif
