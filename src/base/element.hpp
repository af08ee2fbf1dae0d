// The element types as C++ types, and apply(): one operator applied to two elements. Every fold by these
// operators computes the same results as apply(), on a line or in a kernel.
//
// Each operator gives the same bits when its operands are swapped, so members whose plans fold in mirrored
// order agree. Only a pair's padding may differ: it comes from either of two equal pairs. This file decides
// which NaN is the result. Processors return one of two NaN operands, and compilers swap the operands of a
// sum, so neither can make the choice.
#ifndef FERMATA_BASE_ELEMENT_HPP
#define FERMATA_BASE_ELEMENT_HPP

#include <bit>
#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>

#include "base/collective.hpp"

namespace fermata {

struct Half {
  std::uint16_t bits;
};
struct Bfloat16 {
  std::uint16_t bits;
};

// A C struct of a value and an index. The padding has a name here, so a copy moves every bit.
template <class V, class Gap>
struct PairWithGap {
  V value;
  Gap gap;
  std::int32_t index;
};
template <class V>
struct EvenPair {
  V value;
  std::int32_t index;
};
template <class V>
struct WidePair {
  V value;
  std::int32_t index;
  std::int32_t gap;
};

// The same order as the enumerators of Type.
using Elements =
    std::tuple<std::int32_t, std::int64_t, std::uint32_t, std::uint64_t, float, double, std::int8_t,
               std::uint8_t, std::int16_t, std::uint16_t, Half, Bfloat16, EvenPair<float>, WidePair<double>,
               EvenPair<std::int32_t>, WidePair<std::int64_t>, PairWithGap<std::int16_t, std::int16_t>>;
static_assert(std::tuple_size_v<Elements> == kTypeCount);

template <Type T>
using Element = std::tuple_element_t<static_cast<std::size_t>(T), Elements>;

template <std::size_t I = 0>
constexpr bool sizes_agree() {
  if constexpr (I == kTypeCount) {
    return true;
  } else {
    return sizeof(std::tuple_element_t<I, Elements>) == size_of(static_cast<Type>(I)) && sizes_agree<I + 1>();
  }
}
static_assert(sizes_agree());

// The result is exact. Uses integer operations, since the portable baseline has no conversion instruction. A
// subtraction normalizes a subnormal number.
constexpr float widen(Half h) {
  constexpr std::uint32_t kExponent = 0x1fu << 23;
  const std::uint32_t magnitude = (h.bits & 0x7fffu) << 13;
  std::uint32_t bits = magnitude + ((127u - 15u) << 23);
  if ((magnitude & kExponent) == kExponent) {
    bits += (128u - 16u) << 23;
  } else if ((magnitude & kExponent) == 0) {
    bits = std::bit_cast<std::uint32_t>(std::bit_cast<float>(bits + (1u << 23)) -
                                        std::bit_cast<float>(113u << 23));
  }
  return std::bit_cast<float>(bits | (h.bits & 0x8000u) << 16);
}
constexpr float widen(Bfloat16 b) { return std::bit_cast<float>(std::uint32_t{b.bits} << 16); }

// Rounds to nearest, ties to even. Every NaN becomes the same quiet NaN.
template <class T>
constexpr T narrow(float f) {
  const std::uint32_t all = std::bit_cast<std::uint32_t>(f);
  const std::uint32_t magnitude = all & 0x7fffffffu;
  if constexpr (std::is_same_v<T, Bfloat16>) {
    if (magnitude > 0x7f800000u) return {0x7fc0};
    return {static_cast<std::uint16_t>((all + 0x7fffu + (all >> 16 & 1u)) >> 16)};
  } else {
    if (magnitude > 0x7f800000u) return {0x7e00};
    std::uint32_t bits = (magnitude + ((15u - 127u) << 23) + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
    if (magnitude >= (127u + 16u) << 23) bits = 0x7c00;
    if (magnitude < 113u << 23) {  // subnormal: the addition aligns the bits and rounds them
      constexpr std::uint32_t kMagic = (127u - 15u + 23u - 10u + 1u) << 23;
      bits = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + std::bit_cast<float>(kMagic)) -
             kMagic;
    }
    return {static_cast<std::uint16_t>(bits | (all >> 16 & 0x8000u))};
  }
}

template <class T>
using FloatBits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

// Returns the NaN of a sum or product: the NaN operand, made quiet, whose bits are the larger unsigned
// number. If no operand is a NaN (infinity - infinity, 0 * infinity), the result is the positive quiet NaN
// without payload. Its bits are the smallest such number, so neither the order nor the grouping of operands
// decides which NaN it is. always_inline: a call would need a stack frame even if all results are numbers.
template <class T>
[[gnu::always_inline]] constexpr T nan_of(T a, T b) {
  using Bits = FloatBits<T>;
  constexpr Bits kLeast = std::bit_cast<Bits>(std::numeric_limits<T>::quiet_NaN());
  const Bits x = a != a ? std::bit_cast<Bits>(a) | kLeast : kLeast;
  const Bits y = b != b ? std::bit_cast<Bits>(b) | kLeast : kLeast;
  return std::bit_cast<T>(x < y ? y : x);
}

// The processor's own sum or product. apply() differs for NaNs only.
template <Op O, class T>
constexpr T arithmetic(T a, T b) {
  static_assert(std::is_floating_point_v<T> && (O == Op::kSum || O == Op::kProd));
  return O == Op::kSum ? a + b : a * b;
}

// minimum and maximum of IEEE 754-2019: -0 is less than +0, and a NaN wins.
template <Op O, class T>
constexpr T floating_extreme(T a, T b) {
  using Bits = FloatBits<T>;
  if (a < b) return O == Op::kMin ? a : b;
  if (b < a) return O == Op::kMin ? b : a;
  if (!(a == b)) return std::numeric_limits<T>::quiet_NaN();
  const Bits x = std::bit_cast<Bits>(a);  // equal values differ at most in the sign of zero
  const Bits y = std::bit_cast<Bits>(b);
  return std::bit_cast<T>(O == Op::kMin ? x | y : x & y);
}

// Decides between two values that compare equal, or two NaNs, with the same index. So all members choose the
// same value.
template <class V>
constexpr bool has_lower_bits(V b, V a) {
  if constexpr (std::is_floating_point_v<V>) {
    using Bits = std::make_signed_t<FloatBits<V>>;
    return std::bit_cast<Bits>(b) < std::bit_cast<Bits>(a);
  } else {
    return false;
  }
}

// Does b come before a? A NaN comes before every number. If the values are equal, the lower index comes
// first, then the lower bits.
template <Op O, class P>
constexpr bool precedes(const P& b, const P& a) {
  const bool nan_a = a.value != a.value;
  const bool nan_b = b.value != b.value;
  const bool before = O == Op::kMinloc ? b.value < a.value : a.value < b.value;
  const bool equal = (a.value == b.value) || (nan_a && nan_b);
  const bool lower = b.index < a.index || (b.index == a.index && has_lower_bits(b.value, a.value));
  return before || (nan_b && !nan_a) || (equal && lower);
}

// Signed sums and products wrap around in two's complement. The computation is unsigned, so there is no
// undefined behaviour.
template <Op O, class T>
constexpr T apply(T a, T b) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, Bfloat16>) {
    return narrow<T>(apply<O, float>(widen(a), widen(b)));
  } else if constexpr (O == Op::kMinloc || O == Op::kMaxloc) {
    return precedes<O>(b, a) ? b : a;
  } else if constexpr (O == Op::kSum || O == Op::kProd) {
    if constexpr (std::is_integral_v<T>) {
      const auto x = static_cast<std::uint64_t>(a);
      const auto y = static_cast<std::uint64_t>(b);
      return static_cast<T>(O == Op::kSum ? x + y : x * y);
    } else {
      const T result = arithmetic<O>(a, b);
      if (result != result) [[unlikely]]
        return nan_of(a, b);
      return result;
    }
  } else if constexpr (O == Op::kMin || O == Op::kMax) {
    if constexpr (std::is_floating_point_v<T>) return floating_extreme<O>(a, b);
    else return (O == Op::kMin) == (b < a) ? b : a;
  } else if constexpr (O == Op::kLand) {
    return static_cast<T>(a != T{} && b != T{});
  } else if constexpr (O == Op::kLor) {
    return static_cast<T>(a != T{} || b != T{});
  } else if constexpr (O == Op::kAnd) {
    return static_cast<T>(a & b);
  } else if constexpr (O == Op::kOr) {
    return static_cast<T>(a | b);
  } else {
    return static_cast<T>(a ^ b);
  }
}

}  // namespace fermata
#endif
