// Built-in programs: what runs where no planner is and none has left a plan behind. Placement-free, and byte for byte what the
// planner's compiler makes of the same algorithm in the same layout (tests/unit/ranked compares the two). Like every program they are
// proved when a team is created.
#ifndef FERMATA_EXEC_BUILTIN_HPP
#define FERMATA_EXEC_BUILTIN_HPP

#include <cstdint>

#include "base/kind.hpp"
#include "exec/program.hpp"

namespace fermata::exec {

enum class Builtin : std::uint8_t {
  kDissemination,  // barrier: log2(P) stages, everybody sends and awaits one signal in each
  kCounter,        // barrier: one word that all add to and poll
  kComplete,       // allreduce: everybody's data to everybody, folded in rank order
  kLinear,         // allreduce: through member 0, which folds in rank order
  kButterfly,      // allreduce of two, which exchange: complete without a slot to oneself
};

struct BuiltinPlan {
  Builtin algorithm = Builtin::kDissemination;
  std::uint32_t members = 1;
  std::uint32_t payload = 0;  // 0, 8 or 56
  bool packed = true;         // else private lines
  std::uint32_t slots = 1;
  std::uint32_t line = 64;
  std::uint32_t pauses = 1;

  bool is_barrier() const { return algorithm == Builtin::kDissemination || algorithm == Builtin::kCounter; }
};

// The barrier for `members` threads of which `cpus` can run at once: where members outnumber CPUs each turn on a CPU is a switch,
// and one word needs the fewest turns.
BuiltinPlan builtin_barrier(std::uint32_t members, std::uint32_t cpus);
// payload: 8 or 56.
BuiltinPlan builtin_allreduce(std::uint32_t members, std::uint32_t payload);

// The compiled program, to be freed with free(); null: no memory, or its slots would exceed 2 GiB.
ProgramHeader* make_builtin(const BuiltinPlan& plan);

}  // namespace fermata::exec
#endif
