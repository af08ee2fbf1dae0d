// Turn: at something that one thread works on at a time, almost always the same one. While nobody else may come it is left alone, and
// that thread takes no turn at all; else whoever works on it takes the turn, and gives it back.
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

  // What it is to begin with; before others know of it.
  void set(std::uint32_t word) {
    A::store_relaxed(word_, word);  // order: relaxed: see above
  }

  bool is_alone() const {
    // order: acquire: what the last one with a turn did is done. Pairs with kTurnGive.
    return A::template load_acquire<Site::kTurnTake>(word_) == kAlone;
  }

  // `taken`: kTaken, or a number above all of these that says what taken means now; another one left there means nothing any more.
  bool take(std::uint32_t taken = kTaken) {
    const std::uint32_t now = A::load_relaxed(word_);  // order: relaxed: the exchange finds out
    if (now == taken || now == kAlone) return false;
    // order: acquire: what the one before did is done. Pairs with kTurnGive.
    return A::template compare_exchange_acquire<Site::kTurnTake>(word_, now, taken);
  }

  // kFree, or kAlone.
  void give(std::uint32_t word) {
    // order: release: who comes next sees what was done here. Pairs with kTurnTake.
    A::template store_release<Site::kTurnGive>(word_, word);
  }

 private:
  typename A::template Atomic<std::uint32_t> word_{};
};

}  // namespace fermata
#endif
