// 64-bit sums: the operator of the tests that drive collectives on blocks by hand.
#ifndef FERMATA_TESTS_UNIT_EXEC_SUM_HPP
#define FERMATA_TESTS_UNIT_EXEC_SUM_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace fermata::exec {

inline void add(void*, void* out, const void* left, const void* right, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t a = 0, b = 0;
    std::memcpy(&a, static_cast<const char*>(left) + 8 * i, 8);
    std::memcpy(&b, static_cast<const char*>(right) + 8 * i, 8);
    a += b;
    std::memcpy(static_cast<char*>(out) + 8 * i, &a, 8);
  }
}

}  // namespace fermata::exec
#endif
