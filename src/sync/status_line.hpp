// The protocol of status lines. A member describes its calls in its status line. Other members read it,
// mostly after a long wait. There is one writer, which never waits for readers, and any number of readers.
//
// A Line has these atomics:
// - `sequence`: 2 x the number of the newest call, + 1 once that call is over;
// - `calls[]`: the descriptors of the last calls, by call number modulo the array's length;
// - `state`.
#ifndef FERMATA_SYNC_STATUS_LINE_HPP
#define FERMATA_SYNC_STATUS_LINE_HPP

#include <cstdint>

#include "sync/atomics.hpp"

namespace fermata {

// How many calls' descriptors are stored; a power of two.
template <class Line>
inline constexpr std::uint64_t kCallsKept = sizeof(Line::calls) / sizeof(Line::calls[0]);

template <class A, class Line>
[[gnu::always_inline]] inline void say_call(Line& line, std::uint64_t number, std::uint64_t call) {
  // order: release: a reader of this descriptor sees the previous call's number. Pairs with kCallRead.
  A::template store_release<Site::kCallText>(line.calls[number % kCallsKept<Line>], call);
  // order: release: a reader of the number sees its descriptor. Pairs with kCallLook.
  A::template store_release<Site::kCallNumber>(line.sequence, number * 2);
}

template <class A, class Line>
[[gnu::always_inline]] inline void say_over(Line& line, std::uint64_t number) {
  // order: relaxed: no reader relies on it; the release of the next descriptor or of kLeft publishes it.
  A::store_relaxed(line.sequence, number * 2 + 1);
}

template <class A, class Line>
inline void say_state(Line& line, std::uint32_t state) {
  // order: release: a reader that sees that this member has left sees its last finished call; a reader that
  // sees that it has joined sees its process. Pairs with kLeftRead.
  A::template store_release<Site::kLeft>(line.state, state);
}

// Read this before newest_call(): then the call number of a member that has left is its last.
template <class A, class Line>
inline std::uint32_t state_of(const Line& line) {
  // order: acquire: the number that is read later is at least the last call's. Pairs with kLeft.
  return A::template load_acquire<Site::kLeftRead>(line.state);
}

// Returns 2 x the number of the newest known call, + 1 if that call is over.
template <class A, class Line>
inline std::uint64_t newest_call(const Line& line) {
  // order: acquire: the descriptors read next are at least as new. Pairs with kCallNumber.
  return A::template load_acquire<Site::kCallLook>(line.sequence);
}

// What a reader finds: the call's descriptor is known, the call has not begun, or its descriptor may have
// been overwritten. kForgotten also stands for call 0, which no member makes.
enum class Recalled : std::uint8_t { kKnown, kYetToCome, kForgotten };

// If the call is known, `call` becomes its descriptor, else an arbitrary value.
template <class A, class Line>
inline Recalled recall(const Line& line, std::uint64_t number, std::uint64_t& call) {
  if (number == 0) return Recalled::kForgotten;
  if (newest_call<A>(line) / 2 < number) return Recalled::kYetToCome;
  // order: acquire: if it is a later call's descriptor, the number read next is larger. Pairs with kCallText.
  call = A::template load_acquire<Site::kCallRead>(line.calls[number % kCallsKept<Line>]);
  // The call kCallsKept later overwrites the descriptor, before it writes its number.
  // order: relaxed: the acquire above keeps it after the descriptor.
  return A::load_relaxed(line.sequence) / 2 + 1 < number + kCallsKept<Line> ? Recalled::kKnown
                                                                            : Recalled::kForgotten;
}

}  // namespace fermata
#endif
