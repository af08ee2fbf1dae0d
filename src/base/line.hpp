// Sizes of lines and pages. Fermata has its own constants for the line size:
// std::hardware_destructive_interference_size differs by target, and compilers warn about it in headers.
#ifndef FERMATA_BASE_LINE_HPP
#define FERMATA_BASE_LINE_HPP

#include <cstddef>
#include <cstdint>

namespace fermata {

// kMaxLine is an alignment that keeps two objects on different cache lines, on x86-64, POWER and most Arm
// machines. POWER has 128-byte lines; x86 prefetches pairs of 64-byte lines. The line size of a plan's slots
// is a field of the plan, 64 or 128.
inline constexpr std::size_t kMaxLine = 128;
inline constexpr std::size_t kMinLine = 64;

// Parts of a segment that are mapped on their own begin at multiples of kMaxPage. No base page of Linux on
// this architecture is larger: kernels for AArch64 and POWER may have pages of 64 KiB.
#if defined(__x86_64__)
inline constexpr std::size_t kMaxPage = 4096;
#else
inline constexpr std::size_t kMaxPage = 65536;
#endif

// The most slots of an edge of a plan. A sender of data whose receivers don't answer runs so many calls
// ahead.
inline constexpr std::uint32_t kMostSlots = 4096;

constexpr std::size_t round_up(std::size_t n, std::size_t unit) { return (n + unit - 1) / unit * unit; }

// Prefetches a line that the caller will write soon. It saves time and has no other effect; the address need
// not be valid. On x86 the compiler's builtin prefetches for reading, unless it compiles for CPUs with
// prefetchw. CPUs without prefetchw skip the instruction.
inline void fetch_to_write(const void* at) {
#if defined(__x86_64__)
  __asm__ __volatile__("prefetchw %0" ::"m"(*static_cast<const char*>(at)));
#else
  __builtin_prefetch(at, 1);
#endif
}

}  // namespace fermata
#endif
