// Handles that can be told from freed ones. The memory of a type's freed objects is used again for that type alone, the one that has rested
// longest first, and is never given back; so a handle used after it was freed is an error, not a crash, until kResting others were freed
// behind it.
#ifndef FERMATA_API_KEPT_HPP
#define FERMATA_API_KEPT_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>

// A namespace of its own, since a base's is looked up for every argument of its type.
namespace fermata::kept {

// What lies before each object.
struct KeptCell {
  std::atomic<std::uint64_t> serial;  // of the object, from 1; 0: it was freed
  std::atomic<KeptCell*> next;        // of those handed in, freed before this one; of those that rest, after it
};

class KeptPool {
 public:
  void* take(std::size_t bytes);
  void give(void* object);

 private:
  static constexpr std::size_t kResting = 64;
  void collect();

  std::atomic<KeptCell*> handed_in_{nullptr};  // freed, and not among those that rest yet
  // Whoever takes and finds it held does without: for ever in a child that was forked in such a moment.
  std::mutex mutex_;
  KeptCell* oldest_ = nullptr;
  KeptCell* newest_ = nullptr;
  std::size_t resting_ = 0;
};

// The first base of its T.
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
    static constinit KeptPool pool;  // nobody makes or destroys it: a fork may come meanwhile, and handles may be freed at exit
    return pool;
  }
};

// 0 for null and for what was freed.
template <class T>
std::uint64_t serial_of(const T* handle) {
  if (handle == nullptr) return 0;
  const auto* cell = reinterpret_cast<const KeptCell*>(reinterpret_cast<const std::byte*>(handle) - sizeof(KeptCell));
  return cell->serial.load(std::memory_order_relaxed);  // order: whoever uses a handle was told of it; a wrong use is found at best
}

}  // namespace fermata::kept
#endif
