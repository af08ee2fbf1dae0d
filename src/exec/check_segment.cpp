// Checks the whole segment of another process. Others can write to the segment, so each process copies the
// data that it checks, and uses the copies.
#include <stdlib.h>
#include <string.h>

#include <bit>

#include "exec/blocks.hpp"
#include "exec/segment_layout.hpp"
#include "exec/team.hpp"

namespace fermata::exec {
namespace {

// Keeps the compiler from reading the segment again in place of a copy: only the copy is checked.
void keep_copies() { asm volatile("" : : : "memory"); }

bool lies_within(std::uint64_t at, std::uint64_t length, std::uint64_t bytes) {
  return at <= bytes && length <= bytes - at;
}

}  // namespace

bool is_for(PlanSlot slot, const ProgramHeader& program, bool tagged) {
  const SlotUse& wanted = kSlotUses[static_cast<std::uint32_t>(slot)];
  const bool carries = program.payload >=
                       static_cast<std::uint32_t>(slot == PlanSlot::kBarrier && tagged ? 8 : wanted.payload);
  return program.collective == static_cast<std::uint32_t>(wanted.collective) && carries &&
         (program.regions == program.members || (program.regions == 1 && !has_root(wanted.collective)));
}

// Other processes may have written over the steps since the check. So it also refuses steps that are sound
// but that this team cannot run.
std::uint32_t Team::copy_steps(PlanSlot slot, std::uint32_t index, Step* to, std::uint32_t room) const {
  const std::uint32_t count = fermata::copy_steps(blob(slot), *program(slot), index, to, room);
  const bool folds = program(slot)->collective != static_cast<std::uint32_t>(Collective::kBroadcast);
  for (std::uint32_t i = 0; to != nullptr && i < count; ++i) {
    const Step& s = to[i];
    if (!is_over_hosts() && (s.code == Code::kSendAway || s.code == Code::kCreditGiveAway)) return 0;
    if (!folds && (s.fold == Fold::kCombineLeft || s.fold == Fold::kCombineRight)) return 0;
  }
  return count;
}

Status Team::check_programs() {
  std::uint64_t hash = layout_.members;
  for (std::uint32_t i = 0; i < kPlanSlots; ++i) {
    const PlanEntry& entry = layout_.plans[i];
    if (entry.program == 0) continue;
    if (entry.program % kMaxLine != 0 || entry.regions % kMaxLine != 0) return Status::kMismatch;
    if (!lies_within(entry.program, sizeof(ProgramHeader), segment_.bytes) || entry.regions > segment_.bytes)
      return Status::kMismatch;
    ProgramHeader& program = programs_[i];
    const std::byte* const at = segment_.base + entry.program;
    if (!program_is_sound(at, segment_.bytes - entry.program, &program) || program.members != layout_.members)
      return Status::kMismatch;
    if (!is_for(static_cast<PlanSlot>(i), program, layout_.tagged != 0)) return Status::kMismatch;
    if (layout_.hosts == 0 && leaves_host(at, program)) return Status::kMismatch;
    if (!lies_within(entry.regions, std::uint64_t{program.region_bytes} * program.regions, segment_.bytes))
      return Status::kMismatch;
    hash = with_plan(hash, program_hash(at, program.bytes));
  }
  return hash == layout_.hash ? Status::kOk : Status::kMismatch;
}

Status Team::check_hosts() {
  const TeamLayout& h = layout_;
  if (h.hosts == 0) return Status::kOk;
  const bool whole = h.hosts % sizeof(std::uint32_t) == 0 &&
                     lies_within(h.hosts, (h.members + 1) * sizeof(std::uint32_t), segment_.bytes) &&
                     h.window % kMaxLine == 0 && h.window >= plans_offset(h.members) &&
                     lies_within(h.window, regions_in_window(h.members), segment_.bytes);
  if (!whole) return Status::kMismatch;
  hosts_ = static_cast<std::uint32_t*>(malloc((h.members + 1) * sizeof *hosts_));
  if (hosts_ == nullptr) return Status::kMemory;
  memcpy(hosts_, segment_.base + h.hosts, (h.members + 1) * sizeof *hosts_);
  keep_copies();
  for (std::uint32_t r = 0; r <= h.members; ++r)
    if (hosts_[r] >= h.members) return Status::kMismatch;
  return Status::kOk;
}

Status Team::check_segment(const char** detail) {
  *detail = "this is not the segment of a team, or another version of Fermata created it";
  if (segment_.bytes < sizeof(TeamHeader)) return Status::kMismatch;
  memcpy(&layout_, &header().layout, sizeof layout_);
  keep_copies();
  const TeamLayout& h = layout_;
  if (h.magic != kTeamMagic || h.version != kTeamVersion) return Status::kMismatch;
  if (h.bytes != segment_.bytes || h.members < 1 || h.members > kMaxMembers) return Status::kMismatch;
  if (plans_offset(h.members) > segment_.bytes) return Status::kMismatch;
  for (const Status part : {check_programs(), check_hosts()})
    if (part != Status::kOk) return part;
  if (!lies_within(h.model, h.model_bytes, segment_.bytes) ||
      !lies_within(h.refresh, h.refresh_bytes, segment_.bytes))
    return Status::kMismatch;
  if (!(h.usable_cpus > 0)) return Status::kMismatch;
  const bool has_places = h.places != 0;
  if (has_places != (segment_owner_ == nullptr)) return Status::kMismatch;
  if (has_places && (h.places % 4096 != 0 || h.places > segment_.bytes ||
                     segment_.bytes - h.places != round_up(sizeof(PlaceTable), 4096)))
    return Status::kMismatch;
  if (h.rings != 0) {
    TeamLayout blocks;
    blocks.members = h.members;
    if (h.members > kMostBlockMembers || h.rings > segment_.bytes || h.rings % 4096 != 0)
      return Status::kMismatch;
    if (h.ring_lines > kMostCrowdedLines || !std::has_single_bit(h.ring_lines)) return Status::kMismatch;
    if (lay_out_blocks(h.rings, h.ring_lines, blocks) != (has_places ? h.places : segment_.bytes) ||
        blocks.ring_lines != h.ring_lines || blocks.in_quarter != h.in_quarter || blocks.heap != h.heap ||
        blocks.heap_bytes != h.heap_bytes)
      return Status::kMismatch;
  }
  members_ = h.members;
  *detail = "";
  return Status::kOk;
}

}  // namespace fermata::exec
