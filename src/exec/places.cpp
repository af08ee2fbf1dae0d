#include "exec/places.hpp"

#include "base/line.hpp"
#include "os/os.hpp"
#include "sync/handover.hpp"

namespace fermata::exec {

// Room that is not used because the file may not grow is lost: there will be none later either.
Status Places::extend(std::uint64_t bytes, std::uint64_t* offset) {
  // order: relaxed: each has its own part
  *offset = own_bytes_ + table_.taken.fetch_add(bytes, std::memory_order_relaxed);
  return os::extend(fd_, *offset + bytes);
}

// With its turn: one of these bytes, else one that was never taken, else any, which then moves to where there is room for it.
Place* Places::free_place(std::uint64_t bytes) {
  for (const bool any : {false, true}) {
    for (Place& place : table_.places) {
      if (!place.turn.take()) continue;
      if (any || place.bytes == bytes || place.bytes == 0) return &place;
      place.turn.give(Turn<RealAtomics>::kFree);
    }
  }
  return nullptr;
}

Status Places::take(std::uint64_t bytes, std::uint64_t front, std::uint64_t* number, std::uint64_t* offset) {
  Place* const place = free_place(bytes);
  if (place == nullptr) return Status::kMemory;
  Status status = Status::kOk;
  if (place->bytes != bytes) {
    place->bytes = 0;
    status = extend(bytes, &place->offset);
    if (status == Status::kOk) place->bytes = bytes;
  }
  if (status == Status::kOk) status = os::take_memory(fd_, place->offset, front < bytes ? front : bytes);
  if (status != Status::kOk) {
    if (place->bytes != 0) os::give_memory(fd_, place->offset, place->bytes);
    place->turn.give(Turn<RealAtomics>::kFree);
    return status;
  }
  // order: relaxed: changed with the turn, and handed over below
  const std::uint32_t times = place->times.load(std::memory_order_relaxed) + 1;
  place->times.store(times, std::memory_order_relaxed);  // order: likewise
  *number = std::uint64_t{times} << 32 | static_cast<std::uint64_t>(place - table_.places);
  *offset = place->offset;
  // order: release, as kMove: who holds it sees what it is. Pairs with hold().
  RealAtomics::store_release<Site::kMove>(place->users, std::uint32_t{1});
  return Status::kOk;
}

bool Places::hold(std::uint64_t number, std::uint64_t* offset, std::uint64_t* bytes) {
  if (static_cast<std::uint32_t>(number) >= PlaceTable::kPlaces) return false;
  Place& place = at(number);
  for (;;) {
    const std::uint32_t users = place.users.load(std::memory_order_relaxed);  // order: relaxed: the exchange finds out
    if (users == 0) return false;
    // order: acquire, as kMovedRead: what the place is. Pairs with take().
    if (RealAtomics::compare_exchange_acquire<Site::kMovedRead>(place.users, users, users + 1)) break;
  }
  // order: relaxed: behind the exchange, and it stays as long as there are users
  if (place.times.load(std::memory_order_relaxed) != number >> 32) {
    drop(number);
    return false;
  }
  *offset = place.offset;
  *bytes = place.bytes;
  return true;
}

void Places::drop(std::uint64_t number) {
  Place& place = at(number);
  if (!drop_reference<RealAtomics>(place.users)) return;
  os::give_memory(fd_, place.offset, place.bytes);
  place.turn.give(Turn<RealAtomics>::kFree);
}

std::size_t Places::look_up(std::uint64_t key, void* bytes, std::size_t capacity) const {
  for (const Kept& kept : table_.kept) {
    if (moved_to<RealAtomics>(kept.key) != key) continue;  // the release is keep()'s
    if (bytes != nullptr && kept.bytes <= capacity && !os::read_at(fd_, kept.offset, bytes, kept.bytes)) return 0;
    return kept.bytes;
  }
  return 0;
}

void Places::keep(std::uint64_t key, const void* bytes, std::size_t length) {
  for (Kept& kept : table_.kept) {
    if (!kept.turn.take()) continue;
    std::uint64_t offset = 0;
    if (extend(round_up(length, 4096), &offset) != Status::kOk || !os::write_at(fd_, offset, bytes, length)) return;
    kept.offset = offset;
    kept.bytes = length;
    // order: release, as kMove: the bytes are there. Pairs with look_up().
    RealAtomics::store_release<Site::kMove>(kept.key, key);
    return;
  }
}

}  // namespace fermata::exec
