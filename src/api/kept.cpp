#include "api/kept.hpp"

#include "os/os.hpp"

namespace fermata::kept {
namespace {

static_assert(sizeof(KeptCell) % alignof(std::max_align_t) == 0);
std::atomic<std::uint64_t> serials{0};
constexpr int kTries = 1000;

KeptCell* cell_of(void* object) { return reinterpret_cast<KeptCell*>(static_cast<std::byte*>(object) - sizeof(KeptCell)); }

}  // namespace

void* KeptPool::take(std::size_t bytes) {
  KeptCell* cell = nullptr;
  if (std::unique_lock lock(mutex_, std::try_to_lock); lock && resting_ > kResting) {
    cell = oldest_;
    oldest_ = cell->next;
    --resting_;
  }
  if (cell == nullptr) cell = new (::operator new(sizeof(KeptCell) + bytes)) KeptCell{};
  // order: relaxed: a number, and no more
  cell->serial.store(serials.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return cell + 1;
}

void KeptPool::give(void* object) {
  KeptCell* cell = cell_of(object);
  cell->serial.store(0, std::memory_order_relaxed);  // order: as serial_of() says
  cell->next = nullptr;
  // Held for moments, but for ever in a child that was forked in such a moment: there the memory is never used again.
  for (int tries = 0; tries < kTries; ++tries, os::yield()) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) continue;
    (resting_ == 0 ? oldest_ : newest_->next) = cell;
    newest_ = cell;
    ++resting_;
    return;
  }
}

}  // namespace fermata::kept
