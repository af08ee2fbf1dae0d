#include "exec/fold.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/element.hpp"

namespace fermata {
namespace {

// Folds all elements of a word. Elements beyond the count are folded too, but nobody reads them.
template <Op O, class T>
std::uint64_t fold(std::uint64_t left, std::uint64_t right) {
  constexpr int kLanes = 8 / sizeof(T);
  T a[kLanes];
  T b[kLanes];
  std::memcpy(a, &left, 8);
  std::memcpy(b, &right, 8);
  for (int i = 0; i < kLanes; ++i) a[i] = apply<O, T>(a[i], b[i]);
  std::memcpy(&left, a, 8);
  return left;
}

// Unrolled where a word has few elements, so that the code is short.
template <Op O, class T>
Status fold_each_word(void* to, const std::uint64_t* left, const std::uint64_t* right, std::uint32_t words) {
  const auto fold_word = [&](std::uint32_t i) __attribute__((always_inline)) {
    const std::uint64_t word = opaque(fold<O, T>(left[i], right[i]));
    std::memcpy(static_cast<unsigned char*>(to) + 8 * i, &word, 8);
  };
  if constexpr (sizeof(T) >= 4) {
    each_word(words, fold_word);
  } else {
    for (std::uint32_t i = 0; i < words; ++i) fold_word(i);
  }
  return Status::kOk;
}

// Sums or products of doubles. One comparison finds a NaN in two results, and then all are folded again.
template <Op O, std::size_t... I>
[[gnu::always_inline]] inline Status fold_doubles(void* to, const std::uint64_t* left,
                                                  const std::uint64_t* right, std::index_sequence<I...>) {
  constexpr std::size_t kWords = sizeof...(I);
  double results[kWords];
  const auto fold_word = [&](std::size_t i) __attribute__((always_inline)) {
    results[i] = arithmetic<O>(std::bit_cast<double>(left[i]), std::bit_cast<double>(right[i]));
    keep_apart();
  };
  (fold_word(I), ...);
  const auto is_ordered = [&](std::size_t i) __attribute__((always_inline)) {
    return i % 2 != 0 || __builtin_isunordered(results[i], results[i + 1 < kWords ? i + 1 : i]) == 0;
  };
  if (!(is_ordered(I) && ...)) [[unlikely]]
    return fold_each_word<O, double>(to, left, right, kWords);
  const auto store = [&](std::size_t i) __attribute__((always_inline)) {
    std::memcpy(static_cast<unsigned char*>(to) + 8 * i, &results[i], 8);
    keep_apart();
  };
  (store(I), ...);
  return Status::kOk;
}

template <Op O, class T>
Status fold_line(void* to, const std::uint64_t* left, const std::uint64_t* right, std::uint32_t words) {
  if constexpr (std::is_same_v<T, double> && (O == Op::kSum || O == Op::kProd)) {
    const auto all = [&](auto count) __attribute__((always_inline)) {
      return fold_doubles<O>(to, left, right, std::make_index_sequence<count>());
    };
    switch (words) {
      case 1: return all(std::integral_constant<std::size_t, 1>());
      case 2: return all(std::integral_constant<std::size_t, 2>());
      case 3: return all(std::integral_constant<std::size_t, 3>());
      case 4: return all(std::integral_constant<std::size_t, 4>());
      case 5: return all(std::integral_constant<std::size_t, 5>());
      case 6: return all(std::integral_constant<std::size_t, 6>());
      default: return all(std::integral_constant<std::size_t, 7>());
    }
  } else {
    return fold_each_word<O, T>(to, left, right, words);
  }
}

// Half of a pair that is wider than a word cannot be folded. This function only runs for a count of 0, whose
// one word nobody reads.
std::uint64_t keep(std::uint64_t left, std::uint64_t) { return left; }

template <Op O, class T>
void fold_wide(void* acc, const void* other, void* context) {
  const auto count = reinterpret_cast<std::uintptr_t>(context);
  for (std::uintptr_t i = 0; i < count; ++i) {
    T a;
    T b;
    void* const at = static_cast<unsigned char*>(acc) + i * sizeof(T);
    std::memcpy(&a, at, sizeof(T));
    std::memcpy(&b, static_cast<const unsigned char*>(other) + i * sizeof(T), sizeof(T));
    a = apply<O, T>(a, b);
    std::memcpy(at, &a, sizeof(T));
  }
}

template <Op O, Type T>
constexpr Folds entry() {
  if constexpr (!is_defined(O, T)) {
    return {};
  } else if constexpr (size_of(T) > 8) {
    return {.word = keep};
  } else {
    return {.word = fold<O, Element<T>>, .line = fold_line<O, Element<T>>};
  }
}

template <std::size_t... I>
constexpr std::array<Folds, sizeof...(I)> entries(std::index_sequence<I...>) {
  return {entry<static_cast<Op>(I / kTypeCount), static_cast<Type>(I % kTypeCount)>()...};
}

}  // namespace

Folds folds_of(Op op, Type type) {
  static constexpr auto kTable = entries(std::make_index_sequence<kOpCount * kTypeCount>());
  return kTable[static_cast<std::size_t>(op) * kTypeCount + static_cast<std::size_t>(type)];
}

WholeFold whole_fold_of(Op op, Type type) {
  const bool least = op == Op::kMinloc;
  if (type == Type::kDoubleInt)
    return least ? fold_wide<Op::kMinloc, Element<Type::kDoubleInt>>
                 : fold_wide<Op::kMaxloc, Element<Type::kDoubleInt>>;
  if (type == Type::kInt64Int)
    return least ? fold_wide<Op::kMinloc, Element<Type::kInt64Int>>
                 : fold_wide<Op::kMaxloc, Element<Type::kInt64Int>>;
  return nullptr;
}

std::uint64_t tag_register(std::uint32_t tag) { return std::uint64_t{tag} | std::uint64_t{~tag} << 32; }

std::uint64_t fold_tags(std::uint64_t left, std::uint64_t right) {
  const auto larger = [](std::uint64_t a, std::uint64_t b) { return a < b ? b : a; };
  constexpr std::uint64_t kLow = 0xffffffffu;
  return larger(left & kLow, right & kLow) | larger(left & ~kLow, right & ~kLow);
}

bool tags_agree(std::uint64_t folded) {
  // max(tag) and max(~tag) are complements only if all tags were equal. {0, 0}: no tag was given.
  return folded == 0 || static_cast<std::uint32_t>(folded) == ~static_cast<std::uint32_t>(folded >> 32);
}

}  // namespace fermata
