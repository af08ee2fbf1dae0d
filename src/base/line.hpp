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

}  // namespace fermata
#endif
