// Ring: what one member sends another in pieces, any number of them. One writer and one reader; `slots` slots, each with a header that says
// which piece is in it, and a credit that says which piece was read last. Pieces count from 1 and never wrap.
//
// The writer may write piece n when piece n - slots was read; the reader gives credit in batches of at most half of the slots, or
// at once, when the writer waits for that very piece. So nobody waits for a credit that is being kept back.
#ifndef FERMATA_SYNC_RING_HPP
#define FERMATA_SYNC_RING_HPP

#include <cstdint>

#include "sync/atomics.hpp"

namespace fermata {

template <class A>
struct Ring {
  using Counter = typename A::template Atomic<std::uint64_t>;

  // May piece `number` be written? `credit_seen` is the writer's copy of the credit.
  static bool may_write(const Counter& credit, std::uint64_t& credit_seen, std::uint64_t number, std::uint64_t slots) {
    return was_read(credit, credit_seen, number > slots ? number - slots : 0);
  }

  // Has the reader read piece `number`, and all before?
  static bool was_read(const Counter& credit, std::uint64_t& credit_seen, std::uint64_t number) {
    if (number <= credit_seen) return true;
    // order: acquire: the reader's reads happened before what the writer does to their place now. Pairs with kCreditGive.
    credit_seen = A::template load_acquire<Site::kCreditAwait>(credit);
    return number <= credit_seen;
  }

  static void publish(Counter& header, std::uint64_t number) {
    // order: release: who reads this header sees the piece. Pairs with kSlotAwait.
    A::template store_release<Site::kSlotPublish>(header, number);
  }

  static bool has_come(const Counter& header, std::uint64_t number) {
    // order: acquire, before the piece is read. Pairs with kSlotPublish.
    return A::template load_acquire<Site::kSlotAwait>(header) == number;
  }

  // Piece `number` was read. True: the writer was told.
  static bool give_credit(Counter& credit, std::uint64_t number, std::uint64_t slots, bool at_once) {
    if (!at_once && number % (slots > 1 ? slots / 2 : 1) != 0) return false;
    // order: release: after the reads of the pieces. Pairs with kCreditAwait.
    A::template store_release<Site::kCreditGive>(credit, number);
    return true;
  }
};

}  // namespace fermata
#endif
