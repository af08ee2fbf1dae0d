// Biased lock: protects data that almost always the same thread uses. While no other thread may use the data,
// the lock is kBiased and that thread neither takes nor releases it. Otherwise each thread takes the lock,
// uses the data and releases the lock.
#ifndef FERMATA_SYNC_BIASED_LOCK_HPP
#define FERMATA_SYNC_BIASED_LOCK_HPP

#include <cstdint>

#include "sync/atomics.hpp"

namespace fermata {

template <class A>
class BiasedLock {
 public:
  static constexpr std::uint32_t kFree = 0;
  static constexpr std::uint32_t kLocked = 1;
  static constexpr std::uint32_t kBiased = 2;

  // Sets the initial state, before other threads know of the lock.
  void init(std::uint32_t word) {
    A::store_relaxed(word_, word);  // order: relaxed: no other thread knows of the lock yet
  }

  bool is_biased() const {
    // order: acquire: sees what the last holder did. Pairs with kBiasedUnlock.
    return A::template load_acquire<Site::kBiasedLock>(word_) == kBiased;
  }

  // Does not wait. `locked` is kLocked for all users of the lock. Or it is a number above kBiased for all of
  // them: kBiased + the fork generation. Then a lock that holds another number above kBiased counts as free,
  // because its holder did not survive the fork.
  bool try_lock(std::uint32_t locked = kLocked) {
    // order: relaxed: the exchange below detects a stale value
    const std::uint32_t now = A::load_relaxed(word_);
    if (now == locked || now == kBiased) return false;
    // order: acquire: sees what the last holder did. Pairs with kBiasedUnlock.
    return A::template compare_exchange_acquire<Site::kBiasedLock>(word_, now, locked);
  }

  // `word` is kFree or kBiased.
  void unlock(std::uint32_t word) {
    // order: release: the next holder sees what was done here. Pairs with kBiasedLock.
    A::template store_release<Site::kBiasedUnlock>(word_, word);
  }

 private:
  typename A::template Atomic<std::uint32_t> word_{};
};

}  // namespace fermata
#endif
