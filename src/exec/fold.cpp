#include "exec/fold.hpp"

#include <array>
#include <cstring>
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
constexpr FoldFn entry() {
  if constexpr (!is_defined(O, T)) {
    return nullptr;
  } else if constexpr (size_of(T) > 8) {
    return keep;
  } else {
    return fold<O, Element<T>>;
  }
}

template <std::size_t... I>
constexpr std::array<FoldFn, sizeof...(I)> entries(std::index_sequence<I...>) {
  return {entry<static_cast<Op>(I / kTypeCount), static_cast<Type>(I % kTypeCount)>()...};
}

}  // namespace

FoldFn fold_of(Op op, Type type) {
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
