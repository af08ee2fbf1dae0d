// Entries of a pool that may be used again: a stack without a lock, so that a child of fork finds it usable whatever other threads
// of its parent were doing. Entries are numbered from 1 and their memory stays what it is for ever, so a look at the successor of an
// entry that somebody else has taken meanwhile is harmless: the head's tag, which every pop moves on, makes the exchange fail.
//
// Source: R. K. Treiber, "Systems programming: coping with parallelism", IBM RJ 5118, 1986, with the tag of its section on ABA.
#ifndef FERMATA_ANONYMOUS_FREE_LIST_HPP
#define FERMATA_ANONYMOUS_FREE_LIST_HPP

#include <cstdint>

#include "sync/atomics.hpp"

namespace fermata::anonymous {

// Head: Atomic<std::uint64_t>, tag << 32 | first entry. next(entry) is that entry's Atomic<std::uint32_t>.
template <class A, class Head, class Next>
inline std::uint32_t pop_free(Head& head, Next&& next) {
  for (;;) {
    // order: acquire: the entry's successor, and what its last user left in it. Pairs with kPoolPush.
    const std::uint64_t seen = A::template load_acquire<Site::kPoolPop>(head);
    const auto entry = static_cast<std::uint32_t>(seen);
    if (entry == 0) return 0;
    const std::uint32_t successor = A::load_relaxed(next(entry));  // order: relaxed: acquired with the head
    // order: relaxed: what the next one pops was pushed by a release that this exchange only continues.
    if (A::compare_exchange_relaxed(head, seen, ((seen >> 32) + 1) << 32 | successor)) return entry;
  }
}

template <class A, class Head, class Next>
inline void push_free(Head& head, std::uint32_t entry, Next&& next) {
  for (;;) {
    const std::uint64_t seen = A::load_relaxed(head);  // order: relaxed: the exchange tells whether it was right
    // order: relaxed: the release below hands it over
    A::store_relaxed(next(entry), static_cast<std::uint32_t>(seen));
    // order: release: the successor, and what this user left in the entry. Pairs with kPoolPop.
    if (A::template compare_exchange_release<Site::kPoolPush>(head, seen, (seen >> 32) << 32 | entry)) return;
  }
}

}  // namespace fermata::anonymous
#endif
