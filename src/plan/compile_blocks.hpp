// Compiles schedules for blocks into one block program per member (exec/block_program.hpp).
#ifndef FERMATA_PLAN_COMPILE_BLOCKS_HPP
#define FERMATA_PLAN_COMPILE_BLOCKS_HPP

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "exec/block_program.hpp"
#include "schedule/schedule.hpp"
#include "schedule/verify.hpp"

namespace fermata {

// A member's program and its arrays. A move keeps the vectors' memory, so the program's pointers stay valid.
struct CompiledBlocks {
  CompiledBlocks() = default;
  CompiledBlocks(CompiledBlocks&&) = default;
  CompiledBlocks& operator=(CompiledBlocks&&) = default;

  std::vector<BlockStage> stages;
  std::vector<BlockTransfer> transfers;
  std::vector<BlockEdge> edges;
  std::uint32_t pieces = 1;  // pieces of each block, the same at all members
  BlockProgram program;
};

// Compiles the program of `member`. The first form proves the schedule. The proof relies on an operator that
// is associative and commutative, but not on an idempotent one: each contribution is folded exactly once. The
// second form is for callers that have proved it for their own operator.
// Errors: kVerify; kArgument if there is no such member; kUnsupported for barriers, shared counters
// (Schedule::words) and signals without data.
Result<CompiledBlocks> compile_blocks(const Schedule& schedule, std::int32_t member);
Result<CompiledBlocks> compile_blocks(const Schedule& schedule, std::int32_t member, Verified proof);

}  // namespace fermata
#endif
