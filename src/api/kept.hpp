// Checked handles: a use of a freed handle is an error, not a crash. The memory of a freed object is used
// again only for an object of the same type, and is never returned to the system. The object that was freed
// first is used first. So a freed handle is recognized until kResting more objects of its type were freed.
#ifndef FERMATA_API_KEPT_HPP
#define FERMATA_API_KEPT_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>

// It has a namespace of its own, since a lookup by argument type also searches the namespace of a base class.
namespace fermata::kept {

// It is in memory before each object.
struct KeptCell {
  std::atomic<std::uint64_t> serial;  // of the object, from 1; 0: it was freed
  // In the list of handed-in cells, the cell that was freed before this one. In the list of resting cells,
  // the cell that was freed after it.
  std::atomic<KeptCell*> next;
};

class KeptPool {
 public:
  void* take(std::size_t bytes);
  void give(void* object);

 private:
  static constexpr std::size_t kResting = 64;
  void collect();

  std::atomic<KeptCell*> handed_in_{nullptr};  // freed, and not yet in the list of resting cells
  // take() only tries to lock it, and allocates new memory if another thread holds it. In a child that is
  // forked meanwhile, it stays locked for ever.
  std::mutex mutex_;
  KeptCell* oldest_ = nullptr;
  KeptCell* newest_ = nullptr;
  std::size_t resting_ = 0;
};

// Must be the first base of T.
template <class T>
class Kept {
 public:
  static void* operator new(std::size_t bytes) {
    static_assert(alignof(T) <= alignof(std::max_align_t));
    return pool().take(bytes);
  }
  static void operator delete(void* object) { pool().give(object); }

 private:
  static KeptPool& pool() {
    // It is neither constructed nor destroyed at run time: a fork could come during the construction, and
    // programs may free handles at exit.
    static constinit KeptPool pool;
    return pool;
  }
};

// 0 for a null or freed handle.
template <class T>
std::uint64_t serial_of(const T* handle) {
  if (handle == nullptr) return 0;
  const auto* cell =
      reinterpret_cast<const KeptCell*>(reinterpret_cast<const std::byte*>(handle) - sizeof(KeptCell));
  // order: relaxed: a correct caller has synchronized with the maker; a wrong use is detected at best effort
  return cell->serial.load(std::memory_order_relaxed);
}

}  // namespace fermata::kept
#endif
