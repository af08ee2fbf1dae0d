// Copies a long piece past the caches, with non-temporal stores. These write whole lines to memory.
//
// An ordinary store waits until the line is in the writer's own cache. If another CPU has read the line, that
// takes as long as a signal, and few stores wait at the same time. Between CPUs without a common cache, a
// stream of blocks of 8 MiB is ten times as fast past the caches, and one of 4 KiB four times
// (bench/results/README.md).
#ifndef FERMATA_SYNC_STREAM_HPP
#define FERMATA_SYNC_STREAM_HPP

#include <cstddef>
#include <cstring>

#include "base/line.hpp"
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace fermata {

#if defined(__x86_64__)
inline constexpr bool kCanPassCaches = true;
#else
inline constexpr bool kCanPassCaches = false;
#endif

// The least bytes for which the copy pays. It ends with a fence, which takes 0.2 us.
inline constexpr std::size_t kPastCachesFrom = 4096;

// Precondition: `to` begins at a line. A thread that acquires a later release store of the caller's sees the
// copy.
inline void copy_past_caches(std::byte* to, const std::byte* from, std::size_t bytes) {
#if defined(__x86_64__)
  const std::size_t lines = bytes / kMinLine;
  for (std::size_t i = 0; i < lines; ++i, to += kMinLine, from += kMinLine) {
    const auto* const at = reinterpret_cast<const __m128i*>(from);
    auto* const out = reinterpret_cast<__m128i*>(to);
    const __m128i a = _mm_loadu_si128(at), b = _mm_loadu_si128(at + 1);
    const __m128i c = _mm_loadu_si128(at + 2), d = _mm_loadu_si128(at + 3);
    _mm_stream_si128(out, a);
    _mm_stream_si128(out + 1, b);
    _mm_stream_si128(out + 2, c);
    _mm_stream_si128(out + 3, d);
  }
  bytes %= kMinLine;
  // order: the stores above come before the caller's later stores; a release store alone does not order them.
  _mm_sfence();
#endif
  std::memcpy(to, from, bytes);
}

}  // namespace fermata
#endif
