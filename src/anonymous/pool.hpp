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

// What all entries of a pool have in common: their size, and where in them the PoolLink lies.
struct PoolLayout {
  std::size_t bytes;
  std::size_t link;
};

// In static storage, without a constructor to run: zeros are an empty pool.
class Pool {
 public:
  // Null: no memory.
  std::byte* take(const PoolLayout& layout);
  void give_back(const PoolLayout& layout, std::byte* memory);

 private:
  static constexpr std::uint32_t kFirst = 32;  // entries of the first chunk; each later one has twice as many
  static constexpr std::uint32_t kChunks = 27;

  PoolLink& link(const PoolLayout& layout, std::uint32_t entry);
  std::byte* place(const PoolLayout& layout, std::uint32_t entry);  // null: no memory for its chunk

  std::atomic<std::uint64_t> free_{0};
  std::atomic<std::uint32_t> made_{0};
  std::atomic<std::byte*> chunks_[kChunks]{};
};

}  // namespace fermata::anonymous
#endif
