// The free entries of a pool: a stack without a lock. So a forked child can use it, whatever other threads of
// its parent were doing. Entries are numbered from 1, and their memory is never used for anything else. A
// thread may read the successor of an entry that another thread has taken meanwhile. This does no harm: each
// pop increases the tag in the head, so the exchange fails.
//
// Source: R. K. Treiber, "Systems programming: coping with parallelism", IBM RJ 5118, 1986, with the tag of
// its section on ABA.
#ifndef FERMATA_ANONYMOUS_FREE_LIST_HPP
#define FERMATA_ANONYMOUS_FREE_LIST_HPP

#include <cstdint>

#include "sync/atomics.hpp"

namespace fermata::anonymous {

// Head is an Atomic<std::uint64_t>: tag << 32 | first entry; entry 0: the list is empty. next(entry) is the
// Atomic<std::uint32_t> with the entry's successor.
template <class A, class Head, class Next>
inline std::uint32_t pop_free(Head& head, Next&& next) {
  for (;;) {
    // order: acquire: sees the entry's successor and what its last user wrote. Pairs with kPoolPush.
    const std::uint64_t seen = A::template load_acquire<Site::kPoolPop>(head);
    const auto entry = static_cast<std::uint32_t>(seen);
    if (entry == 0) return 0;
    const std::uint32_t successor = A::load_relaxed(next(entry));  // order: relaxed: acquired with the head
    // order: relaxed: this exchange continues the release sequence of the push from which the next pop
    // acquires.
    if (A::compare_exchange_relaxed(head, seen, ((seen >> 32) + 1) << 32 | successor)) return entry;
  }
}

template <class A, class Head, class Next>
inline void push_free(Head& head, std::uint32_t entry, Next&& next) {
  for (;;) {
    // order: relaxed: the exchange below detects a stale value
    const std::uint64_t seen = A::load_relaxed(head);
    // order: relaxed: the release below publishes it
    A::store_relaxed(next(entry), static_cast<std::uint32_t>(seen));
    // order: release: publishes the successor and what this user wrote in the entry. Pairs with kPoolPop.
    if (A::template compare_exchange_release<Site::kPoolPush>(head, seen, (seen >> 32) << 32 | entry)) return;
  }
}

}  // namespace fermata::anonymous
#endif
