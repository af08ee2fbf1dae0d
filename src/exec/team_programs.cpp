#include "exec/team_programs.hpp"

namespace fermata::exec {

bool is_for(PlanSlot slot, const ProgramHeader& program, bool tagged) {
  const SlotUse& wanted = kSlotUses[static_cast<std::uint32_t>(slot)];
  const bool carries = program.payload >=
                       static_cast<std::uint32_t>(slot == PlanSlot::kBarrier && tagged ? 8 : wanted.payload);
  return program.collective == static_cast<std::uint32_t>(wanted.collective) && carries &&
         (program.regions == program.members || (program.regions == 1 && !has_root(wanted.collective)));
}

void TeamPrograms::set(const void* const (&programs)[kPlanSlots]) {
  for (std::uint32_t i = 0; i < kPlanSlots; ++i)
    if (programs[i] != nullptr) headers_[i] = program_header(programs[i]);
}

// Other processes may have written over the steps since the check. So it also refuses steps that are sound
// but that this team cannot run.
std::uint32_t TeamPrograms::copy_steps(PlanSlot slot, std::uint32_t index, Step* to,
                                       std::uint32_t room) const {
  const std::uint32_t count = fermata::copy_steps(blob(slot), *header(slot), index, to, room);
  const bool folds = header(slot)->collective != static_cast<std::uint32_t>(Collective::kBroadcast);
  for (std::uint32_t i = 0; to != nullptr && i < count; ++i) {
    const Step& s = to[i];
    const bool leaves = s.code == Code::kSendAway || s.code == Code::kCreditGiveAway;
    if (leaves && segment_.layout().hosts == 0) return 0;
    if (!folds && (s.fold == Fold::kCombineLeft || s.fold == Fold::kCombineRight)) return 0;
  }
  return count;
}

std::byte* TeamPrograms::region(PlanSlot slot, std::uint32_t root) const {
  const ProgramHeader& p = headers_[static_cast<int>(slot)];
  const std::uint64_t index = p.regions == 1 ? 0 : root;
  return segment_.base() + entry(slot).regions + index * p.region_bytes;
}

std::uint64_t TeamPrograms::hash() const {
  std::uint64_t hash = segment_.members();
  for (std::uint32_t i = 0; i < kPlanSlots; ++i) {
    const auto slot = static_cast<PlanSlot>(i);
    if (header(slot) != nullptr) hash = with_plan(hash, program_hash(blob(slot), header(slot)->bytes));
  }
  return hash;
}

}  // namespace fermata::exec
