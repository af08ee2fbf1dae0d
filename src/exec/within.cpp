// Teams in another team's file. Their segments are places in that file, and their members lock bytes of it.
// The owner of the file is called `ground` here.
#include <stdlib.h>

#include "exec/team.hpp"

namespace fermata::exec {

Places Team::places() const {
  return {*reinterpret_cast<PlaceTable*>(base() + layout_.places), fd(), layout_.bytes};
}

Status Team::take_part(Team& segment_owner, std::size_t bytes, std::size_t front, SegmentPart* part) {
  Status status = segment_owner.places().take(bytes, front, &part->place, &part->offset);
  if (status != Status::kOk) return status;
  status = os::map_part(segment_owner.fd(), part->offset, bytes, &part->segment);
  if (status != Status::kOk) segment_owner.places().drop(part->place, part->offset, bytes);
  return status;
}

void Team::settle_in(Team& segment_owner, const SegmentPart& part) {
  segment_owner.retain();
  segment_owner_ = &segment_owner;
  place_ = part.place;
  offset_ = part.offset;
}

Status Team::attach_within(Team& neighbour, std::uint64_t place, WaitKind wait, std::int64_t stall_ns,
                           Team** out, const char** detail) {
  Team& segment_owner = neighbour.segment_owner();
  SegmentPart part;
  part.place = place;
  std::uint64_t bytes = 0;
  if (!segment_owner.places().hold(place, &part.offset, &bytes)) {
    *detail = "the team does not exist or has been destroyed";
    return Status::kArgument;
  }
  Status status = os::map_part(segment_owner.fd(), part.offset, bytes, &part.segment);
  Team* team = status == Status::kOk ? adopt(part.segment, wait, stall_ns) : nullptr;
  if (team == nullptr) {
    os::unmap(&part.segment);
    segment_owner.places().drop(place, part.offset, bytes);
    *detail = status == Status::kOk ? "malloc failed" : "mapping the team's memory failed";
    return Status::kMemory;
  }
  team->settle_in(segment_owner, part);
  team->shared_ = true;
  team->layout_.bytes = bytes;  // of the place: release() needs it even if the segment is not sound
  status = team->check_segment(detail);
  if (status != Status::kOk) {
    team->layout_.bytes = bytes;
    team->release();
    return status;
  }
  *out = team;
  return Status::kOk;
}

Status Team::hand_off(std::uint32_t rank, Team* made) {
  if (made != nullptr) made->retain();
  Team* before = made;
  {
    const os::ProcessLock lock;
    if (handoffs_ == nullptr && made != nullptr)
      handoffs_ = static_cast<Team**>(calloc(members_, sizeof *handoffs_));
    if (handoffs_ != nullptr) {
      before = handoffs_[rank];
      handoffs_[rank] = made;
    }
  }
  if (before != nullptr) before->release();
  return before != made || made == nullptr ? Status::kOk : Status::kMemory;
}

Team* Team::take_handoff(std::uint32_t rank) const {
  const os::ProcessLock lock;
  Team* const made = handoffs_ != nullptr ? handoffs_[rank] : nullptr;
  if (made != nullptr) made->retain();
  return made;
}

// A forked child's handle is a copy of its parent's and does not count as a user of the place. So each join
// in a child adds a user.
Status Team::claim(std::uint32_t rank, const char** detail) {
  std::uint64_t offset = 0, bytes = 0;
  const bool counts = segment_owner_ != nullptr && is_in_child();
  if (counts && !segment_owner_->places().hold(place_, &offset, &bytes)) {
    *detail = "all other processes have released the team, so this forked process cannot join it";
    return Status::kArgument;
  }
  const Status locked = os::lock_byte(fd(), lock_of(rank));
  if (locked == Status::kOk) return locked;
  if (counts) segment_owner_->places().drop(place_, offset_, layout_.bytes);
  *detail = "another process holds the lock of this rank";
  return locked;
}

void Team::disclaim(std::uint32_t rank) {
  os::unlock_byte(fd(), lock_of(rank));
  if (segment_owner_ != nullptr && is_in_child())
    segment_owner_->places().drop(place_, offset_, layout_.bytes);
}

}  // namespace fermata::exec
