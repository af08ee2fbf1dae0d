// TeamSegment: the segment of a team as this process sees it.
//
// Other processes can write anything into the segment. So all offsets come from layout(), a copy that check()
// has checked or the creator has set. Fields that change are read where they lie, and each reader copes with
// any value.
#ifndef FERMATA_EXEC_TEAM_SEGMENT_HPP
#define FERMATA_EXEC_TEAM_SEGMENT_HPP

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "exec/os_calls.hpp"
#include "exec/places.hpp"
#include "exec/segment_layout.hpp"
#include "exec/segment_memory.hpp"

namespace fermata::exec {

class TeamSegment {
 public:
  explicit TeamSegment(const SegmentMemory& memory) : memory_(memory) {}
  // For the creator, which has written this layout into the segment.
  void set_layout(const TeamLayout& layout) { layout_ = layout; }
  // For others: copies the layout and checks it, but not the programs and hosts.
  Status check();
  bool covers(std::uint64_t at, std::uint64_t length) const {
    return at <= bytes() && length <= bytes() - at;
  }
  // Keeps the compiler from reading the segment again in place of a copy: only the copy is checked.
  static void keep_copies() { asm volatile("" : : : "memory"); }

  SegmentMemory& memory() { return memory_; }
  const SegmentMemory& memory() const { return memory_; }
  std::byte* base() const { return memory_.base(); }
  std::uint64_t bytes() const { return memory_.bytes(); }
  const TeamLayout& layout() const { return layout_; }
  std::uint32_t members() const { return layout_.members; }

  // The fields that change; layout() has the others.
  TeamHeader& header() const { return *reinterpret_cast<TeamHeader*>(base()); }
  StatusLine& status(std::uint32_t rank) const {
    return reinterpret_cast<StatusLine*>(base() + statuses_offset())[rank];
  }
  DoorLine* doors() const { return reinterpret_cast<DoorLine*>(base() + doors_offset(members())); }
  Door<RealAtomics>& door(std::uint32_t rank) const { return doors()[rank].door; }
  OsCalls calls() const { return {.shared = memory_.is_shared()}; }
  // Wakes the members that park at their own doors. Members that park at the door of a shared word or of a
  // published line wake up by the time limit of their park (exec/waiter.hpp).
  void wake_everybody() const;
  // Only if the segment has a file of its own: it is neither anonymous memory nor a place in another
  // segment's file.
  Places places() const;
  // The CPUs that the members that have joined can use: the union of their affinities. At least 1.
  Cpus usable_cpus() const;

 private:
  SegmentMemory memory_;
  TeamLayout layout_;
};

}  // namespace fermata::exec
#endif
