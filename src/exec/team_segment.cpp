#include "exec/team_segment.hpp"

#include <string.h>

#include <bit>

#include "exec/blocks.hpp"

namespace fermata::exec {

Status TeamSegment::check() {
  if (bytes() < sizeof(TeamHeader)) return Status::kMismatch;
  memcpy(&layout_, &header().layout, sizeof layout_);
  keep_copies();
  const TeamLayout& h = layout_;
  if (h.magic != kTeamMagic || h.version != kTeamVersion) return Status::kMismatch;
  if (h.bytes != bytes() || h.members < 1 || h.members > kMaxTeamMembers) return Status::kMismatch;
  if (plans_offset(h.members) > bytes()) return Status::kMismatch;
  if (!covers(h.model, h.model_bytes) || !covers(h.refresh, h.refresh_bytes)) return Status::kMismatch;
  if (!(h.usable_cpus > 0)) return Status::kMismatch;
  if (h.wait > static_cast<std::uint32_t>(WaitKind::kPark) || h.stall_ns < 0) return Status::kMismatch;
  const bool has_places = h.places != 0;
  if (has_places == memory_.is_place()) return Status::kMismatch;
  if (has_places && (h.places % kMaxPage != 0 || h.places > bytes() ||
                     bytes() - h.places != round_up(sizeof(PlaceTable), kMaxPage)))
    return Status::kMismatch;
  if (h.rings == 0) return Status::kOk;
  TeamLayout blocks;
  blocks.members = h.members;
  blocks.hosts = h.hosts;
  if (h.members > kMostBlockMembers || h.rings > bytes() || h.rings % kMaxPage != 0) return Status::kMismatch;
  if (h.ring_lines > kMostLinesOverHosts || !std::has_single_bit(h.ring_lines)) return Status::kMismatch;
  const bool fits = lay_out_blocks(h.rings, h.ring_lines, blocks) == (has_places ? h.places : bytes());
  const bool same = blocks.ring_lines == h.ring_lines && blocks.in_quarter == h.in_quarter &&
                    blocks.heap == h.heap && blocks.heap_bytes == h.heap_bytes;
  return fits && same ? Status::kOk : Status::kMismatch;
}

void TeamSegment::wake_everybody() const {
  // Members that wait for a word or a published line park at doors in the regions. These are not woken here:
  // their parks have a time limit.
  const OsCalls with = calls();
  for (std::uint32_t r = 0; r < members(); ++r) fermata::wake<RealAtomics>(door(r), with);
}

Places TeamSegment::places() const {
  return {*reinterpret_cast<PlaceTable*>(base() + layout_.places), memory_.fd(), layout_.bytes};
}

Cpus TeamSegment::usable_cpus() const {
  std::uint32_t cpus = 0;
  for (const auto& word : header().cpus)
    // order: relaxed: a hint
    cpus += static_cast<std::uint32_t>(__builtin_popcountll(word.load(std::memory_order_relaxed)));
  if (cpus == 0) cpus = 1;
  return {cpus, os::within_quota(cpus)};
}

}  // namespace fermata::exec
