// Copies up to a line's payload by whole words, with one load and one store each.
//
// A load that is wider than the store before it waits until that store has left the store buffer. If another
// CPU has the line, this takes as long as moving the line. Vectorized copies of a payload just written would
// make each allreduce that much slower. So the compiler must not merge these accesses.
//
// There are no loops: after a wait, CPUs often mispredict the end of a short loop (bench/results/README.md).
#ifndef FERMATA_BASE_WORD_HPP
#define FERMATA_BASE_WORD_HPP

#include <bit>
#include <cstdint>
#include <cstring>

namespace fermata {

// Hides the value's source from the compiler, so that the compiler cannot merge words into vectors.
inline std::uint64_t opaque(std::uint64_t v) {
  __asm__("" : "+r"(v));
  return v;
}

// The compiler merges no access before this with one after it.
inline void keep_apart() { __asm__ __volatile__("" ::: "memory"); }

// Hides which object it points to, since the compiler warns of words beyond the end in unrolled code.
inline const void* opaque(const void* p) {
  __asm__("" : "+r"(p));
  return p;
}

// Word i of the `bytes` bytes at `from`; zeros follow the last byte.
inline std::uint64_t word_at(const void* from, std::uint32_t i, std::uint32_t bytes) {
  std::uint64_t v = 0;
  const unsigned char* at = static_cast<const unsigned char*>(from) + i * 8;
  if (i * 8 + 8 <= bytes) [[likely]] {
    std::memcpy(&v, at, 8);
  } else if (i * 8 < bytes) {
    std::memcpy(&v, at, bytes - i * 8);
  }
  return opaque(v);
}

// The most words in a call of each_word(): a line's payload.
inline constexpr std::uint32_t kMostWords = 7;

// Calls f(i) for each i < words, from the last to the first. It is one jump into the calls; one word, the
// most frequent number, needs none. f must be always_inline.
template <class F>
[[gnu::always_inline]] inline void each_word(std::uint32_t words, F&& f) {
  if (words == 1) return f(0);
  switch (words) {
    case 7: f(6); [[fallthrough]];
    case 6: f(5); [[fallthrough]];
    case 5: f(4); [[fallthrough]];
    case 4: f(3); [[fallthrough]];
    case 3: f(2); [[fallthrough]];
    case 2: f(1); [[fallthrough]];
    case 1: f(0); [[fallthrough]];
    case 0: return;
    default: __builtin_unreachable();
  }
}

// The bytes after the last whole word of the `bytes` bytes at `from`; zeros follow them.
inline std::uint64_t last_part_of(const void* from, std::uint32_t bytes) {
  if (bytes < 8) return word_at(from, 0, bytes);
  std::uint64_t v;
  std::memcpy(&v, static_cast<const unsigned char*>(from) + bytes - 8, 8);
  const std::uint32_t bits = 64 - bytes % 8 * 8;
  return opaque(std::endian::native == std::endian::little ? v >> bits : v << bits);
}

// Calls f(i, word) for each word of the `bytes` bytes at `from`. Zeros follow the last byte. f must be
// always_inline.
template <class F>
[[gnu::always_inline]] inline void each_word_of(const void* from, std::uint32_t bytes, F&& f) {
  const std::uint32_t whole = bytes / 8;
  from = opaque(from);
  if (bytes % 8 != 0) [[unlikely]]
    f(whole, last_part_of(from, bytes));
  each_word(whole,
            [&](std::uint32_t i) __attribute__((always_inline)) { f(i, word_at(from, i, 8 * i + 8)); });
}

// Precondition: at most kMostWords words, and a rest of less than 8 bytes.
inline void copy_bytes(void* to, const void* from, std::uint32_t bytes) {
  const std::uint32_t whole = bytes / 8;
  auto* const at = static_cast<unsigned char*>(const_cast<void*>(opaque(to)));
  from = opaque(from);
  if (bytes % 8 != 0) [[unlikely]]
    std::memcpy(at + 8 * whole, static_cast<const unsigned char*>(from) + 8 * whole, bytes % 8);
  each_word(whole, [&](std::uint32_t i) __attribute__((always_inline)) {
    const std::uint64_t v = word_at(from, i, 8 * i + 8);
    std::memcpy(at + 8 * i, &v, 8);
  });
}

}  // namespace fermata
#endif
