// TeamPrograms: the compiled plans in a team's segment.
//
// Other processes may write over the programs at any time. The headers are copies, which check() has checked
// or the creator has set: they bound what is read. A member checks the steps again when it copies them.
#ifndef FERMATA_EXEC_TEAM_PROGRAMS_HPP
#define FERMATA_EXEC_TEAM_PROGRAMS_HPP

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "exec/program.hpp"
#include "exec/team_segment.hpp"

namespace fermata::exec {

class TeamPrograms {
 public:
  explicit TeamPrograms(const TeamSegment& segment) : segment_(segment) {}
  // For the creator, which has copied these programs into the segment. Null: the team has no such plan.
  void set(const void* const (&programs)[kPlanSlots]);
  // For others: copies the headers and checks the programs.
  Status check();

  // This process's copy of the header; null if this team has no such plan.
  const ProgramHeader* header(PlanSlot slot) const {
    return entry(slot).program == 0 ? nullptr : &headers_[static_cast<int>(slot)];
  }
  // The whole blob in the segment. Read it only within the bounds of header().
  const std::byte* blob(PlanSlot slot) const { return segment_.base() + entry(slot).program; }
  // Like fermata::copy_steps(). If `to` is not null, also refuses steps that this team cannot run. index:
  // rank, or root * members + rank for a rooted collective over several hosts.
  std::uint32_t copy_steps(PlanSlot slot, std::uint32_t index, Step* to, std::uint32_t room) const;
  // The plan's slots, words and doors in the segment. A rooted collective has a region for each root, one
  // after the other; this is root 0's. Others have one region for all calls.
  std::byte* region(PlanSlot slot) const { return segment_.base() + entry(slot).regions; }
  // The team's hash by what is in the segment now. A member that joins compares it with the hash that the
  // creator has stored.
  std::uint64_t hash() const;

 private:
  const PlanEntry& entry(PlanSlot slot) const { return segment_.layout().plans[static_cast<int>(slot)]; }

  const TeamSegment& segment_;
  ProgramHeader headers_[kPlanSlots];
};

}  // namespace fermata::exec
#endif
