#include "api/kept.hpp"

#include "sync/atomics.hpp"
#include "sync/handover.hpp"

namespace fermata::kept {
namespace {

static_assert(sizeof(KeptCell) % alignof(std::max_align_t) == 0);
std::atomic<std::uint64_t> serials{0};

KeptCell* cell_of(void* object) {
  return reinterpret_cast<KeptCell*>(static_cast<std::byte*>(object) - sizeof(KeptCell));
}

}  // namespace

// Call it with the mutex held. take_all() gives the newest cell first, so the list is reversed.
void KeptPool::collect() {
  KeptCell* newest = nullptr;
  KeptCell* first = nullptr;
  for (KeptCell* cell = take_all<RealAtomics, KeptCell>(handed_in_); cell != nullptr;) {
    // order: relaxed: only this thread has the cell
    KeptCell* const before = cell->next.load(std::memory_order_relaxed);
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

void* KeptPool::take(std::size_t bytes) {
  KeptCell* cell = nullptr;
  if (const std::unique_lock lock(mutex_, std::try_to_lock); lock) {
    collect();
    if (resting_ > kResting) {
      cell = oldest_;
      oldest_ = cell->next.load(std::memory_order_relaxed);  // order: relaxed: under the mutex
      --resting_;
    }
  }
  if (cell == nullptr) cell = new (::operator new(sizeof(KeptCell) + bytes)) KeptCell{};
  // order: relaxed: only the number matters
  cell->serial.store(serials.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return cell + 1;
}

void KeptPool::give(void* object) {
  KeptCell* const cell = cell_of(object);
  cell->serial.store(0, std::memory_order_relaxed);  // order: as serial_of() says
  hand_in<RealAtomics>(handed_in_, cell);
}

}  // namespace fermata::kept
