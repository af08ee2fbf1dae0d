// Folding arrays, element by element: what large reductions spend their time on.
//
// Every result has the bits of base/element.hpp's apply(), whichever instructions compute it: nothing is reordered, and the
// 16-bit floats are rounded after each operation. No pointer needs any alignment.
#ifndef FERMATA_KERNELS_FOLD_HPP
#define FERMATA_KERNELS_FOLD_HPP

#include <cstddef>

#include "base/kind.hpp"

namespace fermata::kernels {

// out[i] = inputs[0][i] op inputs[1][i] op ... op inputs[k - 1][i], from the left; each array is read, and out written, once. k >= 1.
// out may be one of the inputs, but not overlap one otherwise. is_defined(op, type).
void fold_many(Op op, Type type, void* out, const void* const* inputs, std::size_t k, std::size_t count);

inline void fold_block(Op op, Type type, void* out, const void* left, const void* right, std::size_t count) {
  const void* const inputs[2] = {left, right};
  fold_many(op, type, out, inputs, 2, count);
}

}  // namespace fermata::kernels
#endif
