// What a test of many combinations leaves out under a sanitizer or an emulator.
#ifndef FERMATA_TESTS_THIRD_HPP
#define FERMATA_TESTS_THIRD_HPP

#include <cstddef>

namespace fermata::test {

// True for a third of all numbers there, another third in each of these builds; else for all.
constexpr bool runs_here(std::size_t number) {
  return FERMATA_TEST_SCALE == 1 || number % 3 == FERMATA_TEST_THIRD;
}

}  // namespace fermata::test
#endif
