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

Status TeamPrograms::check() {
  const TeamLayout& h = segment_.layout();
  const std::uint64_t bytes = segment_.bytes();
  for (std::uint32_t i = 0; i < kPlanSlots; ++i) {
    const PlanEntry& entry = h.plans[i];
    if (entry.program == 0) continue;
    if (entry.program % kMaxLine != 0 || entry.regions % kMaxLine != 0) return Status::kMismatch;
    if (!segment_.covers(entry.program, sizeof(ProgramHeader)) || entry.regions > bytes)
      return Status::kMismatch;
    ProgramHeader& program = headers_[i];
    const std::byte* const at = segment_.base() + entry.program;
    if (!program_is_sound(at, bytes - entry.program, &program) || program.members != h.members)
      return Status::kMismatch;
    if (!is_for(static_cast<PlanSlot>(i), program, h.tagged != 0)) return Status::kMismatch;
    if (h.hosts == 0 && leaves_host(at, program)) return Status::kMismatch;
    if (!segment_.covers(entry.regions, std::uint64_t{program.region_bytes} * program.regions))
      return Status::kMismatch;
  }
  return hash() == h.hash ? Status::kOk : Status::kMismatch;
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

std::uint64_t TeamPrograms::hash() const {
  std::uint64_t hash = segment_.members();
  for (std::uint32_t i = 0; i < kPlanSlots; ++i) {
    const auto slot = static_cast<PlanSlot>(i);
    if (header(slot) != nullptr) hash = with_plan(hash, program_hash(blob(slot), header(slot)->bytes));
  }
  return hash;
}

}  // namespace fermata::exec
