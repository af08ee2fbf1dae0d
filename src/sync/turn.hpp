// Biased lock: protects data that almost always the same thread uses. While no other thread may use the data,
// the lock is kAlone and that thread neither takes nor releases it. Otherwise each thread takes the lock,
// uses the data and releases the lock.
#ifndef FERMATA_SYNC_TURN_HPP
#define FERMATA_SYNC_TURN_HPP

#include <cstdint>

#include "sync/atomics.hpp"

namespace fermata {

template <class A>
class Turn {
 public:
  static constexpr std::uint32_t kFree = 0;
  static constexpr std::uint32_t kTaken = 1;
  static constexpr std::uint32_t kAlone = 2;

  // Sets the initial state, before other threads know of the lock.
  void set(std::uint32_t word) {
    A::store_relaxed(word_, word);  // order: relaxed: no other thread knows of the lock yet
  }

  bool is_alone() const {
    // order: acquire: sees what the last holder did. Pairs with kTurnGive.
    return A::template load_acquire<Site::kTurnTake>(word_) == kAlone;
  }

  // `taken` is kTaken, or a number above kAlone, such as kAlone + the fork generation. A lock that holds
  // another number above kAlone counts as free: its holder did not survive the fork.
  bool take(std::uint32_t taken = kTaken) {
    // order: relaxed: the exchange below detects a stale value
    const std::uint32_t now = A::load_relaxed(word_);
    if (now == taken || now == kAlone) return false;
    // order: acquire: sees what the last holder did. Pairs with kTurnGive.
    return A::template compare_exchange_acquire<Site::kTurnTake>(word_, now, taken);
  }

  // `word` is kFree or kAlone.
  void give(std::uint32_t word) {
    // order: release: the next holder sees what was done here. Pairs with kTurnTake.
    A::template store_release<Site::kTurnGive>(word_, word);
  }

 private:
  typename A::template Atomic<std::uint32_t> word_{};
};

}  // namespace fermata
#endif
