#include "exec/places.hpp"

#include "base/line.hpp"
#include "os/os.hpp"
#include "sync/handover.hpp"

namespace fermata::exec {

// If the file may not grow, this range is lost. That costs nothing: no later call could use the range either.
Status Places::extend(std::uint64_t bytes, std::uint64_t* offset) {
  // order: relaxed: each caller gets a range of its own
  const std::uint64_t taken = table_->taken.fetch_add(bytes, std::memory_order_relaxed);
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62;  // no file is larger
  if (taken > kMost || bytes > kMost || taken % kMaxPage != 0) return Status::kMemory;
  *offset = own_bytes_ + taken;
  return os::extend(fd_, *offset + bytes);
}

// Members can write any offset and length into the table. The file is sealed against shrinking, so a range
// that lies in the file now stays there.
bool Places::lies_there(std::uint64_t offset, std::uint64_t bytes) const {
  const std::uint64_t length = os::length_of(fd_);
  return bytes != 0 && offset >= own_bytes_ && offset % kMaxPage == 0 && offset <= length &&
         bytes <= length - offset;
}

// Returns a place and holds its lock. It prefers a place of this size or one that was never taken, then any.
// A place of another size gets a new range of the file.
Place* Places::free_place(std::uint64_t bytes) {
  for (const bool any : {false, true}) {
    for (Place& place : table_->places) {
      if (!place.lock.try_lock()) continue;
      if (any || place.bytes == bytes || place.bytes == 0) return &place;
      place.lock.unlock(BiasedLock<RealAtomics>::kFree);
    }
  }
  return nullptr;
}

Status Places::take(std::uint64_t bytes, std::uint64_t front, std::uint64_t* number, std::uint64_t* offset) {
  Place* const place = free_place(bytes);
  if (place == nullptr) return Status::kMemory;
  *offset = place->offset;
  Status status = Status::kOk;
  if (place->bytes != bytes || !lies_there(*offset, bytes)) status = extend(bytes, offset);
  place->offset = *offset;
  place->bytes = status == Status::kOk ? bytes : 0;
  if (status == Status::kOk) status = os::take_memory(fd_, *offset, front < bytes ? front : bytes);
  if (status != Status::kOk) {
    if (place->bytes != 0) os::give_memory(fd_, *offset, bytes);  // the range serves the next taker
    place->lock.unlock(BiasedLock<RealAtomics>::kFree);
    return status;
  }
  // order: relaxed: the lock is held, and the release below publishes it
  const std::uint32_t times = place->times.load(std::memory_order_relaxed) + 1;
  place->times.store(times, std::memory_order_relaxed);  // order: relaxed: as above
  *number = std::uint64_t{times} << 32 | static_cast<std::uint64_t>(place - table_->places);
  // order: release, as kMove: a process that holds the place sees its offset and size. Pairs with hold().
  RealAtomics::store_release<Site::kMove>(place->users, std::uint32_t{1});
  return Status::kOk;
}

bool Places::hold(std::uint64_t number, std::uint64_t* offset, std::uint64_t* bytes) {
  if (static_cast<std::uint32_t>(number) >= PlaceTable::kPlaces) return false;
  Place& place = at(number);
  for (;;) {
    // order: relaxed: the exchange checks it
    const std::uint32_t users = place.users.load(std::memory_order_relaxed);
    if (users == 0) return false;
    // order: acquire, as kMovedRead: the reads of the place's offset and size follow. Pairs with take().
    if (RealAtomics::compare_exchange_acquire<Site::kMovedRead>(place.users, users, users + 1)) break;
  }
  // order: relaxed: read after the exchange, and it does not change while there are users
  const bool same = place.times.load(std::memory_order_relaxed) == number >> 32;
  *offset = place.offset;
  *bytes = place.bytes;
  if (same && lies_there(*offset, *bytes)) return true;
  drop(number, *offset, same ? 0 : *bytes);
  return false;
}

void Places::drop(std::uint64_t number, std::uint64_t offset, std::uint64_t bytes) {
  Place& place = at(number);
  if (!drop_reference<RealAtomics>(place.users)) return;
  if (lies_there(offset, bytes)) os::give_memory(fd_, offset, bytes);
  place.lock.unlock(BiasedLock<RealAtomics>::kFree);
}

std::size_t Places::look_up(std::uint64_t key, void* bytes, std::size_t capacity) const {
  for (const CachedPlans& plans : table_->cached) {
    if (moved_to<RealAtomics>(plans.key) != key) continue;  // keep() stores the key with release
    const std::uint64_t length = plans.bytes, offset = plans.offset;
    if (length > PlaceTable::kMostCached || !lies_there(offset, length)) return 0;
    if (bytes != nullptr && length <= capacity && !os::read_at(fd_, offset, bytes, length)) return 0;
    return length;
  }
  return 0;
}

void Places::keep(std::uint64_t key, const void* bytes, std::size_t length) {
  for (CachedPlans& plans : table_->cached) {
    if (!plans.lock.try_lock()) continue;
    std::uint64_t offset = 0;
    if (extend(round_up(length, kMaxPage), &offset) != Status::kOk ||
        !os::write_at(fd_, offset, bytes, length))
      return;
    plans.offset = offset;
    plans.bytes = length;
    // order: release, as kMove: a reader that sees the key sees the bytes. Pairs with look_up().
    RealAtomics::store_release<Site::kMove>(plans.key, key);
    return;
  }
}

}  // namespace fermata::exec
