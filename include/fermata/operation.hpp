// Collectives on blocks as typed values, for Member::execute, begin and prepare (fermata.hpp).
//
//   member.execute(fermata::allgather(mine, all));                  // waits
//   fermata::Request r = member.begin(fermata::allreduce(in, sums, fermata::Op::kSum));
//
// Buffers are contiguous ranges: spans, vectors, arrays. They must stay until the operation is over; those of
// a prepared one, whenever it runs. Counts and displacements must stay until the operation is executed, begun
// or prepared, which copies them. These calls throw std::invalid_argument if the size of a range does not fit
// the team, and Error for the errors of fermata/blocks.h, for example if blocks of an output overlap. A
// buffer that only the root needs may be empty elsewhere. Elements are trivially copyable and have at most
// 4096 bytes, in large teams fewer (fermata_operation).
#ifndef FERMATA_OPERATION_HPP
#define FERMATA_OPERATION_HPP

#include <bit>
#include <cstdint>
#include <ranges>
#include <span>
#include <stdexcept>
#include <type_traits>

#include "fermata/collectives.hpp"
#include "fermata/error.hpp"

namespace fermata::inline v0 {

// Elements for which C++20 has no type. A program reads and writes their bits.
struct Half {
  std::uint16_t bits;
};
struct Bfloat16 {
  std::uint16_t bits;
};

enum class Op {
  kSum = FERMATA_SUM,
  kProd = FERMATA_PROD,
  kMin = FERMATA_MIN,
  kMax = FERMATA_MAX,
  kAnd = FERMATA_AND,
  kOr = FERMATA_OR,
  kXor = FERMATA_XOR,
  kLand = FERMATA_LAND,
  kLor = FERMATA_LOR,
  kMinloc = FERMATA_MINLOC,
  kMaxloc = FERMATA_MAXLOC
};

// Pass in_place instead of an input, and the input is read from the place where the output goes. scatter's
// root passes it instead of the output, and its own block stays where it is.
struct InPlace {};
inline constexpr InPlace in_place{};

namespace detail {

template <class T>
struct Element;  // defined for the types of enum fermata_type that are not integers
template <>
struct Element<float> : std::integral_constant<int, FERMATA_FLOAT> {};
template <>
struct Element<double> : std::integral_constant<int, FERMATA_DOUBLE> {};
template <>
struct Element<Half> : std::integral_constant<int, FERMATA_HALF> {};
template <>
struct Element<Bfloat16> : std::integral_constant<int, FERMATA_BFLOAT16> {};
template <>
struct Element<fermata_float_int> : std::integral_constant<int, FERMATA_FLOAT_INT> {};
template <>
struct Element<fermata_double_int> : std::integral_constant<int, FERMATA_DOUBLE_INT> {};
template <>
struct Element<fermata_int32_int> : std::integral_constant<int, FERMATA_INT32_INT> {};
template <>
struct Element<fermata_int64_int> : std::integral_constant<int, FERMATA_INT64_INT> {};
template <>
struct Element<fermata_int16_int> : std::integral_constant<int, FERMATA_INT16_INT> {};

template <class T>
constexpr int type_of() {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    constexpr int kSigned[4] = {FERMATA_INT8, FERMATA_INT16, FERMATA_INT32, FERMATA_INT64};
    constexpr int kUnsigned[4] = {FERMATA_UINT8, FERMATA_UINT16, FERMATA_UINT32, FERMATA_UINT64};
    static_assert(sizeof(T) <= 8, "integers have at most 64 bits");
    return (std::is_signed_v<T> ? kSigned : kUnsigned)[std::bit_width(sizeof(T)) - 1];
  } else {
    return Element<T>::value;
  }
}

template <class T>
concept HasType =
    (std::is_integral_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= 8) || requires { Element<T>::value; };

}  // namespace detail

// An operator of the caller's own. f(left, right) returns an element. F has no state: it is a lambda without
// captures or a function object. The plan groups the contributions, so f must associate. It may do so up to
// rounding, as sums of doubles do: the rounding then depends on the plan. ordered_fold(f) keeps the order of
// the ranks. fold(f) does not: f(a, b) and f(b, a) must have the same bits.
template <class F, bool Ordered>
struct Fold {};
template <class F>
constexpr Fold<F, false> fold(F) {
  return {};
}
template <class F>
constexpr Fold<F, true> ordered_fold(F) {
  return {};
}

