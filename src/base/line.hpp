// One line-size constant of our own: std::hardware_destructive_interference_size differs by target and warns in headers.
#ifndef FERMATA_BASE_LINE_HPP
#define FERMATA_BASE_LINE_HPP

#include <cstddef>

namespace fermata {

// Alignment that keeps two objects on different lines on every machine we know (POWER has 128-byte lines, x86 fetches
// pairs of 64-byte ones). The line size that a plan lays slots out with is a field of the plan, 64 or 128.
inline constexpr std::size_t kMaxLine = 128;
inline constexpr std::size_t kMinLine = 64;

constexpr std::size_t round_up(std::size_t n, std::size_t unit) { return (n + unit - 1) / unit * unit; }

// Asks for a line that will be written soon. Means nothing but time; the address need not be one. (The compiler's own asks on x86 only
// to read, unless it compiles for CPUs that know the instruction. The others skip it.)
inline void fetch_to_write(const void* at) {
#if defined(__x86_64__)
  __asm__ __volatile__("prefetchw %0" ::"m"(*static_cast<const char*>(at)));
#else
  __builtin_prefetch(at, 1);
#endif
}

}  // namespace fermata
#endif
