// Small protocols beside the signals:
// - the breach of a team;
// - reference counts, and the count of members that have joined;
// - a pointer to the object to which all threads move;
// - a stack of items for other threads.
// The comment at each release says what it publishes.
#ifndef FERMATA_SYNC_HANDOVER_HPP
#define FERMATA_SYNC_HANDOVER_HPP

#include <cstdint>

#include "sync/atomics.hpp"

namespace fermata {

// Why a team is broken, and which member caused it. Both are in one word, so no reader sees the cause of one
// breach with the culprit of another.
struct Breach {
  std::uint32_t cause;    // 1..255
  std::uint32_t culprit;  // 1 + that member's rank, below 2^24; 0: no member. Both 0: the team is whole
};

// Returns true if this breach is the first. Later ones change nothing.
template <class A, class Header>
inline bool break_once(Header& header, Breach breach) {
  // order: relaxed: readers use only the word itself.
  return A::compare_exchange_relaxed(header.breach, std::uint32_t{0}, breach.culprit << 8 | breach.cause);
}

template <class A, class Header>
inline Breach breach_of(const Header& header) {
  const std::uint32_t word = A::load_relaxed(header.breach);  // order: relaxed: as above
  return {word & 0xff, word >> 8};
}

template <class A, class Header>
inline bool is_broken(const Header& header) {
  return A::load_relaxed(header.breach) != 0;  // order: relaxed: as above
}

// Returns true for the last holder, which may free the object.
template <class A, class Count>
inline bool drop_reference(Count& count) {
  // order: acq_rel: releases this holder's uses, and the last holder acquires all others'. Pairs with itself.
  return A::template sub_acq_rel<Site::kReferenceDrop>(count, std::uint32_t{1}) == 1;
}

// For a count that starts at 0 and is never set. Returns how many references have been dropped, including
// this one.
template <class A, class Count>
inline std::uint32_t drop_another(Count& count) {
  // order: as drop_reference()
  return 1 - A::template sub_acq_rel<Site::kReferenceDrop>(count, std::uint32_t{1});
}

// For the same counts. Returns true if exactly `many` references have been dropped.
template <class A, class Count>
inline bool have_dropped(const Count& count, std::uint32_t many) {
  // order: as references_are_gone()
  return 0 - A::template load_acquire<Site::kReferencesRead>(count) == many;
}

// For an owner that keeps the object and uses it again.
template <class A, class Count>
inline bool references_are_gone(const Count& count) {
  // order: acquire: all holders have finished with the object. Pairs with kReferenceDrop.
  return A::template load_acquire<Site::kReferencesRead>(count) == 0;
}

template <class A, class Count>
inline void count_joined(Count& joined) {
  // order: release: a reader that counts this member sees what it published. Pairs with kJoinedRead.
  A::template add_release<Site::kJoin>(joined, std::uint32_t{1});
}

template <class A, class Count>
inline std::uint32_t joined_so_far(const Count& joined) {
  // order: acquire: sees what each counted member published. Pairs with kJoin.
  return A::template load_acquire<Site::kJoinedRead>(joined);
}

// Returns false if another thread came first.
template <class A, class Pointer, class T>
inline bool move_once(Pointer& moved, T* to) {
  // order: release: a thread that follows the pointer sees the object. Pairs with kMovedRead.
  return A::template compare_exchange_release<Site::kMove>(moved, static_cast<T*>(nullptr), to);
}

// A stack. Any thread may push at any time. The caller sees to it that one thread at a time takes everything.
// Pushes and takes never wait for another thread. Node has a member `next`, an Atomic<Node*>.
template <class A, class Top, class Node>
inline void hand_in(Top& top, Node* node) {
  for (;;) {
    Node* const seen = A::load_relaxed(top);  // order: relaxed: the exchange below detects a stale value
    A::store_relaxed(node->next, seen);       // order: relaxed: the release below publishes it
    // order: release: publishes the node with what its giver wrote. Pairs with kTakeAll.
    if (A::template compare_exchange_release<Site::kHandIn>(top, seen, node)) return;
  }
}

// Returns the items, the newest first, or null if there are none.
template <class A, class Node, class Top>
inline Node* take_all(Top& top) {
  for (;;) {
    Node* const seen = A::load_relaxed(top);  // order: relaxed: the exchange below detects a stale value
    // order: acquire: sees what the givers wrote to the nodes. Pairs with kHandIn.
    if (seen == nullptr ||
        A::template compare_exchange_acquire<Site::kTakeAll>(top, seen, static_cast<Node*>(nullptr)))
      return seen;
  }
}

// Returns the object to which all threads move, or null if there is none yet.
template <class A, class Pointer>
inline auto moved_to(const Pointer& moved) {
  // order: acquire: sees the object. Pairs with kMove.
  return A::template load_acquire<Site::kMovedRead>(moved);
}

}  // namespace fermata
#endif
