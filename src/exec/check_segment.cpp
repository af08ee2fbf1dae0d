// Checks the whole segment of another process. Others can write to the segment, so each process copies the
// data that it checks, and uses the copies.
#include <string.h>

#include <bit>

#include "exec/ring_layout.hpp"
#include "exec/team.hpp"

namespace fermata::exec {
namespace {

// Keeps the compiler from reading the segment again in place of a copy: only the copy is checked.
void keep_copies() { asm volatile("" : : : "memory"); }

bool lies_within(std::uint64_t at, std::uint64_t length, std::uint64_t bytes) {
  return at <= bytes && length <= bytes - at;
}

}  // namespace

Status TeamPrograms::check() {
  const TeamLayout& h = segment_.layout();
  const std::uint64_t bytes = segment_.bytes();
  for (std::uint32_t i = 0; i < kPlanSlots; ++i) {
    const PlanEntry& entry = h.plans[i];
    if (entry.program == 0) continue;
    if (entry.program % kMaxLine != 0 || entry.regions % kMaxLine != 0) return Status::kMismatch;
    if (!lies_within(entry.program, sizeof(ProgramHeader), bytes) || entry.regions > bytes)
      return Status::kMismatch;
    ProgramHeader& program = headers_[i];
    const std::byte* const at = segment_.base() + entry.program;
    if (!program_is_sound(at, bytes - entry.program, &program) || program.members != h.members)
      return Status::kMismatch;
    if (!is_for(static_cast<PlanSlot>(i), program, h.tagged != 0)) return Status::kMismatch;
    if (h.hosts == 0 && leaves_host(at, program)) return Status::kMismatch;
    if (!lies_within(entry.regions, std::uint64_t{program.region_bytes} * program.regions, bytes))
      return Status::kMismatch;
  }
  return hash() == h.hash ? Status::kOk : Status::kMismatch;
}

Status HostTable::check(const TeamSegment& segment) {
  const TeamLayout& h = segment.layout();
  if (h.hosts == 0) return Status::kOk;
  const bool whole = h.hosts % sizeof(std::uint32_t) == 0 &&
                     lies_within(h.hosts, (h.members + 1) * sizeof(std::uint32_t), segment.bytes()) &&
                     h.window % kMaxLine == 0 && h.window >= plans_offset(h.members) &&
                     lies_within(h.window, regions_in_window(h.members), segment.bytes());
  if (!whole) return Status::kMismatch;
  const auto* const hosts = reinterpret_cast<const std::uint32_t*>(segment.base() + h.hosts);
  if (const Status copied = copy(hosts, h.members); copied != Status::kOk) return copied;
  keep_copies();
  for (std::uint32_t r = 0; r <= h.members; ++r)
    if (hosts_[r] >= h.members) return Status::kMismatch;
  return Status::kOk;
}

Status TeamSegment::check() {
  if (bytes() < sizeof(TeamHeader)) return Status::kMismatch;
  memcpy(&layout_, &header().layout, sizeof layout_);
  keep_copies();
  const TeamLayout& h = layout_;
  if (h.magic != kTeamMagic || h.version != kTeamVersion) return Status::kMismatch;
  if (h.bytes != bytes() || h.members < 1 || h.members > kMaxMembers) return Status::kMismatch;
  if (plans_offset(h.members) > bytes()) return Status::kMismatch;
  if (!lies_within(h.model, h.model_bytes, bytes()) || !lies_within(h.refresh, h.refresh_bytes, bytes()))
    return Status::kMismatch;
  if (!(h.usable_cpus > 0)) return Status::kMismatch;
  const bool has_places = h.places != 0;
  if (has_places == memory_.is_place()) return Status::kMismatch;
  if (has_places && (h.places % 4096 != 0 || h.places > bytes() ||
                     bytes() - h.places != round_up(sizeof(PlaceTable), 4096)))
    return Status::kMismatch;
  if (h.rings == 0) return Status::kOk;
  TeamLayout blocks;
  blocks.members = h.members;
  if (h.members > kMostBlockMembers || h.rings > bytes() || h.rings % 4096 != 0) return Status::kMismatch;
  if (h.ring_lines > kMostCrowdedLines || !std::has_single_bit(h.ring_lines)) return Status::kMismatch;
  const bool fits = lay_out_blocks(h.rings, h.ring_lines, blocks) == (has_places ? h.places : bytes());
  const bool same = blocks.ring_lines == h.ring_lines && blocks.in_quarter == h.in_quarter &&
                    blocks.heap == h.heap && blocks.heap_bytes == h.heap_bytes;
  return fits && same ? Status::kOk : Status::kMismatch;
}

}  // namespace fermata::exec