// An operation, and the number of elements of its ranges.
struct Operation {
  fermata_operation raw = FERMATA_OPERATION_INIT;
  std::size_t in = 0;
  std::size_t out = 0;
  std::size_t counts = 0, displacements = 0;  // how many entries each has
};

namespace detail {

template <class R>
concept Range = std::ranges::contiguous_range<R> && std::ranges::sized_range<R>;
template <class R>
concept Input = Range<R> || std::is_same_v<std::remove_cvref_t<R>, InPlace>;

template <class R>
struct ElementOf {
  using Type = std::ranges::range_value_t<R>;
};
template <>
struct ElementOf<InPlace> {
  using Type = void;
};

inline void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

// Makes an operation of the two ranges. They must have one element type.
template <class In, class Out>
Operation operation(int collective, In&& in, Out&& out) {
  using A = typename ElementOf<std::remove_cvref_t<In>>::Type;
  using B = typename ElementOf<std::remove_cvref_t<Out>>::Type;
  static_assert(std::is_void_v<A> || std::is_void_v<B> || std::is_same_v<A, B>,
                "both buffers must have the same elements");
  using T = std::conditional_t<std::is_void_v<A>, B, A>;
  static_assert(std::is_trivially_copyable_v<T>, "elements must be trivially copyable");
  Operation o;
  o.raw.collective = collective;
  if constexpr (HasType<T>) o.raw.type = type_of<T>();
  else o.raw.element = sizeof(T);
  if constexpr (Range<In>) {
    o.raw.in = std::ranges::data(in);
    o.in = std::ranges::size(in);
  } else {
    o.raw.in = FERMATA_IN_PLACE;
  }
  if constexpr (Range<Out>) {
    static_assert(!std::is_const_v<std::remove_pointer_t<decltype(std::ranges::data(out))>>,
                  "the output must not be const");
    o.raw.out = std::ranges::data(out);
    o.out = std::ranges::size(out);
  } else {
    o.raw.out = FERMATA_IN_PLACE;
  }
  return o;
}

template <class T, class F>
void apply(void* out, const void* left, const void* right, std::size_t count, void*) {
  for (std::size_t i = 0; i < count; ++i)
    static_cast<T*>(out)[i] = F{}(static_cast<const T*>(left)[i], static_cast<const T*>(right)[i]);
}

template <class T>
Operation with(Operation o, Op how) {
  static_assert(HasType<T>, "elements of a type of your own need an operator of your own: fermata::fold");
  o.raw.op = static_cast<int>(how);
  return o;
}
template <class T, class F, bool Ordered>
Operation with(Operation o, Fold<F, Ordered>) {
  static_assert(std::is_empty_v<F> && std::is_default_constructible_v<F>, "the operator must have no state");
  static_assert(std::is_invocable_r_v<T, F, T, T>, "the operator must return an element");
  o.raw.fold = apply<T, F>;
  o.raw.ordered = Ordered ? FERMATA_RANK_ORDER : FERMATA_ANY_ORDER;
  return o;
}

inline Operation rooted(Operation o, int root) {
  o.raw.root = root;
  return o;
}

using Counts = std::span<const std::size_t>;
inline void set_counts(Operation& o, Counts counts, Counts displacements, const std::size_t*& at,
                       const std::size_t*& displaced) {
  o.raw.irregular = 1;
  o.counts = counts.size();
  o.displacements = displacements.size();
  at = counts.data();
  displaced = displacements.empty() ? nullptr : displacements.data();
}

// Throws if a block does not lie within `elements` elements.
inline void check_blocks(const std::size_t* counts, const std::size_t* displacements, std::size_t members,
                         std::size_t elements) {
  std::size_t next = 0;
  for (std::size_t r = 0; r < members; ++r) {
    const std::size_t at = displacements != nullptr ? displacements[r] : next;
    require(at <= elements && counts[r] <= elements - at, "a block lies outside its buffer");
    next = at + counts[r];
  }
}

// For blocks of different sizes: checks the counts, and sets f.count to the elements of member `rank`'s own
// block. (An alltoall does not use f.count.)
inline void set_own_count(const Operation& o, fermata_operation& f, std::size_t members, int rank) {
  const CollectiveRules& rules = rules_of(f.collective);
  const bool in_here = f.in == FERMATA_IN_PLACE;
  const bool out_here = f.out == FERMATA_IN_PLACE;
  const bool several_in = rules.reads_several(f.root == rank);
  const bool several_out = rules.writes_several(f.root == rank);
  require(!(several_in || several_out) ||
              (o.counts == members && (o.displacements == 0 || o.displacements == members)),
          "counts and displacements need an entry per member");
  // In place, a reduce_scatter's output holds all blocks.
  if (f.in_counts != nullptr && several_in && (!in_here || rules.folds()))
    check_blocks(f.in_counts, f.in_displacements, members, in_here ? o.out : o.in);
  if (f.out_counts != nullptr && several_out) check_blocks(f.out_counts, f.out_displacements, members, o.out);
  f.count = rules.divides() ? o.out : o.in;
  if (!several_in) f.in_counts = f.in_displacements = nullptr;
  if (!several_out) f.out_counts = f.out_displacements = nullptr;
  const std::size_t* const counts = several_in ? f.in_counts : f.out_counts;
  if (counts == nullptr) return;
  if (in_here || out_here) f.count = counts[rank];
  require(rules.is_square() || f.count == counts[rank], "this member's block differs from its count");
}

// For blocks of one size: sets f.count to that size, and checks that both ranges consist of such blocks.
inline void set_count(const Operation& o, fermata_operation& f, std::size_t members, int rank) {
  const CollectiveRules& rules = rules_of(f.collective);
  const bool in_here = f.in == FERMATA_IN_PLACE;
  const bool out_here = f.out == FERMATA_IN_PLACE;
  const bool root = f.root == rank;
  const bool several_in = rules.reads_several(root);
  const std::size_t in_blocks = several_in ? members : 1;
  const std::size_t out_blocks = rules.writes_several(root) || (several_in && in_here) ? members : 1;
  const bool by_in = !in_here && (out_here || rules.root_gets());
  f.count = by_in ? o.in / in_blocks : o.out / out_blocks;
  require(in_here || !rules.reads(root) || o.in == f.count * in_blocks,
          "the size of the input does not fit the operation");
  require(out_here || !(rules.writes(root) || in_here) || o.out == f.count * out_blocks,
          "the size of the output does not fit the operation");
}

// Completes the operation for member `rank` of `members`, and checks its sizes. execute, begin and prepare
// call it.
inline fermata_operation finish(const Operation& o, int members, int rank) {
  fermata_operation f = o.raw;
  const CollectiveRules& rules = rules_of(f.collective);
  const bool root = f.root == rank;
  require(f.out != FERMATA_IN_PLACE || (rules.in_place_is_output() && root),
          "only scatter's root may pass in_place for the output");
  require(f.in != FERMATA_IN_PLACE || !rules.collects() || rules.writes(root),
          "only gather's root may pass in_place for the input");
  if (f.irregular != 0) set_own_count(o, f, static_cast<std::size_t>(members), rank);
  else set_count(o, f, static_cast<std::size_t>(members), rank);
  return f;
}

template <class In, class Out>
using Value = std::conditional_t<std::is_same_v<std::remove_cvref_t<In>, InPlace>,
                                 typename ElementOf<std::remove_cvref_t<Out>>::Type,
                                 typename ElementOf<std::remove_cvref_t<In>>::Type>;

}  // namespace detail

