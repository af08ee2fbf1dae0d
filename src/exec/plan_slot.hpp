// Plan slots: which compiled plan of a team a call uses.
#ifndef FERMATA_EXEC_PLAN_SLOT_HPP
#define FERMATA_EXEC_PLAN_SLOT_HPP

#include <cstdint>

#include "base/collective.hpp"
#include "exec/program.hpp"

namespace fermata::exec {

// By its collective and, with data, whether 8 bytes hold the payload.
enum class PlanSlot : std::uint8_t {
  kBarrier = 0,
  kBroadcast8,
  kBroadcast56,
  kReduce8,
  kReduce56,
  kAllreduce8,
  kAllreduce56
};
inline constexpr std::uint32_t kPlanSlots = 7;
struct SlotUse {
  Collective collective;
  std::int32_t payload;  // bytes; a tagged team's barrier has 8
};
inline constexpr SlotUse kSlotUses[kPlanSlots] = {{Collective::kBarrier, 0},    {Collective::kBroadcast, 8},
                                                  {Collective::kBroadcast, 56}, {Collective::kReduce, 8},
                                                  {Collective::kReduce, 56},    {Collective::kAllreduce, 8},
                                                  {Collective::kAllreduce, 56}};
// True if calls of that slot can use this program.
bool is_for(PlanSlot slot, const ProgramHeader& program, bool tagged);

// A team's hash: the number of members, then each plan's hash in the order of PlanSlot.
inline std::uint64_t with_plan(std::uint64_t hash, std::uint64_t plan) {
  return (hash ^ plan) * 1099511628211u;
}

}  // namespace fermata::exec
#endif
