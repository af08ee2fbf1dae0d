// The protocol of status lines: what a member says of its calls, for those who have waited long. One writer, which never
// waits for its readers, and any number of readers.
//
// A Line has atomics `sequence` (2 x number of the call, + 1 once it is over), `calls[]` (the descriptors of the last ones, by number) and
// `state`.
#ifndef FERMATA_SYNC_STATUS_LINE_HPP
#define FERMATA_SYNC_STATUS_LINE_HPP

#include <cstdint>

#include "sync/atomics.hpp"

namespace fermata {

// Calls whose descriptors are kept; a power of two.
template <class Line>
inline constexpr std::uint64_t kCallsKept = sizeof(Line::calls) / sizeof(Line::calls[0]);

template <class A, class Line>
[[gnu::always_inline]] inline void say_call(Line& line, std::uint64_t number, std::uint64_t call) {
  // order: release: who sees this descriptor sees that the call before was made. Pairs with kCallRead.
  A::template store_release<Site::kCallText>(line.calls[number % kCallsKept<Line>], call);
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

// Read before newest_call() by those who judge a member that has left by the calls that it made.
template <class A, class Line>
inline std::uint32_t state_of(const Line& line) {
  // order: acquire: the number read later is at least that of the last call. Pairs with kLeft.
  return A::template load_acquire<Site::kLeftRead>(line.state);
}

// 2 x number of the newest call that is known, + 1 if it is over.
template <class A, class Line>
inline std::uint64_t newest_call(const Line& line) {
  // order: acquire: the descriptors read next are at least as new. Pairs with kCallNumber.
  return A::template load_acquire<Site::kCallLook>(line.sequence);
}

// What is known of a call: its descriptor, that it is yet to come, or that it is no longer kept.
enum class Recalled : std::uint8_t { kKnown, kYetToCome, kForgotten };

// call: the descriptor, where it is known; else written over with anything.
template <class A, class Line>
inline Recalled recall(const Line& line, std::uint64_t number, std::uint64_t& call) {
  if (number == 0) return Recalled::kForgotten;
  if (newest_call<A>(line) / 2 < number) return Recalled::kYetToCome;
  // order: acquire: if it is a later call's, the number read next has moved on. Pairs with kCallText.
  call = A::template load_acquire<Site::kCallRead>(line.calls[number % kCallsKept<Line>]);
  // The call in whose place this one was comes kCallsKept later, and is written before its number is.
  // order: relaxed: the acquire above keeps it behind.
  return A::load_relaxed(line.sequence) / 2 + 1 < number + kCallsKept<Line> ? Recalled::kKnown : Recalled::kForgotten;
}

}  // namespace fermata
#endif
