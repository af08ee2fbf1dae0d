#include "team/checked_handle.hpp"

#include "sync/atomics.hpp"
#include "sync/handover.hpp"

namespace fermata::checked {
namespace {

static_assert(sizeof(HandleCell) % alignof(std::max_align_t) == 0);
std::atomic<std::uint64_t> serials{0};

HandleCell* cell_of(void* object) {
  return reinterpret_cast<HandleCell*>(static_cast<std::byte*>(object) - sizeof(HandleCell));
}

}  // namespace

// Call it with the mutex held. take_all() gives the newest cell first, so the list is reversed.
void HandlePool::collect() {
  HandleCell* newest = nullptr;
  HandleCell* first = nullptr;
  for (HandleCell* cell = take_all<RealAtomics, HandleCell>(handed_in_); cell != nullptr;) {
    // order: relaxed: only this thread has the cell
    HandleCell* const before = cell->next.load(std::memory_order_relaxed);
    if (newest == nullptr) newest = cell;
    cell->next.store(first, std::memory_order_relaxed);  // order: as above
    first = cell;
    ++resting_;
    cell = before;
  }
  if (first == nullptr) return;
  if (oldest_ == nullptr) oldest_ = first;
  else newest_->next.store(first, std::memory_order_relaxed);  // order: as above
  newest_ = newest;
}

void* HandlePool::take(std::size_t bytes) {
  HandleCell* cell = nullptr;
  if (const std::unique_lock lock(mutex_, std::try_to_lock); lock) {
    collect();
    if (resting_ > kResting) {
      cell = oldest_;
      oldest_ = cell->next.load(std::memory_order_relaxed);  // order: relaxed: under the mutex
      --resting_;
    }
  }
  if (cell == nullptr) cell = new (::operator new(sizeof(HandleCell) + bytes)) HandleCell{};
  // order: relaxed: only the number matters
  cell->serial.store(serials.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return cell + 1;
}

void HandlePool::give(void* object) {
  HandleCell* const cell = cell_of(object);
  cell->serial.store(0, std::memory_order_relaxed);  // order: as serial_of() says
  hand_in<RealAtomics>(handed_in_, cell);
}

}  // namespace fermata::checked
