// Memory for barriers. It is never returned to the system, and never used for anything else. Otherwise a
// thread that is slow to leave a barrier could read other data: another thread may have destroyed the barrier
// meanwhile. New memory is zeroed; reused memory keeps its contents.
#ifndef FERMATA_ANONYMOUS_POOL_HPP
#define FERMATA_ANONYMOUS_POOL_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace fermata::anonymous {

// The pool's own part of each entry: the entry's number, and its successor while it is free.
struct PoolLink {
  std::atomic<std::uint32_t> next;
  std::uint32_t entry;
};

// The layout of all entries of a pool: their size, and the offset of the PoolLink in an entry.
struct PoolLayout {
  std::size_t bytes;
  std::size_t link;
};

// For static storage, without a constructor to run: zeros are an empty pool.
class Pool {
 public:
  // Returns null if memory has run out.
  std::byte* take(const PoolLayout& layout);
  void give_back(const PoolLayout& layout, std::byte* memory);

 private:
  // Entries of the first chunk. Each chunk has twice as many as the one before.
  static constexpr std::uint32_t kFirst = 32;
  static constexpr std::uint32_t kChunks = 27;

  PoolLink& link(const PoolLayout& layout, std::uint32_t entry);
  std::byte* place(const PoolLayout& layout, std::uint32_t entry);  // null: no memory for its chunk

  std::atomic<std::uint64_t> free_{0};  // the free entries (free_list.hpp)
  std::atomic<std::uint32_t> made_{0};
  std::atomic<std::byte*> chunks_[kChunks]{};
};

}  // namespace fermata::anonymous
#endif
