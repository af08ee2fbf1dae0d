// Which of the program's private (not process-shared) barriers are Fermata's. The memory of entries is never
// freed nor moved, so that a tag may be checked against the table whatever the tag holds.
//
// Life of an entry: bind (init) -> looked up by each wait -> unbind (destroy) -> free list. Binding an
// address that has an entry recycles it: a program may initialize again without a destroy, or after it has
// overwritten the tag. One lock guards all changes. A forking thread holds it, so a child does not
// inherit it from another thread. A look-up takes no lock.
#ifndef FERMATA_PRELOAD_PTHREAD_TABLE_HPP
#define FERMATA_PRELOAD_PTHREAD_TABLE_HPP

#include <fermata/fermata.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tag.hpp"

namespace fermata::preload {

class Table {
 public:
  // The most barriers at a time; more stay the C library's. Their entries take 2 MiB of address space, of
  // which only the used part becomes memory.
  static constexpr std::uint32_t kCapacity = 65'536;

  struct Entry {
    std::atomic<const pthread_barrier_t*> address;  // null: free
    std::atomic<fermata_anonymous*> library;
    std::atomic<std::uint32_t> generation;  // how often it has been bound
    std::atomic<std::uint32_t> count;
    std::uint32_t next;  // in the bucket or the free list, as index + 1; under the lock
    std::uint32_t unused;
  };
  static_assert(sizeof(Entry) == 32);  // so none lies in two cache lines: the table begins on a page

  constexpr Table() = default;

  // The entry's index, below kCapacity.
  std::uint32_t place(const Entry& entry) const {
    // order: relaxed: the entry was found through it
    return static_cast<std::uint32_t>(&entry - entries_.load(std::memory_order_relaxed));
  }

  // Maps the table. Called once, before bind and unbind. Until then, find finds nothing. False: no memory.
  bool open();

  // Binds `barrier` for `count` arrivals per phase. False: the table is full, or Fermata has no memory for
  // it. The barrier then has no entry.
  bool bind(pthread_barrier_t* barrier, std::uint32_t count);
  // Removes the barrier's entry, if it has one.
  void unbind(pthread_barrier_t* barrier);

  // The barrier's entry; null: it is no private barrier of Fermata's. Its fields, except `next`, do not
  // change while a thread may wait.
  const Entry* find(const pthread_barrier_t* barrier) const {
    const Tag tag = read_tag(barrier);
    if (tag.magic != kMagic || tag.index >= kCapacity) return nullptr;
    // order: acquire, as kMovedRead (sync/atomics.hpp); pairs with the release in open
    const Entry* entries = entries_.load(std::memory_order_acquire);
    if (entries == nullptr) return nullptr;
    const Entry& entry = entries[tag.index];
    // order: acquire, as kMovedRead; pairs with the release in bind: the other fields belong to this address
    if (entry.address.load(std::memory_order_acquire) != barrier) return nullptr;
    // order: relaxed: ordered by the address
    return entry.generation.load(std::memory_order_relaxed) == tag.generation ? &entry : nullptr;
  }

 private:
  static constexpr std::uint32_t kBuckets = 16'384;

  std::uint32_t* bucket(const pthread_barrier_t* barrier);
  // the link that names the barrier's entry, or the 0 that ends its bucket
  std::uint32_t* slot_of(const pthread_barrier_t* barrier);
  std::uint32_t take();  // an unused entry as index + 1; 0: none

  std::atomic<Entry*> entries_{nullptr};
  std::uint32_t* buckets_ = nullptr;  // after the entries; under the lock, as are the fields below
  std::uint32_t free_ = 0;
  std::uint32_t used_ = 0;  // entries that have ever been used
};

}  // namespace fermata::preload
#endif
