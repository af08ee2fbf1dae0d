// Elements of Fermata's types and their operators, as bytes: contributions for which every order of folds
// gives the same bits, and the serial fold.
#ifndef FERMATA_TESTS_PROPERTY_BLOCKS_TYPED_HPP
#define FERMATA_TESTS_PROPERTY_BLOCKS_TYPED_HPP

#include <cstdint>

namespace fermata::test {

inline constexpr std::size_t kMostTyped = 16;  // bytes

// Writes the element that h determines. `op` is the operator of the later fold, or any if there is none.
void typed_element(int type, int op, std::uint64_t h, void* out);
// acc = acc op other. Precondition: typed_fold_is_defined(type, op).
void typed_fold(int type, int op, void* acc, const void* other);
bool typed_fold_is_defined(int type, int op);

}  // namespace fermata::test
#endif