// Copies the root's block of data to all members.
template <detail::Range Data>
Operation broadcast(Data&& data, int root) {
  Operation o = detail::rooted(detail::operation(FERMATA_BROADCAST, data, data), root);
  o.raw.in = nullptr;
  return o;
}
// in: one block. out: one block, at the root alone. `how`, here and below: an Op, fold(f) or ordered_fold(f).
template <detail::Input In, detail::Range Out, class How>
Operation reduce(In&& in, Out&& out, How how, int root) {
  return detail::rooted(detail::with<detail::Value<In, Out>>(detail::operation(FERMATA_REDUCE, in, out), how),
                        root);
}
template <detail::Input In, detail::Range Out, class How>
Operation allreduce(In&& in, Out&& out, How how) {
  return detail::with<detail::Value<In, Out>>(detail::operation(FERMATA_ALLREDUCE, in, out), how);
}
// in: one block. out: at the root one block of each member, by rank.
template <detail::Input In, detail::Range Out>
Operation gather(In&& in, Out&& out, int root) {
  return detail::rooted(detail::operation(FERMATA_GATHER, in, out), root);
}
// in: at the root one block for each member, by rank. out: one block.
template <detail::Range In, detail::Input Out>
Operation scatter(In&& in, Out&& out, int root) {
  return detail::rooted(detail::operation(FERMATA_SCATTER, in, out), root);
}
template <detail::Input In, detail::Range Out>
Operation allgather(In&& in, Out&& out) {
  return detail::operation(FERMATA_ALLGATHER, in, out);
}
// in: one block for each member. out: the fold of all members' blocks for this member. In place, out holds
// all blocks at the call, and begins with the result at the end.
template <detail::Input In, detail::Range Out, class How>
Operation reduce_scatter(In&& in, Out&& out, How how) {
  return detail::with<detail::Value<In, Out>>(detail::operation(FERMATA_REDUCE_SCATTER, in, out), how);
}
template <detail::Input In, detail::Range Out>
Operation alltoall(In&& in, Out&& out) {
  return detail::operation(FERMATA_ALLTOALL, in, out);
}
// in: one block. out: the fold of the blocks of ranks 0 to this one. exscan leaves out this member's own
// block, and does not touch out at rank 0.
template <detail::Input In, detail::Range Out, class How>
Operation scan(In&& in, Out&& out, How how) {
  return detail::with<detail::Value<In, Out>>(detail::operation(FERMATA_SCAN, in, out), how);
}
template <detail::Input In, detail::Range Out, class How>
Operation exscan(In&& in, Out&& out, How how) {
  return detail::with<detail::Value<In, Out>>(detail::operation(FERMATA_EXSCAN, in, out), how);
}

