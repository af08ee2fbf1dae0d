// Folds without Highway. The compiler vectorizes them for the portable baseline.
#include "kernels/fold.hpp"
#include "kernels/table.hpp"

namespace fermata::kernels {

void fold_many(Op op, Type type, void* out, const void* const* inputs, std::size_t k, std::size_t count) {
  look_up<Portable>(op, type)(out, inputs, k, count);
}

}  // namespace fermata::kernels
