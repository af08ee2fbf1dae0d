// What operators allow, and the roots that a test tries.
#ifndef FERMATA_TESTS_UNIT_PLAN_OPERATORS_HPP
#define FERMATA_TESTS_UNIT_PLAN_OPERATORS_HPP

#include <cstdint>
#include <set>
#include <vector>

#include "base/collective.hpp"
#include "schedule/verify.hpp"

namespace fermata::test {

inline constexpr OpTraits kSum{.associative = true, .commutative = true, .idempotent = false};
inline constexpr OpTraits kFloatSum{.associative = false, .commutative = true, .idempotent = false};
inline constexpr OpTraits kProduct{.associative = true, .commutative = false, .idempotent = false};
inline constexpr OpTraits kLeftToRight{
    .associative = false, .commutative = false, .idempotent = false, .left_to_right = true};
inline constexpr OpTraits kFloatProduct{.associative = false, .commutative = false, .idempotent = false};

inline std::vector<std::int32_t> roots_of(Collective collective, std::int32_t members) {
  if (!has_root(collective)) return {0};
  const std::set<std::int32_t> roots{0, members / 2, members - 1};
  return {roots.begin(), roots.end()};
}

}  // namespace fermata::test
#endif
