// Memory that all members share: threads, forked processes, and processes started by another program. It is
// one shared mapping at the same address in all members, so rivals with internal pointers work, too.
// Allocations are zeroed and live until the subject ends.
#ifndef FERMATA_BENCH_ARENA_HPP
#define FERMATA_BENCH_ARENA_HPP

#include <cstddef>
#include <new>
#include <string>
#include <utility>

#include "base/line.hpp"

namespace fermata::bench {

class Arena {
 public:
  explicit Arena(std::size_t bytes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Text by which another process of the same user can `adopt` this arena, as long as the arena lives.
  std::string invitation() const;
  // Maps the arena of an invitation at its address, until the calling process ends. Returns "" or the reason.
  static std::string adopt(const std::string& invitation);

  // Starts on a line of its own. Throws std::bad_alloc if the mapping failed or is used up.
  void* allocate(std::size_t bytes) {
    const std::size_t at = round_up(used_, kMaxLine);
    if (base_ == nullptr || at + bytes > bytes_) throw std::bad_alloc();
    used_ = at + bytes;
    return base_ + at;
  }
  template <class T, class... Arguments>
  T* make(Arguments&&... arguments) {
    return ::new (allocate(sizeof(T))) T(std::forward<Arguments>(arguments)...);
  }
  template <class T>
  T* make_array(std::size_t count) {
    T* first = static_cast<T*>(allocate(sizeof(T) * count));
    for (std::size_t i = 0; i < count; ++i) ::new (first + i) T();
    return first;
  }

 private:
  std::byte* base_ = nullptr;
  std::size_t bytes_;
  std::size_t used_ = 0;
  int descriptor_ = -1;
};

}  // namespace fermata::bench
#endif
