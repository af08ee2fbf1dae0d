// Memory that threads and forked processes see alike: one anonymous shared mapping, handed out in order,
// zeroed, never taken back before the subject ends. Addresses are equal in all members, so rivals with
// pointers inside work too.
#ifndef FERMATA_BENCH_ARENA_HPP
#define FERMATA_BENCH_ARENA_HPP

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <utility>

#include "base/line.hpp"

namespace fermata::bench {

class Arena {
 public:
  explicit Arena(std::size_t bytes) : bytes_(bytes) {
    void* mapped =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped != MAP_FAILED) base_ = static_cast<std::byte*>(mapped);
  }
  ~Arena() {
    if (base_ != nullptr) munmap(base_, bytes_);
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Starts on a line of its own. Throws std::bad_alloc when the mapping is used up.
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
};

}  // namespace fermata::bench
#endif
