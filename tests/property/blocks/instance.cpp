#include "instance.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/collective.hpp"
#include "fermata/collectives.hpp"
#include "typed.hpp"

namespace fermata::test {
namespace {

constexpr unsigned char kUntouched = 0xa5;
constexpr std::size_t kGuard = 64;  // bytes after each buffer
constexpr std::size_t kMostBytes = 24;
using Bytes = std::array<unsigned char, kMostBytes>;

// x -> a x + b; composition associates and does not commute. n counts contributions.
struct Affine {
  std::uint64_t a, b, n;
};
static_assert(sizeof(Affine) == kMostBytes);

Affine compose(const Affine& left, const Affine& right) {
  return {left.a * right.a, left.a * right.b + left.b, left.n + right.n};
}

void fold_affine(void* out, const void* left, const void* right, std::size_t count, void*) {
  for (std::size_t i = 0; i < count * sizeof(Affine); i += sizeof(Affine)) {
    Affine l;
    Affine r;
    std::memcpy(&l, static_cast<const char*>(left) + i, sizeof l);
    std::memcpy(&r, static_cast<const char*>(right) + i, sizeof r);
    const Affine both = compose(l, r);
    std::memcpy(static_cast<char*>(out) + i, &both, sizeof both);
  }
}

std::uint64_t mix(std::uint64_t x) {
  x = (x + 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
  return x ^ x >> 31;
}

// An element in the reference: a number 0..7 (or a sum of some), a pair, or a map.
struct Value {
  std::int64_t number = 0;
  std::int32_t index = 0;
  Affine map{};
  double rounded = 0;
  Bytes typed{};
};
static_assert(kMostTyped <= kMostBytes);

Value contribution(const Shape& shape, int rank, int block, std::size_t i) {
  const Element element = shape.element;
  const std::uint64_t h =
      mix(shape.seed * 1000003 + static_cast<std::uint64_t>(rank * 64 + block) * 2654435761u + i);
  if (element == Element::kTyped) {
    Value v;
    typed_element(shape.type, shape.op, h, v.typed.data());
    return v;
  }
  if (element == Element::kAffine) return {0, 0, {h | 1, h >> 7, 1}};
  if (element == Element::kRounded)  // magnitudes between 2^-20 and 2^19, and both signs
    return {0,
            0,
            {},
            std::ldexp(static_cast<double>(h >> 12) + 1, -52 + static_cast<int>(h % 40) - 20) *
                ((h & 64) != 0 ? -1 : 1)};
  return {static_cast<std::int64_t>(h >> 20 & 7), rank * 1000 + static_cast<std::int32_t>(h >> 40 & 511), {}};
}

Value fold(const Shape& shape, const Value& left, const Value& right) {
  const Element element = shape.element;
  if (element == Element::kTyped) {
    Value both = left;
    typed_fold(shape.type, shape.op, both.typed.data(), right.typed.data());
    return both;
  }
  if (element == Element::kAffine) return {0, 0, compose(left.map, right.map)};
  if (element == Element::kRounded) return {0, 0, {}, left.rounded + right.rounded};
  if (element != Element::kFloatInt) return {left.number + right.number, 0, {}};
  const bool keeps = left.number < right.number || (left.number == right.number && left.index <= right.index);
  return keeps ? left : right;
}

// Exact: sums of a few small integers have at most 11 bits.
std::uint16_t to_half(std::int64_t number) {
  if (number == 0) return 0;
  int exponent = 0;
  while (number >> (exponent + 1) != 0) ++exponent;
  return static_cast<std::uint16_t>((exponent + 15) << 10 | ((number << (10 - exponent)) & 0x3ff));
}

template <class T>
Bytes bytes_of(const T& value) {
  Bytes bytes{};
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

Bytes encode(Element element, const Value& v) {
  switch (element) {
    case Element::kDouble: return bytes_of(static_cast<double>(v.number));
    case Element::kInt32: return bytes_of(static_cast<std::int32_t>(v.number));
    case Element::kInt8: return bytes_of(static_cast<std::int8_t>(v.number));
    case Element::kHalf: return bytes_of(to_half(v.number));
    case Element::kFloatInt: return bytes_of(fermata_float_int{static_cast<float>(v.number), v.index});
    case Element::kRounded: return bytes_of(v.rounded);
    case Element::kTyped: return v.typed;
    case Element::kAffine: break;
  }
  return bytes_of(v.map);
}

int type_of(Element element) {
  switch (element) {
    case Element::kDouble:
    case Element::kRounded: return FERMATA_DOUBLE;
    case Element::kInt32: return FERMATA_INT32;
    case Element::kInt8: return FERMATA_INT8;
    case Element::kHalf: return FERMATA_HALF;
    default: return FERMATA_FLOAT_INT;
  }
}

bool several_in(int c) { return rules_of(c).differs_by_receiver(); }
bool several_out(int c) { return rules_of(c).differs_by_giver(); }

}  // namespace

std::size_t size_of(Element element) {
  constexpr std::size_t kSizes[] = {8, 4, 1, 2, 8, 24, 8, 0};
  return kSizes[static_cast<int>(element)];
}

std::size_t size_of(const Shape& shape) {
  return shape.element == Element::kTyped ? fermata::size_of(static_cast<Type>(shape.type))
                                          : size_of(shape.element);
}

std::string describe(const Shape& s) {
  constexpr const char* kTypes[] = {"double", "int32", "int8", "half", "float_int", "affine", "rounded", ""};
  std::string typed;
  if (s.element == Element::kTyped)
    typed = std::string(name_of(static_cast<Type>(s.type))) + " " + name_of(static_cast<Op>(s.op));
  return std::string(rules_of(s.collective).name) + (s.irregular ? "v" : "") + "(" + std::to_string(s.count) +
         " " + kTypes[static_cast<int>(s.element)] + typed + ", root " + std::to_string(s.root) +
         (s.in_place ? ", in place" : "") + ", seed " + std::to_string(s.seed) + ")";
}

Instance::Instance(const Shape& shape, int rank, int members)
    : shape_(shape), rank_(rank), members_(members), operation_(FERMATA_OPERATION_INIT) {
  lay_out(in_, several_in(shape.collective), false);
  // In place, the input lies where the output is.
  const bool reduces_here = in_place_here() && shape.collective == FERMATA_REDUCE_SCATTER;
  lay_out(out_, several_out(shape.collective) || (in_place_here() && several_in(shape.collective)),
          !reduces_here);
  operation_.collective = shape.collective;
  operation_.root = shape.root;
  operation_.irregular = shape.irregular ? 1 : 0;
  operation_.count = shape.count;
  if (shape.irregular && shape.collective == FERMATA_GATHER) operation_.count = count_of(rank, shape.root);
  if (shape.irregular && shape.collective == FERMATA_SCATTER) operation_.count = count_of(shape.root, rank);
  if (shape.element == Element::kAffine) {
    operation_.element = sizeof(Affine);
    operation_.fold = fold_affine;
    operation_.ordered = FERMATA_RANK_ORDER;
  } else if (shape.element == Element::kTyped) {
    operation_.type = shape.type;
    operation_.op = shape.op;
  } else {
    operation_.type = type_of(shape.element);
    operation_.op = shape.element == Element::kFloatInt ? FERMATA_MINLOC : FERMATA_SUM;
    if (shape.element == Element::kRounded) operation_.ordered = FERMATA_LEFT_TO_RIGHT;
  }
  fill(shape.seed);
}

// Does this member's input count? Other members pass NULL.
bool Instance::has_input() const { return rules_of(shape_.collective).reads(is_root()); }
bool Instance::has_output() const { return rules_of(shape_.collective).writes(is_root()); }
bool Instance::in_place_here() const { return shape_.in_place && has_input() && has_output(); }

std::size_t Instance::count_of(int from, int to) const {
  if (!shape_.irregular) return shape_.count;
  int which = from;
  if (shape_.collective == FERMATA_SCATTER || shape_.collective == FERMATA_REDUCE_SCATTER) which = to;
  if (shape_.collective == FERMATA_ALLTOALL) {
    if (shape_.in_place && from > to) std::swap(from, to);
    which = from * 64 + to;
  }
  const std::uint64_t h = mix(shape_.seed * 31 + static_cast<std::uint64_t>(which));
  return h % 4 == 0 ? 0 : (h >> 8) % (shape_.count + 1);
}

// Blocks in sequence, or (irregular, odd seeds) in reverse with a gap between two.
void Instance::lay_out(Side& side, bool several, bool receives) {
  const int blocks = several ? members_ : 1;
  const bool scattered = shape_.irregular && several && shape_.seed % 2 == 1;
  for (int b = 0; b < blocks; ++b) {
    int from = receives ? b : rank_;
    int to = receives ? rank_ : b;
    if (!several) from = rank_;
    if (shape_.collective == FERMATA_SCATTER) {
      from = shape_.root;
      to = several ? b : rank_;
    }
    side.counts.push_back(count_of(from, to));
  }
  side.displacements.assign(side.counts.size(), 0);
  for (int i = 0; i < blocks; ++i) {
    const auto b = static_cast<std::size_t>(scattered ? blocks - 1 - i : i);
    side.displacements[b] = side.elements;
    side.elements += side.counts[b] + (scattered ? 1 : 0);
  }
}

void Instance::write_input(std::vector<unsigned char>& into, const Side& side) const {
  const bool own_block = side.counts.size() > 1 && !several_in(shape_.collective);  // a gather in place
  const std::size_t size = size_of(shape_);
  for (std::size_t b = 0; b < side.counts.size(); ++b) {
    if (own_block && b != static_cast<std::size_t>(rank_)) continue;
    for (std::size_t i = 0; i < side.counts[b]; ++i) {
      const Bytes one =
          encode(shape_.element, contribution(shape_, rank_, own_block ? 0 : static_cast<int>(b), i));
      std::memcpy(&into[(side.displacements[b] + i) * size], one.data(), size);
    }
  }
}

void Instance::fill(std::uint64_t seed) {
  // Counts remain those of the first seed.
  if (!shape_.irregular) shape_.seed = seed;
  const std::size_t size = size_of(shape_);
  in_.bytes.assign(in_.elements * size + kGuard, kUntouched);
  out_.bytes.assign(out_.elements * size + kGuard, kUntouched);
  const bool in_place = in_place_here();
  const bool scatters = shape_.collective == FERMATA_SCATTER;
  if (has_input() && (!in_place || scatters)) write_input(in_.bytes, in_);
  if ((in_place && !scatters) || (shape_.collective == FERMATA_BROADCAST && is_root()))
    write_input(out_.bytes, out_);
  operation_.in = has_input() ? in_.bytes.data() : nullptr;
  operation_.out = has_output() ? out_.bytes.data() : nullptr;
  if (in_place) (scatters ? operation_.out : const_cast<void*&>(operation_.in)) = FERMATA_IN_PLACE;
  if (!shape_.irregular) return;
  const bool given = shape_.seed % 2 == 1;
  if (several_in(shape_.collective) && has_input()) {
    operation_.in_counts = in_.counts.data();
    operation_.in_displacements = given ? in_.displacements.data() : nullptr;
  }
  if (several_out(shape_.collective) && has_output()) {
    operation_.out_counts = out_.counts.data();
    operation_.out_displacements = given ? out_.displacements.data() : nullptr;
  }
}

std::vector<unsigned char> Instance::expected_output() const {
  std::vector<unsigned char> expected(out_.bytes.size(), kUntouched);
  const std::size_t size = size_of(shape_);
  const int c = shape_.collective;
  if (in_place_here() && c == FERMATA_EXSCAN && rank_ == 0) write_input(expected, out_);
  if (!has_output() || (in_place_here() && c == FERMATA_SCATTER) || (c == FERMATA_EXSCAN && rank_ == 0))
    return expected;
  const std::size_t blocks = several_out(c) ? static_cast<std::size_t>(members_) : 1;
  const auto given = [&](int rank, int block, std::size_t i) { return contribution(shape_, rank, block, i); };
  for (std::size_t b = 0; b < blocks; ++b) {
    // A reduce_scatter in place writes its result to the first block's place.
    const bool first = c == FERMATA_REDUCE_SCATTER;
    const std::size_t count = first ? count_of(rank_, rank_) : out_.counts[b],
                      at = first ? 0 : out_.displacements[b];
    for (std::size_t i = 0; i < count; ++i) {
      Value v;
      if (c == FERMATA_BROADCAST) v = given(shape_.root, 0, i);
      else if (c == FERMATA_SCATTER) v = given(shape_.root, rank_, i);
      else if (c == FERMATA_GATHER || c == FERMATA_ALLGATHER) v = given(static_cast<int>(b), 0, i);
      else if (c == FERMATA_ALLTOALL) v = given(static_cast<int>(b), rank_, i);
      else {
        const int last = c == FERMATA_SCAN ? rank_ : c == FERMATA_EXSCAN ? rank_ - 1 : members_ - 1;
        const int block = c == FERMATA_REDUCE_SCATTER ? rank_ : 0;
        v = given(0, block, i);
        for (int r = 1; r <= last; ++r) v = fold(shape_, v, given(r, block, i));
      }
      const Bytes one = encode(shape_.element, v);
      std::memcpy(&expected[(at + i) * size], one.data(), size);
    }
  }
  return expected;
}

std::string Instance::check() const {
  std::vector<unsigned char> expected = expected_output();
  // The other blocks were input; their contents afterwards are undefined.
  if (in_place_here() && shape_.collective == FERMATA_REDUCE_SCATTER) {
    const std::size_t own = count_of(rank_, rank_) * size_of(shape_);
    const auto from = static_cast<std::ptrdiff_t>(own);
    std::copy(out_.bytes.begin() + from, out_.bytes.end() - kGuard, expected.begin() + from);
  }
  const auto wrong = std::mismatch(expected.begin(), expected.end(), out_.bytes.begin());
  if (wrong.first != expected.end())
    return describe(shape_) + ": output is wrong from byte " +
           std::to_string(wrong.first - expected.begin()) + " of " +
           std::to_string(out_.bytes.size() - kGuard);
  std::vector<unsigned char> given(in_.bytes.size(), kUntouched);
  if (has_input() && (!in_place_here() || shape_.collective == FERMATA_SCATTER)) write_input(given, in_);
  return given == in_.bytes ? "" : describe(shape_) + ": the input has changed";
}

int Instance::own_function(fermata_member* m) const {
  const fermata_operation& o = operation_;
  switch (o.collective) {
    case FERMATA_BROADCAST: return fermata_broadcast(m, o.out, o.count * size_of(shape_), o.root);
    case FERMATA_REDUCE: return fermata_reduce(m, o.in, o.out, o.count, o.type, o.op, o.root);
    case FERMATA_ALLREDUCE: return fermata_allreduce(m, o.in, o.out, o.count, o.type, o.op);
    case FERMATA_GATHER:
      return o.irregular
                 ? fermata_gatherv(m, o.in, o.count, o.out, o.out_counts, o.out_displacements, o.type, o.root)
                 : fermata_gather(m, o.in, o.out, o.count, o.type, o.root);
    case FERMATA_SCATTER:
      return o.irregular
                 ? fermata_scatterv(m, o.in, o.in_counts, o.in_displacements, o.out, o.count, o.type, o.root)
                 : fermata_scatter(m, o.in, o.out, o.count, o.type, o.root);
    case FERMATA_ALLGATHER:
      return o.irregular ? fermata_allgatherv(m, o.in, o.out, o.out_counts, o.out_displacements, o.type)
                         : fermata_allgather(m, o.in, o.out, o.count, o.type);
    case FERMATA_REDUCE_SCATTER:
      return o.irregular
                 ? fermata_reduce_scatterv(m, o.in, o.in_counts, o.in_displacements, o.out, o.type, o.op)
                 : fermata_reduce_scatter(m, o.in, o.out, o.count, o.type, o.op);
    case FERMATA_ALLTOALL:
      return o.irregular ? fermata_alltoallv(m, o.in, o.in_counts, o.in_displacements, o.out, o.out_counts,
                                             o.out_displacements, o.type)
                         : fermata_alltoall(m, o.in, o.out, o.count, o.type);
    case FERMATA_SCAN: return fermata_scan(m, o.in, o.out, o.count, o.type, o.op);
    default: return fermata_exscan(m, o.in, o.out, o.count, o.type, o.op);
  }
}

int Instance::call(fermata_member* member, bool as_data) const {
  const bool only_data = shape_.element == Element::kAffine || shape_.element == Element::kRounded;
  return as_data || only_data ? fermata_execute(member, &operation_) : own_function(member);
}

}  // namespace fermata::test
