// Copies whole words, with one load and one store each.
//
// A load that is wider than the store before it waits until that store has left the store buffer. If another
// CPU has the line, this takes as long as moving the line. Vectorized copies of a payload just written would
// make each allreduce that much slower. So the compiler must not merge these accesses.
#ifndef FERMATA_BASE_WORD_HPP
#define FERMATA_BASE_WORD_HPP

#include <cstdint>
#include <cstring>

namespace fermata {

// Hides the value's source from the compiler, so that the compiler cannot merge words into vectors.
inline std::uint64_t opaque(std::uint64_t v) {
  __asm__("" : "+r"(v));
  return v;
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

inline void copy_words(void* to, const void* from, std::uint32_t words) {
  for (std::uint32_t i = 0; i < words; ++i) {
    std::uint64_t v;
    std::memcpy(&v, static_cast<const unsigned char*>(from) + i * 8, 8);
    v = opaque(v);
    std::memcpy(static_cast<unsigned char*>(to) + i * 8, &v, 8);
  }
}

// Copies whole words, then the rest of less than 8 bytes.
inline void copy_bytes(void* to, const void* from, std::uint32_t bytes) {
  copy_words(to, from, bytes / 8);
  const std::uint32_t done = bytes / 8 * 8;
  if (done < bytes)
    std::memcpy(static_cast<unsigned char*>(to) + done, static_cast<const unsigned char*>(from) + done,
                bytes - done);
}

}  // namespace fermata
#endif