// Blocks of different sizes. counts and displacements have an entry per member, in elements. Without
// displacements, the blocks follow each other in rank order. gatherv and scatterv use them only at the root.
template <detail::Input In, detail::Range Out>
Operation gatherv(In&& in, Out&& out, detail::Counts counts, int root, detail::Counts displacements = {}) {
  Operation o = detail::rooted(detail::operation(FERMATA_GATHER, in, out), root);
  detail::set_counts(o, counts, displacements, o.raw.out_counts, o.raw.out_displacements);
  return o;
}
template <detail::Range In, detail::Input Out>
Operation scatterv(In&& in, detail::Counts counts, Out&& out, int root, detail::Counts displacements = {}) {
  Operation o = detail::rooted(detail::operation(FERMATA_SCATTER, in, out), root);
  detail::set_counts(o, counts, displacements, o.raw.in_counts, o.raw.in_displacements);
  return o;
}
template <detail::Input In, detail::Range Out>
Operation allgatherv(In&& in, Out&& out, detail::Counts counts, detail::Counts displacements = {}) {
  Operation o = detail::operation(FERMATA_ALLGATHER, in, out);
  detail::set_counts(o, counts, displacements, o.raw.out_counts, o.raw.out_displacements);
  return o;
}
template <detail::Input In, detail::Range Out, class How>
Operation reduce_scatterv(In&& in, detail::Counts counts, Out&& out, How how,
                          detail::Counts displacements = {}) {
  Operation o = detail::with<detail::Value<In, Out>>(detail::operation(FERMATA_REDUCE_SCATTER, in, out), how);
  detail::set_counts(o, counts, displacements, o.raw.in_counts, o.raw.in_displacements);
  return o;
}
// It does not take in_place, but its input and output may be the same range.
template <detail::Range In, detail::Range Out>
Operation alltoallv(In&& in, detail::Counts in_counts, Out&& out, detail::Counts out_counts,
                    detail::Counts in_displacements = {}, detail::Counts out_displacements = {}) {
  detail::require(in_counts.size() == out_counts.size(), "input and output need the same number of counts");
  detail::require(in_displacements.empty() || in_displacements.size() == in_counts.size(),
                  "each block needs a displacement");
  Operation o = detail::operation(FERMATA_ALLTOALL, in, out);
  detail::set_counts(o, in_counts, in_displacements, o.raw.in_counts, o.raw.in_displacements);
  detail::set_counts(o, out_counts, out_displacements, o.raw.out_counts, o.raw.out_displacements);
  return o;
}

}  // namespace fermata::inline v0
#endif
