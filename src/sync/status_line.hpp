// The protocol of status lines: what a member says of its calls, for those who have waited long. One writer, which never
// waits for its readers, and any number of readers.
//
// A Line has atomics `sequence` (2 x number of the call, + 1 once it is over), `call` (its descriptor) and `state`.
#ifndef FERMATA_SYNC_STATUS_LINE_HPP
#define FERMATA_SYNC_STATUS_LINE_HPP

#include <cstdint>

#include "sync/atomics.hpp"

namespace fermata {

template <class A, class Line>
[[gnu::always_inline]] inline void say_call(Line& line, std::uint64_t number, std::uint64_t call) {
  // order: release: who sees this descriptor sees that the call before is over. Pairs with kCallRead.
  A::template store_release<Site::kCallText>(line.call, call);
  // order: release: who sees the number sees its descriptor. Pairs with kCallLook.
  A::template store_release<Site::kCallNumber>(line.sequence, number * 2);
}

template <class A, class Line>
[[gnu::always_inline]] inline void say_over(Line& line, std::uint64_t number) {
  // order: relaxed: nothing is read on the strength of it; the next descriptor's release, or leaving, puts it before them.
  A::store_relaxed(line.sequence, number * 2 + 1);
}

template <class A, class Line>
inline void say_state(Line& line, std::uint32_t state) {
  // order: release: who sees this member gone sees which call it had finished; who sees it joined, its process. Pairs with
  // kLeftRead.
  A::template store_release<Site::kLeft>(line.state, state);
}

// Read before read_call() by those who judge a member that has left by the calls that it made.
template <class A, class Line>
inline std::uint32_t state_of(const Line& line) {
  // order: acquire: the number read later is at least that of the last call. Pairs with kLeft.
  return A::template load_acquire<Site::kLeftRead>(line.state);
}

struct CallSeen {
  std::uint64_t sequence = 0;
  std::uint64_t call = 0;
  bool stable = false;  // `call` is the descriptor of `sequence`, if that call is not over
};

template <class A, class Line>
inline CallSeen read_call(const Line& line) {
  CallSeen seen;
  // order: acquire: the descriptor read next is at least as new. Pairs with kCallNumber.
  seen.sequence = A::template load_acquire<Site::kCallLook>(line.sequence);
  // order: acquire: if it is a later call's, the number read next has moved on. Pairs with kCallText.
  seen.call = A::template load_acquire<Site::kCallRead>(line.call);
  // order: relaxed: the acquire above keeps it behind.
  seen.stable = A::load_relaxed(line.sequence) == seen.sequence;
  return seen;
}

}  // namespace fermata
#endif
