// Memory for barriers that is never returned and never becomes anything else: a thread that is slow to leave a barrier which
// another one has destroyed still looks at a barrier's word. Zeroed when new; used again as it was left.
#ifndef FERMATA_ANONYMOUS_POOL_HPP
#define FERMATA_ANONYMOUS_POOL_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/status.hpp"

namespace fermata::anonymous {

// First in each entry's memory that is the pool's own: which one it is, and its successor while it is free.
struct PoolLink {
  std::atomic<std::uint32_t> next;
  std::uint32_t entry;
};

// Static storage only: a pool without its constructor run is an empty one.
class Pool {
 public:
  // `bytes` an entry; its PoolLink lies at `link`.
  constexpr Pool(std::size_t bytes, std::size_t link) : bytes_(bytes), link_(link) {}

  // Null: no memory.
  std::byte* take();
  void give_back(std::byte* memory);

 private:
  static constexpr std::uint32_t kFirst = 32;    // entries of the first chunk; each later one has twice as many
  static constexpr std::uint32_t kChunks = 27;

  PoolLink& link(std::uint32_t entry);
  std::byte* place(std::uint32_t entry);         // null: no memory for its chunk

  const std::size_t bytes_;
  const std::size_t link_;
  std::atomic<std::uint64_t> free_{0};
  std::atomic<std::uint32_t> made_{0};
  std::atomic<std::byte*> chunks_[kChunks]{};
};

}  // namespace fermata::anonymous
#endif
