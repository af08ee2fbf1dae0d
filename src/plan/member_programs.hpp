// The steps of each member's program, from a schedule whose edges have addresses. What compile() is made of.
#ifndef FERMATA_PLAN_MEMBER_PROGRAMS_HPP
#define FERMATA_PLAN_MEMBER_PROGRAMS_HPP

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "exec/program.hpp"
#include "plan/layout.hpp"
#include "plan/plan.hpp"
#include "schedule/verify.hpp"

namespace fermata {

using Program = std::vector<Step>;
using Credited = std::set<std::pair<std::int32_t, std::int32_t>>;  // (stage, transfer): slots that are written when a credit allows it

struct MemberPrograms {
  std::vector<Program> programs;
  std::uint32_t bytes = 0;  // of a region
};

// Error: kUnsupported where a member's ways through its words would need more than kMostBranchedSteps steps.
inline constexpr std::size_t kMostBranchedSteps = 65536;
Result<MemberPrograms> member_programs(const Plan& plan, const Schedule& schedule, const Placed& placed, const Credited& credited);

// compile() without its proofs: what tests execute to see that what is refused does fail. Preconditions: check_structure, and all that
// compile() asks of a plan besides. hazards: what credits are for, as reuse_hazards has them.
Result<std::vector<std::byte>> assemble(const Plan& plan, const std::vector<Hazard>& hazards);

}  // namespace fermata
#endif
