// Makes the steps of each member's program from a schedule whose edges have addresses. compile_lines() uses
// it.
#ifndef FERMATA_PLAN_LINE_PROGRAMS_HPP
#define FERMATA_PLAN_LINE_PROGRAMS_HPP

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "exec/program.hpp"
#include "plan/layout.hpp"
#include "plan/plan.hpp"
#include "schedule/verify.hpp"

namespace fermata {

// Returns why one of these hazards remains with credits every `credit_batch` episodes (0: no credits), or why
// there can be no such credits. Empty: neither. A credit tells the sender that a slot was read and may be
// written again. Words have no credits, so a hazard of a transfer into a word always remains.
std::string flaw_of_reuse(const Schedule& schedule, const Layouts& layouts,
                          const std::vector<Hazard>& hazards, std::int32_t credit_batch);

using Program = std::vector<Step>;
using Credited = std::set<std::pair<std::int32_t, std::int32_t>>;  // (stage, transfer) that needs credits

struct LinePrograms {
  std::vector<Program> programs;
  std::uint32_t bytes = 0;  // of a region, which holds the slots of all members (exec/program.hpp)
};

// schedule: plan.schedule, or the same for another root (lift()), to which `placed` belongs.
// Error: kUnsupported, if a member's program must be branched (line_programs.cpp) and then needs more than
// kMostBranchedSteps steps (a few more may pass).
inline constexpr std::size_t kMostBranchedSteps = 65536;
Result<LinePrograms> line_programs(const Plan& plan, const Schedule& schedule, const Placed& placed,
                                   const Credited& credited);

// Does what compile_lines() does, without proofs. Tests use it to execute plans that compile_lines() refuses,
// and to see that they fail. Preconditions: check_structure holds, and so do the conditions that
// compile_lines() checks before its proofs. hazards: the result of reuse_hazards. These transfers get
// credits, unless plan.credit_batch is 0.
Result<std::vector<std::byte>> assemble(const Plan& plan, const std::vector<Hazard>& hazards);

}  // namespace fermata
#endif
