#include "exec/segment_memory.hpp"

#include <stdlib.h>
#include <unistd.h>

namespace fermata::exec {

Status SegmentMemory::create(bool shared, std::size_t bytes, SegmentMemory* out) {
  if (!shared) return os::create_private(bytes, &out->mapping_);
  const Status status = os::create_shared("fermata", bytes, &out->mapping_);
  if (status == Status::kOk) out->file_ = os::identify(out->mapping_.fd);
  return status;
}

Status SegmentMemory::map_file(std::int32_t fd, SegmentMemory* out) {
  const Status status = os::map_shared(fd, &out->mapping_);
  if (status == Status::kOk) out->file_ = os::identify(fd);
  return status;
}

Status SegmentMemory::take_place(const Places& places, std::size_t bytes, std::size_t front,
                                 SegmentMemory* out) {
  out->places_ = places;
  const Status taken = out->places_.take(bytes, front, &out->place_, &out->offset_);
  return taken == Status::kOk ? out->map_part(bytes) : taken;
}

Status SegmentMemory::map_place(const Places& places, std::uint64_t place, SegmentMemory* out) {
  out->places_ = places;
  out->place_ = place;
  std::uint64_t bytes = 0;
  return out->places_.hold(place, &out->offset_, &bytes) ? out->map_part(bytes) : Status::kArgument;
}

Status SegmentMemory::map_part(std::uint64_t bytes) {
  const Status status = os::map_part(places_.fd(), offset_, bytes, &mapping_);
  if (status != Status::kOk) places_.drop(place_, offset_, bytes);
  return status;
}

void SegmentMemory::unmap() {
  const std::uint64_t bytes = mapping_.bytes;
  for (std::uint32_t i = 0; i < spares_; ++i) close(spare_[i]);
  free(spare_);
  os::unmap(&mapping_);
  if (is_place() && !is_in_child()) places_.drop(place_, offset_, bytes);
}

void SegmentMemory::keep(std::int32_t fd) {
  auto* more = static_cast<std::int32_t*>(realloc(spare_, (spares_ + 1) * sizeof *spare_));
  if (more == nullptr) return;  // then the descriptor stays open until the process ends
  spare_ = more;
  spare_[spares_++] = fd;
}

// A forked child's copy does not count as a user of the place. So each join in a child adds a user.
Status SegmentMemory::claim(std::uint32_t rank, const char** detail) {
  std::uint64_t offset = 0, bytes = 0;
  const bool counts = is_place() && is_in_child();
  if (counts && !places_.hold(place_, &offset, &bytes))
    return refuse(Status::kArgument,
                  "all other processes have released the team, so this forked process cannot join it",
                  detail);
  const Status locked = os::lock_byte(fd(), lock_of(rank));
  if (locked == Status::kOk) return locked;
  if (counts) places_.drop(place_, offset_, mapping_.bytes);
  return refuse(locked,
                locked == Status::kBusy ? "another process holds the lock of this rank"
                                        : "the kernel gives no lock on a byte of the segment",
                detail);
}

void SegmentMemory::disclaim(std::uint32_t rank) {
  os::unlock_byte(fd(), lock_of(rank));
  if (is_place() && is_in_child()) places_.drop(place_, offset_, mapping_.bytes);
}

}  // namespace fermata::exec
