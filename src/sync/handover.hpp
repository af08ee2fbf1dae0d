// The small hand-overs beside the signals: a broken team, references, the count of those who have joined, the team
// that the members have moved on to, and what is handed in for others to use. What each release hands over is said at it.
#ifndef FERMATA_SYNC_HANDOVER_HPP
#define FERMATA_SYNC_HANDOVER_HPP

#include <cstdint>

#include "sync/atomics.hpp"

namespace fermata {

// What broke a team, and who: in one word, so that nobody sees the cause of one and the culprit of another.
struct Breach {
  std::uint32_t cause;    // 1..255
  std::uint32_t culprit;  // below 2^24; both 0: the team is whole
};

// True: it is the first, which stays.
template <class A, class Header>
inline bool break_once(Header& header, Breach breach) {
  // order: relaxed: all there is to see is the word.
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

// True for the last one, who may free what the references were to.
template <class A, class Count>
inline bool drop_reference(Count& count) {
  // order: acq_rel: releases this holder's uses, and the last one acquires all others'. Pairs with itself.
  return A::template sub_acq_rel<Site::kReferenceDrop>(count, std::uint32_t{1}) == 1;
}

// Likewise of a count that begins at 0, and is never set: how many there have been.
template <class A, class Count>
inline std::uint32_t drop_another(Count& count) {
  // order: as drop_reference()
  return 1 - A::template sub_acq_rel<Site::kReferenceDrop>(count, std::uint32_t{1});
}

template <class A, class Count>
inline bool have_dropped(const Count& count, std::uint32_t many) {
  // order: as references_are_gone()
  return 0 - A::template load_acquire<Site::kReferencesRead>(count) == many;
}

// For who keeps what the references are to, and uses it again.
template <class A, class Count>
inline bool references_are_gone(const Count& count) {
  // order: acquire: all holders' uses are over. Pairs with kReferenceDrop.
  return A::template load_acquire<Site::kReferencesRead>(count) == 0;
}

template <class A, class Count>
inline void count_joined(Count& joined) {
  // order: release: who counts this member sees what it published before. Pairs with kJoinedRead.
  A::template add_release<Site::kJoin>(joined, std::uint32_t{1});
}

template <class A, class Count>
inline std::uint32_t joined_so_far(const Count& joined) {
  // order: acquire: sees what each of them published. Pairs with kJoin.
  return A::template load_acquire<Site::kJoinedRead>(joined);
}

// False if others have moved already.
template <class A, class Pointer, class T>
inline bool move_once(Pointer& moved, T* to) {
  // order: release: who follows sees what is there. Pairs with kMovedRead.
  return A::template compare_exchange_release<Site::kMove>(moved, static_cast<T*>(nullptr), to);
}

// A stack that anybody hands in to at any time, and that one at a time empties: nobody waits, whatever the others are doing.
// Node: next, an Atomic<Node*>.
template <class A, class Top, class Node>
inline void hand_in(Top& top, Node* node) {
  for (;;) {
    Node* const seen = A::load_relaxed(top);  // order: relaxed: the exchange tells whether it was right
    A::store_relaxed(node->next, seen);       // order: relaxed: the release below hands it over
    // order: release: the node as its giver left it. Pairs with kTakeAll.
    if (A::template compare_exchange_release<Site::kHandIn>(top, seen, node)) return;
  }
}

// The newest first; null if there are none.
template <class A, class Node, class Top>
inline Node* take_all(Top& top) {
  for (;;) {
    Node* const seen = A::load_relaxed(top);  // order: relaxed: the exchange tells whether it was right
    // order: acquire: the nodes as their givers left them. Pairs with kHandIn.
    if (seen == nullptr || A::template compare_exchange_acquire<Site::kTakeAll>(top, seen, static_cast<Node*>(nullptr))) return seen;
  }
}

template <class A, class Pointer>
inline auto moved_to(const Pointer& moved) {
  // order: acquire: sees what is there. Pairs with kMove.
  return A::template load_acquire<Site::kMovedRead>(moved);
}

}  // namespace fermata
#endif
