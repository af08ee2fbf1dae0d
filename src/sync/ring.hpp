// Ring buffer: carries any number of pieces from one writer to one reader. It has `slots` slots. Each slot's
// header says which piece is in it. A credit says up to which piece the reader has read, as it last told.
// Pieces are numbered from 1 and the numbers never wrap.
//
// The writer may write piece n once the credit has reached piece n - slots. The reader gives credit each time
// it has read half of the slots, or at once if the writer may wait until that piece is read. So a credit for
// which the writer waits never depends on a piece that the writer has not written yet.
#ifndef FERMATA_SYNC_RING_HPP
#define FERMATA_SYNC_RING_HPP

#include <cstdint>

#include "sync/atomics.hpp"

namespace fermata {

template <class A>
struct Ring {
  using Counter = typename A::template Atomic<std::uint64_t>;

  // Returns true if piece `number` may be written. `credit_seen` is the writer's copy of the credit.
  static bool may_write(const Counter& credit, std::uint64_t& credit_seen, std::uint64_t number,
                        std::uint64_t slots) {
    return was_read(credit, credit_seen, number > slots ? number - slots : 0);
  }

  // Returns true if the credit says that the reader has read piece `number` and all pieces before it. Without
  // credit it returns false, even if they were read.
  static bool was_read(const Counter& credit, std::uint64_t& credit_seen, std::uint64_t number) {
    if (number <= credit_seen) return true;
    // order: acquire: the reader's reads happened before the writer writes there again. Pairs with
    // kCreditGive.
    const std::uint64_t seen = A::template load_acquire<Site::kCreditAwait>(credit);
    // A faulty reader may take credit back: what was free stays so.
    if (seen > credit_seen) credit_seen = seen;
    return number <= credit_seen;
  }

  static void publish(Counter& header, std::uint64_t number) {
    // order: release: a reader of this header sees the piece. Pairs with kSlotAwait.
    A::template store_release<Site::kSlotPublish>(header, number);
  }

  static bool has_come(const Counter& header, std::uint64_t number) {
    // order: acquire: the header is read before the piece. Pairs with kSlotPublish.
    return A::template load_acquire<Site::kSlotAwait>(header) == number;
  }

  // Called after piece `number` was read. Returns true if it wrote the credit.
  static bool give_credit(Counter& credit, std::uint64_t number, std::uint64_t slots, bool at_once) {
    if (!at_once && number % (slots > 1 ? slots / 2 : 1) != 0) return false;
    // order: release: after the reads of the pieces. Pairs with kCreditAwait.
    A::template store_release<Site::kCreditGive>(credit, number);
    return true;
  }
};

}  // namespace fermata
#endif
