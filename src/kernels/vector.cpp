// Folds with Highway: compiled once per instruction set, and chosen at run time.
//
// Steps:
//   (1) Fold four vectors at a time, so that their operations overlap.
//   (2) Fold one vector at a time.
//   (3) Fold the remaining elements one by one.
#include "kernels/fold.hpp"
#include "kernels/table.hpp"

// CPUs with SSSE3 but without SSE4 are rare (sold until 2011). They use the code for the baseline.
#define HWY_DISABLED_TARGETS (HWY_SSSE3)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/vector.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/vector-inl.hpp"

#if HWY_ONCE
namespace fermata::kernels {

HWY_EXPORT(fold_of);

void fold_many(Op op, Type type, void* out, const void* const* inputs, std::size_t k, std::size_t count) {
  HWY_DYNAMIC_DISPATCH(fold_of)(op, type)(out, inputs, k, count);
}

}  // namespace fermata::kernels
#endif
