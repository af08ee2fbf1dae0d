// The vocabulary that every part shares: kinds of collectives, element types, operators and their algebra.
#ifndef FERMATA_BASE_KIND_HPP
#define FERMATA_BASE_KIND_HPP

#include <cstddef>
#include <cstdint>

namespace fermata {

enum class Kind : std::uint8_t { kBarrier = 0, kBroadcast = 1, kReduce = 2, kAllreduce = 3 };
inline constexpr int kKindCount = 4;

enum class Type : std::uint8_t { kInt32 = 0, kInt64, kUint32, kUint64, kFloat, kDouble };
inline constexpr int kTypeCount = 6;

enum class Op : std::uint8_t { kSum = 0, kProd, kMin, kMax, kAnd, kOr, kXor, kLand, kLor };
inline constexpr int kOpCount = 9;

// What a schedule may do with an operator. All predefined operators commute; sums and products of floating-point
// numbers do not associate; min, max, and, or, land, lor absorb repetition.
struct OpTraits {
  bool associative = true;
  bool commutative = true;
  bool idempotent = false;
};

constexpr bool is_floating(Type t) { return t == Type::kFloat || t == Type::kDouble; }

constexpr OpTraits traits_of(Op op, Type type) {
  const bool rounds = is_floating(type) && (op == Op::kSum || op == Op::kProd);
  const bool repeats = op == Op::kSum || op == Op::kProd || op == Op::kXor;
  return {.associative = !rounds, .commutative = true, .idempotent = !repeats};
}

// The odd ones are the wide ones: no branch in a call's path.
constexpr unsigned log2_size_of(Type t) { return 2 + (static_cast<unsigned>(t) & 1u); }
constexpr std::size_t size_of(Type t) { return std::size_t{1} << log2_size_of(t); }
static_assert(size_of(Type::kInt32) == 4 && size_of(Type::kUint32) == 4 && size_of(Type::kFloat) == 4);
static_assert(size_of(Type::kInt64) == 8 && size_of(Type::kUint64) == 8 && size_of(Type::kDouble) == 8);

constexpr const char* name_of(Kind k) {
  constexpr const char* kNames[kKindCount] = {"barrier", "broadcast", "reduce", "allreduce"};
  return kNames[static_cast<int>(k)];
}

// Bytes of payload that ride on one 64-byte line behind its 8-byte header.
inline constexpr std::size_t kLinePayload = 56;

}  // namespace fermata
#endif
