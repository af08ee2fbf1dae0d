// Folds without vector types. fold_elements() folds elements first .. count - 1 one by one: those that
// vectors leave over, those of a part with a NaN, or all of them if there are no vectors. The compiler may
// vectorize the loops of Portable.
#ifndef FERMATA_KERNELS_SCALAR_HPP
#define FERMATA_KERNELS_SCALAR_HPP

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "base/element.hpp"

namespace fermata::kernels {

using Fold = void (*)(void* out, const void* const* inputs, std::size_t k, std::size_t count);

template <Op O, class T>
inline void fold_elements(void* out, const void* const* inputs, std::size_t k, std::size_t first,
                          std::size_t count) {
  const auto load = [&](std::size_t j, std::size_t i) {
    T value;
    std::memcpy(&value, static_cast<const unsigned char*>(inputs[j]) + i * sizeof(T), sizeof(T));
    return value;
  };
  for (std::size_t i = first; i < count; ++i) {
    T sum = load(0, i);
    for (std::size_t j = 1; j < k; ++j) sum = apply<O, T>(sum, load(j, i));
    std::memcpy(static_cast<unsigned char*>(out) + i * sizeof(T), &sum, sizeof(T));
  }
}

// A sum or product can be a NaN, and apply() chooses which NaN. Once a partial result is a NaN, the final
// result is a NaN, too. So folds check final results only.
template <Op O, class T>
inline constexpr bool kMayBeNaN = std::is_floating_point_v<T> && (O == Op::kSum || O == Op::kProd);

inline constexpr std::size_t kChunk = 128;  // elements; a copy of them fits in the first-level cache

// Lets the compiler make vectors, for the instruction set of the surrounding code.
struct Portable {
  template <Op O, class T>
  static void fold(void* out, const void* const* inputs, std::size_t k, std::size_t count) {
    if constexpr (kMayBeNaN<O, T>) {
      for (std::size_t i = 0; i < count; i += kChunk)
        fold_chunk<O, T>(out, inputs, k, i, count - i < kChunk ? count : i + kChunk);
    } else {
      fold_elements<O, T>(out, inputs, k, 0, count);
    }
  }
  // Folds at most kChunk elements. Vector code has no branches, so a chunk with a NaN gets a second fold, one
  // element after the other.
  template <Op O, class T>
  static void fold_chunk(void* out, const void* const* inputs, std::size_t k, std::size_t first,
                         std::size_t end) {
    T sums[kChunk];
    const std::size_t n = end - first;
    const auto load = [=](std::size_t j, std::size_t i) {
      T value;
      std::memcpy(&value, static_cast<const unsigned char*>(inputs[j]) + (first + i) * sizeof(T), sizeof(T));
      return value;
    };
    if (k == 1) return fold_elements<O, T>(out, inputs, k, first, end);
    for (std::size_t i = 0; i < n; ++i) sums[i] = arithmetic<O>(load(0, i), load(1, i));
    for (std::size_t j = 2; j < k; ++j)
      for (std::size_t i = 0; i < n; ++i) sums[i] = arithmetic<O>(sums[i], load(j, i));
    FloatBits<T> nans = 0;
    for (std::size_t i = 0; i < n; ++i) nans |= FloatBits<T>{sums[i] != sums[i]};
    if (nans != 0) return fold_elements<O, T>(out, inputs, k, first, end);
    std::memcpy(static_cast<unsigned char*>(out) + first * sizeof(T), sums, n * sizeof(T));
  }
  template <Op O, Type T>
  static constexpr Fold of() {
    return fold<O, Element<T>>;
  }
};

}  // namespace fermata::kernels
#endif
