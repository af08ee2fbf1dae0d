// Folds arrays element by element. Large reductions spend much of their time here.
//
// Every result has the bits of apply() in base/element.hpp, whichever instructions compute it. The order of
// operations is fixed, and each operation on 16-bit floats rounds its result to 16 bits. Pointers need no
// alignment.
#ifndef FERMATA_KERNELS_FOLD_HPP
#define FERMATA_KERNELS_FOLD_HPP

#include <cstddef>

#include "base/collective.hpp"

namespace fermata::kernels {

// out[i] = inputs[0][i] op inputs[1][i] op ... op inputs[k - 1][i], from the left, for `count` elements.
// Reads each array once, and writes out once. Only elements near a NaN in a sum or product are read twice.
// Each input is out itself or does not overlap it. Preconditions: k >= 1, is_defined(op, type).
void fold_many(Op op, Type type, void* out, const void* const* inputs, std::size_t k, std::size_t count);

inline void fold_block(Op op, Type type, void* out, const void* left, const void* right, std::size_t count) {
  const void* const inputs[2] = {left, right};
  fold_many(op, type, out, inputs, 2, count);
}

}  // namespace fermata::kernels
#endif
