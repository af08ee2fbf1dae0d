// Teams in another team's file. Their segments are places in that file, and their members lock bytes of it.
// The owner of the file is called `ground` here.
#include <stdlib.h>

#include "exec/team.hpp"

namespace fermata::exec {

Places Team::places() const {
  return {*reinterpret_cast<PlaceTable*>(base() + layout_.places), fd(), layout_.bytes};
}

Status Team::take_lot(Team& ground, std::size_t bytes, std::size_t front, Lot* lot) {
  Status status = ground.places().take(bytes, front, &lot->place, &lot->offset);
  if (status != Status::kOk) return status;
  status = os::map_part(ground.fd(), lot->offset, bytes, &lot->segment);
  if (status != Status::kOk) ground.places().drop(lot->place, lot->offset, bytes);
  return status;
}

void Team::settle_in(Team& ground, const Lot& lot) {
  ground.retain();
  ground_ = &ground;
  place_ = lot.place;
  offset_ = lot.offset;
}

Status Team::attach_within(Team& neighbour, std::uint64_t place, WaitKind wait, std::int64_t stall_ns,
                           Team** out, const char** detail) {
  Team& ground = neighbour.ground();
  Lot lot;
  lot.place = place;
  std::uint64_t bytes = 0;
  if (!ground.places().hold(place, &lot.offset, &bytes)) {
    *detail = "the team does not exist or has been destroyed";
    return Status::kArgument;
  }
  Status status = os::map_part(ground.fd(), lot.offset, bytes, &lot.segment);
  Team* team = status == Status::kOk ? adopt(lot.segment, wait, stall_ns) : nullptr;
  if (team == nullptr) {
    os::unmap(&lot.segment);
    ground.places().drop(place, lot.offset, bytes);
    *detail = status == Status::kOk ? "malloc failed" : "mapping the team's memory failed";
    return Status::kMemory;
  }
  team->settle_in(ground, lot);
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
  const bool counts = ground_ != nullptr && is_in_child();
  if (counts && !ground_->places().hold(place_, &offset, &bytes)) {
    *detail = "all other processes have released the team, so this forked process cannot join it";
    return Status::kArgument;
  }
  const Status locked = os::lock_byte(fd(), lock_of(rank));
  if (locked == Status::kOk) return locked;
  if (counts) ground_->places().drop(place_, offset_, layout_.bytes);
  *detail = "another process holds the lock of this rank";
  return locked;
}

void Team::disclaim(std::uint32_t rank) {
  os::unlock_byte(fd(), lock_of(rank));
  if (ground_ != nullptr && is_in_child()) ground_->places().drop(place_, offset_, layout_.bytes);
}

}  // namespace fermata::exec
