// Element types and their operators: conversions, the rules for NaN and zero, lanes of a word, wide pairs.
#include "base/element.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "exec/fold.hpp"

namespace fermata {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The value of a 16-bit format, by its definition.
double value_of(std::uint16_t bits, int mantissa_bits, int bias) {
  const int exponent = (bits & 0x7fff) >> mantissa_bits;
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 0x7fff >> mantissa_bits) return mantissa == 0 ? sign * kInfinity : std::nan("");
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

// Checks every value, every midpoint between neighbours, and the floats beside each midpoint.
template <class T>
void check_conversions(int mantissa_bits, int bias, std::uint16_t infinity, std::uint16_t nan) {
  for (std::uint32_t i = 0; i < 0x10000; ++i) {
    const T t{static_cast<std::uint16_t>(i)};
    const double exact = value_of(t.bits, mantissa_bits, bias);
    if (std::isnan(exact)) {
      EXPECT_TRUE(std::isnan(widen(t)));
      EXPECT_EQ(narrow<T>(widen(t)).bits, nan);
      continue;
    }
    ASSERT_EQ(widen(t), exact) << i;
    ASSERT_EQ(narrow<T>(widen(t)).bits, i);
    if ((i & 0x7fff) >= infinity) continue;
    // The largest number's midpoint is the one to the next number if exponents continued.
    const bool last = (i & 0x7fff) + 1u == infinity;
    const double next = last ? (i < 0x8000 ? 1 : -1) * std::ldexp(1.0, (0x7fff >> mantissa_bits) - bias)
                             : value_of(static_cast<std::uint16_t>(i + 1), mantissa_bits, bias);
    const auto middle = static_cast<float>(exact / 2 + next / 2);
    if (middle != exact / 2 + next / 2) continue;  // the midpoint is not a float: between the smallest floats
    const std::uint32_t even = (i & 1) == 0 ? i : i + 1;
    ASSERT_EQ(narrow<T>(middle).bits, even) << i;
    ASSERT_EQ(narrow<T>(std::nextafterf(middle, static_cast<float>(exact))).bits, i);
    ASSERT_EQ(narrow<T>(std::nextafterf(middle, i < 0x8000 ? kInfinity : -kInfinity)).bits, i + 1);
  }
  EXPECT_EQ(narrow<T>(std::numeric_limits<float>::max()).bits, infinity);
  EXPECT_EQ(narrow<T>(-std::numeric_limits<float>::max()).bits, infinity | 0x8000);
  EXPECT_EQ(narrow<T>(-std::numeric_limits<float>::denorm_min()).bits, 0x8000);
}

TEST(Element, HalfConvertsExactlyAndRoundsToEven) { check_conversions<Half>(10, 15, 0x7c00, 0x7e00); }
TEST(Element, Bfloat16ConvertsExactlyAndRoundsToEven) { check_conversions<Bfloat16>(7, 127, 0x7f80, 0x7fc0); }

TEST(Element, SixteenBitSumsRoundOnce) {
  const auto sum = [](float a, float b) { return widen(apply<Op::kSum>(narrow<Half>(a), narrow<Half>(b))); };
  EXPECT_EQ(sum(2048, 1), 2048);
  EXPECT_EQ(sum(2050, 1), 2052);
  EXPECT_EQ(sum(65504, 16), kInfinity);
  const auto product = [](float a, float b) {
    return widen(apply<Op::kProd>(narrow<Bfloat16>(a), narrow<Bfloat16>(b)));
  };
  EXPECT_EQ(product(3, 0.25f), 0.75f);
  EXPECT_EQ(product(255, 255), 65024);
}

template <class T>
bool same_bits(T a, T b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

template <Op O, class T>
void check_order_rule() {
  const T zero = 0;
  const T nan = std::numeric_limits<T>::quiet_NaN();
  const T values[] = {
      zero, -zero, 1, -1, nan, -nan, static_cast<T>(kInfinity), std::numeric_limits<T>::denorm_min()};
  for (const T a : values)
    for (const T b : values) {
      EXPECT_TRUE(same_bits(apply<O>(a, b), apply<O>(b, a))) << a << " " << b;
      EXPECT_TRUE(!std::isnan(a) || same_bits(apply<O>(a, b), nan));
      for (const T c : values)
        EXPECT_TRUE(same_bits(apply<O>(a, apply<O>(b, c)), apply<O>(apply<O>(a, b), c)));
    }
  EXPECT_EQ(std::signbit(apply<O>(zero, -zero)), O == Op::kMin);
}

TEST(Element, MinAndMaxOrderZerosAndKeepNaN) {
  check_order_rule<Op::kMin, float>();
  check_order_rule<Op::kMax, float>();
  check_order_rule<Op::kMin, double>();
  check_order_rule<Op::kMax, double>();
  EXPECT_EQ(apply<Op::kMin>(Half{0x8000}, Half{0}).bits, 0x8000);
  EXPECT_EQ(apply<Op::kMax>(Bfloat16{0xff81}, Bfloat16{0x4000}).bits, 0x7fc0);
}

// NaNs of different payloads become quiet; folds also create NaNs. The resulting NaN does not depend on order
// or grouping.
template <Op O, class T>
void check_nans() {
  using Bits = FloatBits<T>;
  const Bits quiet = std::bit_cast<Bits>(std::numeric_limits<T>::quiet_NaN());
  const Bits sign = Bits{1} << (8 * sizeof(T) - 1);
  const Bits infinity = std::bit_cast<Bits>(std::numeric_limits<T>::infinity());
  const Bits bits[] = {
      quiet | 5,       quiet | 9, quiet | sign, sign | quiet | 3, infinity | 7, sign | infinity | 2, infinity,
      sign | infinity, 0,         sign};
  for (const Bits a : bits)
    for (const Bits b : bits) {
      const T x = std::bit_cast<T>(a);
      const T y = std::bit_cast<T>(b);
      EXPECT_TRUE(same_bits(apply<O>(x, y), apply<O>(y, x))) << std::hex << a << " " << b;
      for (const Bits c : bits) {
        const T z = std::bit_cast<T>(c);
        if (!std::isnan(x) && !std::isnan(y) && !std::isnan(z)) continue;
        EXPECT_TRUE(same_bits(apply<O>(x, apply<O>(y, z)), apply<O>(apply<O>(x, y), z)))
            << std::hex << a << " " << b << " " << c;
      }
    }
  const auto of = [](Bits a, Bits b) {
    return std::bit_cast<Bits>(apply<O>(std::bit_cast<T>(a), std::bit_cast<T>(b)));
  };
  EXPECT_EQ(of(quiet | 5, std::bit_cast<Bits>(T{1})), quiet | 5);
  EXPECT_EQ(of(std::bit_cast<Bits>(T{1}), infinity | 7), quiet | 7);
  EXPECT_EQ(of(quiet | 5, quiet | 9), quiet | 9);
  EXPECT_EQ(of(sign | quiet | 3, quiet | 9), sign | quiet | 3);
  EXPECT_EQ(O == Op::kSum ? of(infinity, sign | infinity) : of(0, sign | infinity), quiet);
}

TEST(Element, SumsAndProductsOfNaNsDoNotDependOnTheOrder) {
  check_nans<Op::kSum, float>();
  check_nans<Op::kSum, double>();
  check_nans<Op::kProd, float>();
  check_nans<Op::kProd, double>();
}

TEST(Element, PairsTieToTheLowerIndex) {
  using P = Element<Type::kDoubleInt>;
  const double nan = std::nan("");
  const P all[] = {{1, 3, 0},   {1, 2, 0},   {-4, 9, 0},    {nan, 7, 0},
                   {nan, 5, 0}, {0.0, 1, 0}, {-0.0, -1, 0}, {7, 0, 0}};
  for (const P& a : all)
    for (const P& b : all)
      for (const P& c : all) {
        EXPECT_TRUE(same_bits(apply<Op::kMinloc>(a, b), apply<Op::kMinloc>(b, a)));
        EXPECT_TRUE(same_bits(apply<Op::kMaxloc>(a, apply<Op::kMaxloc>(b, c)),
                              apply<Op::kMaxloc>(apply<Op::kMaxloc>(a, b), c)));
      }
  const double other = std::bit_cast<double>(std::bit_cast<std::uint64_t>(nan) | 5);
  const P alike[][2] = {{{0.0, 1, 0}, {-0.0, 1, 0}}, {{nan, 7, 0}, {other, 7, 0}}};
  for (const auto& [a, b] : alike) {
    EXPECT_TRUE(same_bits(apply<Op::kMinloc>(a, b), apply<Op::kMinloc>(b, a)));
    EXPECT_TRUE(same_bits(apply<Op::kMaxloc>(a, b), apply<Op::kMaxloc>(b, a)));
  }
  EXPECT_EQ(apply<Op::kMinloc>(all[0], all[1]).index, 2);
  EXPECT_EQ(apply<Op::kMaxloc>(all[1], all[0]).index, 2);
  EXPECT_EQ(apply<Op::kMinloc>(all[0], all[2]).index, 9);
  EXPECT_EQ(apply<Op::kMaxloc>(all[3], all[4]).index, 5);
  EXPECT_EQ(apply<Op::kMinloc>(all[2], all[3]).index, 7);
  EXPECT_EQ(apply<Op::kMaxloc>(all[5], all[6]).index, -1);
}

TEST(Element, IntegersWrap) {
  EXPECT_EQ(apply<Op::kSum>(std::int8_t{127}, std::int8_t{1}), -128);
  EXPECT_EQ(apply<Op::kProd>(std::uint16_t{0xffff}, std::uint16_t{0xffff}), 1);
  EXPECT_EQ(apply<Op::kProd>(std::numeric_limits<std::int64_t>::min(), std::int64_t{-1}),
            std::numeric_limits<std::int64_t>::min());
}

// A word holds 8 / size elements: folding the word folds each of them.
template <Op O, Type T>
void check_word() {
  using E = Element<T>;
  if constexpr (is_defined(O, T) && sizeof(E) <= 8) {
    std::uint64_t state = 0x9e3779b97f4a7c15u;
    for (int round = 0; round < 200; ++round) {
      std::uint64_t words[2];
      for (auto& w : words) w = state = (state * 6364136223846793005u + 1442695040888963407u) ^ state >> 29;
      if (round % 2 == 0)
        // infinities and NaNs
        for (auto& w : words) w |= T == Type::kFloat ? 0x7f8000007f800000u : 0x7ff0000000000000u;
      E a[8 / sizeof(E)], b[8 / sizeof(E)], got[8 / sizeof(E)];
      std::memcpy(a, &words[0], 8);
      std::memcpy(b, &words[1], 8);
      const std::uint64_t folded = folds_of(O, T).word(words[0], words[1]);
      std::memcpy(got, &folded, 8);
      for (std::size_t i = 0; i < 8 / sizeof(E); ++i)
        EXPECT_TRUE(same_bits(got[i], apply<O>(a[i], b[i]))) << name_of(O) << " " << name_of(T);
    }
  } else {
    EXPECT_EQ(folds_of(O, T).word == nullptr, !is_defined(O, T)) << name_of(O) << " " << name_of(T);
  }
}

template <std::size_t... I>
void check_words(std::index_sequence<I...>) {
  (check_word<static_cast<Op>(I / kTypeCount), static_cast<Type>(I % kTypeCount)>(), ...);
}

TEST(Fold, EveryLaneOfEveryTypeAndOperator) {
  check_words(std::make_index_sequence<kOpCount * kTypeCount>());
}

// The words of a line are folded as each word by itself, into any place, and nothing beyond them is written.
void check_line(const Folds& folds, const std::uint64_t* left, const std::uint64_t* right) {
  constexpr std::uint64_t kNone = 0x5a5a5a5a5a5a5a5au;
  for (std::uint32_t words = 1; words <= kPayloadWords; ++words) {
    std::uint64_t a[kPayloadWords], b[kPayloadWords], in_left[kPayloadWords], in_right[kPayloadWords];
    std::copy_n(left, kPayloadWords, a);
    std::copy_n(right, kPayloadWords, b);
    std::copy_n(a, kPayloadWords, in_left);
    std::copy_n(b, kPayloadWords, in_right);
    unsigned char apart[sizeof a + 16];
    std::memset(apart, 0x5a, sizeof apart);
    folds.line(apart + 1, a, b, words);
    folds.line(in_left, in_left, b, words);
    folds.line(in_right, a, in_right, words);
    for (std::uint32_t i = 0; i < kPayloadWords; ++i) {
      const std::uint64_t folded = folds.word(a[i], b[i]);
      std::uint64_t got;
      std::memcpy(&got, apart + 1 + 8 * i, 8);
      EXPECT_EQ(got, i < words ? folded : kNone) << words << " words, word " << i;
      EXPECT_EQ(in_left[i], i < words ? folded : a[i]) << words << " words, word " << i;
      EXPECT_EQ(in_right[i], i < words ? folded : b[i]) << words << " words, word " << i;
    }
    EXPECT_EQ(apart[0], 0x5a);
    EXPECT_EQ(apart[1 + sizeof a], 0x5a);
  }
}

TEST(Fold, LinesOfEveryTypeAndOperatorFoldWordByWord) {
  std::uint64_t left[kPayloadWords], right[kPayloadWords];
  for (std::uint32_t i = 0; i < kPayloadWords; ++i) {
    left[i] = 0x3ff123456789abcdu * (i + 1);
    right[i] = 0x40045f0a1b2c3d4eu * (2 * i + 1);
  }
  for (int o = 0; o < kOpCount; ++o)
    for (int t = 0; t < kTypeCount; ++t) {
      const auto op = static_cast<Op>(o);
      const auto type = static_cast<Type>(t);
      SCOPED_TRACE(std::string(name_of(op)) + " of " + name_of(type));
      const Folds folds = folds_of(op, type);
      EXPECT_EQ(folds.line != nullptr, is_defined(op, type) && size_of(type) <= 8);
      if (folds.line != nullptr) check_line(folds, left, right);
    }
}

TEST(Fold, WidePairsFoldWhole) {
  using P = Element<Type::kInt64Int>;
  P acc[3] = {{5, 1, 0}, {-5, 1, 0}, {9, 1, 0}};
  const P other[3] = {{5, 0, 0}, {-6, 2, 0}, {0, 0, 0}};
  const WholeFold fold = whole_fold_of(Op::kMinloc, Type::kInt64Int);
  fold(acc, other, reinterpret_cast<void*>(std::uintptr_t{2}));
  EXPECT_EQ(acc[0].index, 0);
  EXPECT_EQ(acc[1].value, -6);
  EXPECT_EQ(acc[1].index, 2);
  EXPECT_EQ(acc[2].value, 9);  // after the last element
  EXPECT_EQ(whole_fold_of(Op::kMaxloc, Type::kFloatInt), nullptr);
}

}  // namespace
}  // namespace fermata
