// Types that all parts share: collectives, element types, operators and their algebra. The rules of
// each collective are in fermata/collectives.hpp.
#ifndef FERMATA_BASE_COLLECTIVE_HPP
#define FERMATA_BASE_COLLECTIVE_HPP

#include <cstddef>
#include <cstdint>

#include "fermata/collectives.hpp"

namespace fermata {

enum class Collective : std::uint8_t {
  kBarrier = 0,
  kBroadcast = 1,
  kReduce = 2,
  kAllreduce = 3,
  kGather = 4,
  kScatter = 5,
  kAllgather = 6,
  kReduceScatter = 7,
  kAlltoall = 8,
  kScan = 9,
  kExscan = 10
};
// The first kLineCollectiveCount collectives can have plans on lines (src/plan/plan.hpp): the line of a
// signal carries the payload. The other collectives, and larger payloads, move as blocks. Exception: small
// blocks may travel together (bytes_together()).
inline constexpr int kLineCollectiveCount = 4;

// True if the collective's payload travels on lines where it fits.
constexpr bool rides_on_a_line(Collective c) { return static_cast<int>(c) < kLineCollectiveCount; }
// A collective from another process may be any number. For a number that is no collective, rules_of returns
// the rules of a barrier, and the functions below that return a bool return false.
constexpr const CollectiveRules& rules_of(Collective c) { return rules_of(static_cast<int>(c)); }
template <bool (CollectiveRules::*kRule)() const>
constexpr bool holds(Collective c) {
  return holds<kRule>(static_cast<int>(c));
}
constexpr bool has_root(Collective c) { return holds<&CollectiveRules::has_root>(c); }
constexpr bool root_gives(Collective c) { return holds<&CollectiveRules::root_gives>(c); }
constexpr bool root_gets(Collective c) { return holds<&CollectiveRules::root_gets>(c); }
constexpr bool folds(Collective c) { return holds<&CollectiveRules::folds>(c); }
constexpr bool synchronizes(Collective c) { return holds<&CollectiveRules::synchronizes>(c); }
constexpr bool has_several_blocks(Collective c) { return holds<&CollectiveRules::has_several>(c); }
constexpr bool hides_lengths(Collective c) { return holds<&CollectiveRules::hides_lengths>(c); }

enum class Type : std::uint8_t {
  kInt32 = 0,
  kInt64,
  kUint32,
  kUint64,
  kFloat,
  kDouble,
  kInt8,
  kUint8,
  kInt16,
  kUint16,
  kHalf,
  kBfloat16,
  // Pairs for minloc and maxloc: a C struct of a value and an int32 index.
  kFloatInt,
  kDoubleInt,
  kInt32Int,
  kInt64Int,
  kInt16Int
};
inline constexpr int kTypeCount = 17;

enum class Op : std::uint8_t { kSum = 0, kProd, kMin, kMax, kAnd, kOr, kXor, kLand, kLor, kMinloc, kMaxloc };
inline constexpr int kOpCount = 11;

// The properties of an operator that schedules may use. All predefined operators commute. Sums and products
// of floating-point numbers do not associate. min, max, and, or, land, lor, minloc and maxloc are idempotent:
// a repeated contribution does not change the result.
struct OpTraits {
  bool associative = true;
  bool commutative = true;
  bool idempotent = false;
  bool left_to_right = false;  // only ((0 op 1) op 2) op ... is allowed, as in a serial loop over the ranks
};

constexpr bool is_floating(Type t) {
  return t == Type::kFloat || t == Type::kDouble || t == Type::kHalf || t == Type::kBfloat16;
}
constexpr bool is_pair(Type t) { return t >= Type::kFloatInt; }

// Bitwise operators are for integers. minloc and maxloc are for pairs, and pairs have no other operators.
constexpr bool is_defined(Op op, Type type) {
  const bool bitwise = op == Op::kAnd || op == Op::kOr || op == Op::kXor;
  const bool located = op == Op::kMinloc || op == Op::kMaxloc;
  return located == is_pair(type) && !(bitwise && is_floating(type));
}

constexpr OpTraits traits_of(Op op, Type type) {
  const bool rounds = is_floating(type) && (op == Op::kSum || op == Op::kProd);
  const bool repeats = op == Op::kSum || op == Op::kProd || op == Op::kXor;
  return {.associative = !rounds, .commutative = true, .idempotent = !repeats};
}

// Every size is a power of two, so one constant holds three bits per type. A lookup costs neither a branch
// nor a load in the path of a call.
inline constexpr std::uint64_t kLog2Sizes = [] {
  constexpr unsigned kLog2[kTypeCount] = {2, 3, 2, 3, 2, 3, 0, 0, 1, 1, 1, 1, 3, 4, 3, 4, 3};
  std::uint64_t bits = 0;
  for (int t = 0; t < kTypeCount; ++t) bits |= std::uint64_t{kLog2[t]} << (3 * t);
  return bits;
}();
constexpr unsigned log2_size_of(Type t) {
  return static_cast<unsigned>(kLog2Sizes >> (3 * static_cast<unsigned>(t)) & 7u);
}
constexpr std::size_t size_of(Type t) { return std::size_t{1} << log2_size_of(t); }

constexpr const char* name_of(Type t) {
  constexpr const char* kNames[kTypeCount] = {
      "int32",  "int64", "uint32",   "uint64",    "float",      "double",    "int8",      "uint8",    "int16",
      "uint16", "half",  "bfloat16", "float_int", "double_int", "int32_int", "int64_int", "int16_int"};
  return kNames[static_cast<int>(t)];
}

constexpr const char* name_of(Op op) {
  constexpr const char* kNames[kOpCount] = {"sum", "prod", "min", "max",    "and",   "or",
                                            "xor", "land", "lor", "minloc", "maxloc"};
  return kNames[static_cast<int>(op)];
}

constexpr const char* name_of(Collective c) { return rules_of(c).name; }

// Bytes of payload on one 64-byte line, after its 8-byte header.
inline constexpr std::size_t kLinePayload = 56;

// Small blocks of a call can travel together on one line, as one broadcast, reduce or allreduce of all of
// them. Returns the bytes of these blocks, or 0 if they do not fit or the collective has at most one block.
// In a gather or scatter of two members only one block travels, since the root's own stays.
constexpr std::size_t bytes_together(Collective c, std::size_t members, std::size_t block) {
  if (!has_several_blocks(c) || block > kLinePayload) return 0;
  const bool square = holds<&CollectiveRules::is_square>(c);
  const std::size_t all = block * (has_root(c) && members == 2 ? 1 : members) * (square ? members : 1);
  return all <= kLinePayload ? all : 0;
}

}  // namespace fermata
#endif
