#include "exec/fold.hpp"

#include <cstring>
#include <type_traits>

namespace fermata {
namespace {

// Wrap-around for signed sums and products is the two's complement one, computed unsigned: no undefined behaviour.
template <Op O, class T>
T apply(T a, T b) {
  if constexpr (O == Op::kSum || O == Op::kProd) {
    if constexpr (std::is_integral_v<T>) {
      using U = std::make_unsigned_t<T>;
      const U x = static_cast<U>(a);
      const U y = static_cast<U>(b);
      return static_cast<T>(O == Op::kSum ? x + y : x * y);
    } else {
      return O == Op::kSum ? a + b : a * b;
    }
  } else if constexpr (O == Op::kMin) {
    return b < a ? b : a;
  } else if constexpr (O == Op::kMax) {
    return a < b ? b : a;
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

// One or two elements of a word. A half word beyond the count is folded too; nobody reads it.
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

template <Op O>
struct Row {
  static constexpr bool kBitwise = O == Op::kAnd || O == Op::kOr || O == Op::kXor;
  template <class T>
  static constexpr FoldFn of() {
    if constexpr (kBitwise && std::is_floating_point_v<T>) {
      return nullptr;
    } else {
      return fold<O, T>;
    }
  }
  FoldFn types[kTypeCount] = {of<std::int32_t>(),  of<std::int64_t>(), of<std::uint32_t>(),
                              of<std::uint64_t>(), of<float>(),        of<double>()};
};

// In the order of Op, and of Type within a row.
struct Table {
  Row<Op::kSum> sum;
  Row<Op::kProd> prod;
  Row<Op::kMin> min;
  Row<Op::kMax> max;
  Row<Op::kAnd> bit_and;
  Row<Op::kOr> bit_or;
  Row<Op::kXor> bit_xor;
  Row<Op::kLand> land;
  Row<Op::kLor> lor;
};

}  // namespace

FoldFn fold_of(Op op, Type type) {
  static constexpr Table kTable;
  static constexpr const FoldFn* kRows[kOpCount] = {kTable.sum.types,     kTable.prod.types,   kTable.min.types,
                                                    kTable.max.types,     kTable.bit_and.types, kTable.bit_or.types,
                                                    kTable.bit_xor.types, kTable.land.types,   kTable.lor.types};
  return kRows[static_cast<int>(op)][static_cast<int>(type)];
}

std::uint64_t tag_register(std::uint32_t tag) { return std::uint64_t{tag} | std::uint64_t{~tag} << 32; }

std::uint64_t fold_tags(std::uint64_t left, std::uint64_t right) {
  const auto larger = [](std::uint64_t a, std::uint64_t b) { return a < b ? b : a; };
  constexpr std::uint64_t kLow = 0xffffffffu;
  return larger(left & kLow, right & kLow) | larger(left & ~kLow, right & ~kLow);
}

bool tags_agree(std::uint64_t folded) {
  // max(tag) and max(~tag) are complements exactly if all tags were equal; {0, 0} comes from no tag at all.
  return folded == 0 || static_cast<std::uint32_t>(folded) == ~static_cast<std::uint32_t>(folded >> 32);
}

}  // namespace fermata
