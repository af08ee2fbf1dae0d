// Sets of sizes, with one bit per power of two.
#ifndef FERMATA_BASE_SIZES_HPP
#define FERMATA_BASE_SIZES_HPP

#include <bit>
#include <cstddef>
#include <cstdint>

namespace fermata {

// Bit k stands for sizes from 2^k bytes to less than 2^(k+1).
struct Sizes {
  std::uint64_t bits = 0;
  // All sizes of 2^k bytes and more.
  static constexpr Sizes from(int k) { return {~std::uint64_t{0} << k}; }
  constexpr bool has(std::size_t bytes) const {
    return bytes != 0 && (bits >> (std::bit_width(bytes) - 1) & 1) != 0;
  }
  constexpr bool operator==(const Sizes&) const = default;
};

// Sizes of blocks for which single copy pays: the receiver reads directly from the sender's memory, instead
// of through a ring buffer. [1]: the sender moves nothing else meanwhile; [0]: it does. Between processes
// these sizes are measured, or FERMATA_CMA sets them. Between threads the cost model takes
// Direct::from(kLog2DirectFrom), and transfers compare with kDirectFrom alone (exec/block_program.hpp).
struct Direct {
  Sizes moved[2], folded[2];
  constexpr const Sizes (&of(bool folds) const)[2] { return folds ? folded : moved; }
  static constexpr Direct from(int k) {
    return {{Sizes::from(k), Sizes::from(k)}, {Sizes::from(k), Sizes::from(k)}};
  }
  constexpr bool operator==(const Direct&) const = default;
};

}  // namespace fermata
#endif
