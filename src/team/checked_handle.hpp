// Handles that can be told from freed ones (serial_of()). The memory of a freed object is used again only for
// the same type, and is never returned. The object that was freed first is used first. So a function that
// checks its handle sees that it was freed, at least until kResting more objects of its type have been freed.
#ifndef FERMATA_TEAM_CHECKED_HANDLE_HPP
#define FERMATA_TEAM_CHECKED_HANDLE_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>

// It has a namespace of its own, since a lookup by argument type also searches the namespace of a base class.
namespace fermata::checked {

// It is in memory before each object.
struct HandleCell {
  // Of the object, from 1; no two objects of the process have the same, whatever their type. 0: it was freed.
  std::atomic<std::uint64_t> serial;
  // In the list of handed-in cells, the cell that was freed before this one. In the list of resting cells,
  // the cell that was freed after it.
  std::atomic<HandleCell*> next;
};

class HandlePool {
 public:
  void* take(std::size_t bytes);
  void give(void* object);

 private:
  static constexpr std::size_t kResting = 64;
  void collect();

  std::atomic<HandleCell*> handed_in_{nullptr};  // freed, and not yet in the list of resting cells
  // take() only tries to lock it, and allocates new memory if another thread holds it. In a child that is
  // forked meanwhile, it stays locked for ever.
  std::mutex mutex_;
  HandleCell* oldest_ = nullptr;
  HandleCell* newest_ = nullptr;
  std::size_t resting_ = 0;
};

// Must be the first base of T.
template <class T>
class CheckedHandle {
 public:
  static void* operator new(std::size_t bytes) {
    static_assert(alignof(T) <= alignof(std::max_align_t));
    return pool().take(bytes);
  }
  static void operator delete(void* object) { pool().give(object); }

 private:
  static HandlePool& pool() {
    // It is neither constructed nor destroyed at run time: a fork could come during the construction, and
    // programs may free handles at exit.
    static constinit HandlePool pool;
    return pool;
  }
};

// 0 for a null or freed handle.
template <class T>
std::uint64_t serial_of(const T* handle) {
  if (handle == nullptr) return 0;
  const auto* cell =
      reinterpret_cast<const HandleCell*>(reinterpret_cast<const std::byte*>(handle) - sizeof(HandleCell));
  // order: relaxed: a correct caller has synchronized with the maker; a wrong use is detected at best effort
  return cell->serial.load(std::memory_order_relaxed);
}

}  // namespace fermata::checked
#endif
