// Built-in programs, for libfermata-rt, which has no planner. Its barriers use them if they can use no stored
// plan, its allreduces always (api/rt/ranked.cpp). They assume no placement. The planner's compiler makes the
// same bytes from the same algorithm in the same layout (tests/unit/ranked compares the two). Like all
// programs they are proved when a team is created; a ranked barrier is one.
#ifndef FERMATA_EXEC_BUILTIN_HPP
#define FERMATA_EXEC_BUILTIN_HPP

#include <cstdint>

#include "base/collective.hpp"
#include "exec/program.hpp"

namespace fermata::exec {

enum class Builtin : std::uint8_t {
  // barrier: log2(P) stages, rounded up; each member sends and awaits one signal per stage
  kDissemination,
  kCounter,  // barrier: one word; all members add to it, and all but the last poll it
  // allreduce: every member sends to all others, and folds in rank order. Members other than rank 0 also send
  // to themselves.
  kComplete,
  // allreduce: through member 0, which folds in rank order
  kLinear,
  // allreduce: through member 0, along a binomial tree and back; neighbours fold first
  kBinomial,
  // allreduce of two members, which exchange: kComplete, but no member sends to itself
  kButterfly,
};

struct BuiltinPlan {
  Builtin algorithm = Builtin::kDissemination;
  std::uint32_t members = 1;
  std::uint32_t payload = 0;  // bytes: 0, 8 or 56
  // false: each slot has a cache line of its own
  bool packed = true;
  std::uint32_t slots = 1;   // of each signal, used in turn
  std::uint32_t line = 64;   // bytes
  std::uint32_t pauses = 1;  // CPU pauses between two reads

  bool is_barrier() const { return algorithm == Builtin::kDissemination || algorithm == Builtin::kCounter; }
};

// The barrier for `members` threads; `cpus` of them can run at once. If members outnumber CPUs, it is
// kCounter: context switches then cost most, and one word needs the fewest.
BuiltinPlan builtin_barrier(std::uint32_t members, std::uint32_t cpus);
// payload: 8 or 56.
BuiltinPlan builtin_allreduce(std::uint32_t members, std::uint32_t payload);
// An allreduce through member 0, which awaits all others before it sends anything (Member::collect()).
// Straight through it, or along a tree: the signals of more than a few members then overlap.
BuiltinPlan builtin_forkjoin(std::uint32_t members, bool tree = false);

// Returns the compiled program; free it with free(). Null: no memory, or the slots need more than 2 GiB.
ProgramHeader* make_builtin(const BuiltinPlan& plan);

}  // namespace fermata::exec
#endif
