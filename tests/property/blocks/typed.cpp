#include "typed.hpp"

#include <array>
#include <cstring>
#include <utility>

#include "base/element.hpp"

namespace fermata::test {
namespace {

using Fold = void (*)(void* acc, const void* other);

template <Op O, Type Y>
void fold_one(void* acc, const void* other) {
  Element<Y> left, right;
  std::memcpy(&left, acc, sizeof left);
  std::memcpy(&right, other, sizeof right);
  left = apply<O>(left, right);
  std::memcpy(acc, &left, sizeof left);
}

template <std::size_t I>
constexpr Fold fold_at() {
  constexpr auto kOp = static_cast<Op>(I / kTypeCount);
  constexpr auto kType = static_cast<Type>(I % kTypeCount);
  if constexpr (is_defined(kOp, kType)) return fold_one<kOp, kType>;
  return nullptr;
}

template <std::size_t... I>
constexpr std::array<Fold, sizeof...(I)> all_folds(std::index_sequence<I...>) {
  return {fold_at<I>()...};
}

constexpr auto kFolds = all_folds(std::make_index_sequence<kOpCount * kTypeCount>());

Fold fold_of(int type, int op) { return kFolds[static_cast<std::size_t>(op * kTypeCount + type)]; }

// Sums and products of a few of these are exact in every format; minima have both signs.
float small_number(Op op, std::uint64_t h) {
  const auto digit = static_cast<float>(h & 7);
  if (op == Op::kProd) return (h & 7) < 2 ? 2.0f : 1.0f;
  if (op == Op::kMin || op == Op::kMax) return digit - 4;
  if (op == Op::kLand || op == Op::kLor) return (h & 3) == 0 ? 0.0f : digit + 1;
  return digit;
}

template <Type Y>
void write_element(Op op, std::uint64_t h, void* out) {
  using T = Element<Y>;
  T value{};
  if constexpr (is_pair(Y)) {
    value.value = static_cast<decltype(value.value)>(h & 3);  // many values are equal
    value.index = static_cast<std::int32_t>(h >> 8 & 0xffff);
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, Bfloat16>) {
    value = narrow<T>(small_number(op, h));
  } else if constexpr (std::is_floating_point_v<T>) {
    value = static_cast<T>(small_number(op, h));
  } else {
    const bool logical = op == Op::kLand || op == Op::kLor;
    // integers wrap, in any order
    value = static_cast<T>(logical && (h & 3) == 0 ? 0 : h * 0x9e3779b97f4a7c15u >> 7);
  }
  std::memcpy(out, &value, sizeof value);
}

using Write = void (*)(Op op, std::uint64_t h, void* out);
template <std::size_t... I>
constexpr std::array<Write, sizeof...(I)> all_writes(std::index_sequence<I...>) {
  return {write_element<static_cast<Type>(I)>...};
}
constexpr auto kWrites = all_writes(std::make_index_sequence<kTypeCount>());

}  // namespace

void typed_element(int type, int op, std::uint64_t h, void* out) {
  kWrites[static_cast<std::size_t>(type)](static_cast<Op>(op), h, out);
}
void typed_fold(int type, int op, void* acc, const void* other) { fold_of(type, op)(acc, other); }
bool typed_fold_is_defined(int type, int op) { return fold_of(type, op) != nullptr; }

}  // namespace fermata::test
