// Elements first..count of a fold, one after the other: what vectors leave over, and all of it where there are no vectors.
#ifndef FERMATA_KERNELS_SCALAR_HPP
#define FERMATA_KERNELS_SCALAR_HPP

#include <cstddef>
#include <cstring>

#include "base/element.hpp"

namespace fermata::kernels {

using Fold = void (*)(void* out, const void* const* inputs, std::size_t k, std::size_t count);

template <Op O, class T>
inline void fold_elements(void* out, const void* const* inputs, std::size_t k, std::size_t first, std::size_t count) {
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

// The compiler's own vectors, of whatever the code around it is compiled for.
struct Portable {
  template <Op O, class T>
  static void fold(void* out, const void* const* inputs, std::size_t k, std::size_t count) {
    fold_elements<O, T>(out, inputs, k, 0, count);
  }
  template <Op O, Type T>
  static constexpr Fold of() {
    return fold<O, Element<T>>;
  }
};

}  // namespace fermata::kernels
#endif
