// How a call is drawn: kind, form, sizes, types, operators, and what is wrong with it.
#include <algorithm>

#include "words.hpp"

namespace fuzz {
namespace {

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
constexpr bool kHasPersistent = true;
#else
constexpr bool kHasPersistent = false;
#endif
#if defined(MPICH) && MPI_VERSION >= 4
constexpr bool kHasWide = true;
#else
constexpr bool kHasWide = false;
#endif

constexpr int kSmall = 512;  // elements that MPI sends at once

int draw_elements(Random& shared) {
  const int p = shared.below(100);
  if (p < 8) return 0;
  if (p < 35) return 1 + shared.below(16);
  if (p < 68) return 12 * (1 + shared.below(4));
  if (p < 90) return 1 + shared.below(300);
  return p < 98 ? 12 * shared.below(400) : shared.below(40000);
}

bool suits(const Call& c, Wrong wrong) {
  const bool moves = c.kind != kBarrier && !c.reduces();
  switch (wrong) {
    case kBadRoot: return c.rooted();
    case kNullOperator:
    case kBadOperator: return c.reduces();
    case kSameBuffer:  // only the root would refuse it
      return c.kind != kBarrier && !c.rooted() && c.kind != kAlltoallw;
    case kMisplacedInPlace:
      return c.kind != kBarrier && (!c.rooted() || c.kind == kBcast) && c.kind != kAlltoallw;
    case kShorter:
    case kLonger: return moves && c.kind != kAlltoallw;
    // alltoallw would show the order
    case kOverlap: return c.kind == kGatherv || c.kind == kAllgatherv || c.kind == kAlltoallv;
    case kNullComm: return true;
    default: return c.kind != kBarrier;
  }
}

// Values that all ranks draw alike: the number of elements from each rank to each.
struct Plan {
  const Base* base;
  TypePointer type;  // everybody's type; null: each rank draws its own
  bool in_place;
  int units;                               // elements of the base in every rank's types; 0: they may differ
  std::vector<std::vector<int>> elements;  // [from][to]; regular: all the same
  int sum_to(int rank) const {
    int sum = 0;
    for (const auto& row : elements) sum += row[static_cast<std::size_t>(rank)];
    return sum;
  }
};

bool is_irregular(Kind kind) {
  return kind == kGatherv || kind == kScatterv || kind == kAllgatherv || kind == kAlltoallv ||
         kind == kAlltoallw || kind == kReduceScatter;
}

void draw_sizes(const Call& c, Plan* plan, Random& shared) {
  const auto n = static_cast<std::size_t>(c.size);
  int all = draw_elements(shared);
  if (c.wrong != kNothing) all = c.wrong == kShorter || c.wrong == kLonger ? 12 : std::max(1, all % 50);
  plan->elements.assign(n, std::vector<int>(n, all));
  if (!is_irregular(c.kind) || c.wrong == kOverlap || c.wrong == kShorter || c.wrong == kLonger) return;
  const int unit = shared.one_of({1, 2, 12});
  const bool by_sender = c.kind == kGatherv || c.kind == kAllgatherv;
  const bool by_receiver = c.kind == kScatterv || c.kind == kReduceScatter;
  for (std::size_t from = 0; from < n; ++from)
    for (std::size_t to = 0; to < n; ++to) {
      const int drawn = shared.chance(15) ? 0 : unit * (1 + shared.below(1 + std::min(all, 600) / unit));
      int& here = plan->elements[from][to];
      here = drawn;
      if (by_sender && to > 0) here = plan->elements[from][0];
      if (by_receiver && from > 0) here = plan->elements[0][to];
      if (plan->in_place && c.kind >= kAlltoallv && from > to && !by_receiver)
        here = plan->elements[to][from];
    }
}

int draw_units(const Plan& plan, Random& shared) {
  const int units = shared.one_of({1, 1, 2, 3, 4, 6, 12});
  for (const auto& row : plan.elements)
    for (const int n : row)
      if (n % units != 0) return 1;
  return units;
}

void draw_operator(Call& c, Plan* plan, const Off& off, Random& shared) {
  if (c.wrong == kNullOperator) {
    c.op.words = "MPI_OP_NULL";
    plan->type = predefined(*plan->base);
    return;
  }
  const bool bad = c.wrong == kBadOperator;
  const bool own = !bad && (c.wrong == kUncommitted || shared.chance(35));
  while (!own && c.op.handle == MPI_OP_NULL) {
    c.op = predefined_operator(*plan->base, !bad, shared);
    if (c.op.handle == MPI_OP_NULL)
      plan->base = &bases()[static_cast<std::size_t>(shared.below(static_cast<int>(bases().size())))];
  }
  if (own) {
    plan->base = &bases()[5];  // the base for which own operators are made
    c.op = own_operator(shared);
    c.frees_operator = shared.chance(40) && !off("early-operator");
  }
  if (c.wrong == kUncommitted) return;
  std::vector<int> sizes;
  for (const auto& row : plan->elements) sizes.insert(sizes.end(), row.begin(), row.end());
  plan->type = draw_type(*plan->base, sizes,
                         own && !off(std::string("derived-with-operator:") + kKindNames[c.kind]), 0, shared);
  const std::string low = std::string("lower-bound-with-operator:") + kKindNames[c.kind];
  if (plan->type->low != 0 && (off(low) || (c.form != kBlocking && off(low + ":begun"))))
    plan->type = predefined(*plan->base);
}

// Elements of the base in each block of this rank's input and output. Empty: not significant.
struct Parts {
  std::vector<int> in, out;
};
Parts parts_of(const Call& c, const Plan& plan) {
  const auto me = static_cast<std::size_t>(c.rank), root = static_cast<std::size_t>(c.root % c.size);
  const bool at_root = c.rank == c.root % c.size;
  std::vector<int> to_me, from_me = plan.elements[me];
  for (const auto& row : plan.elements) to_me.push_back(row[me]);
  const int mine = plan.elements[me][me];
  switch (c.kind) {
    case kBcast: return {{}, {mine}};
    case kReduce: return {{mine}, at_root ? std::vector<int>{mine} : std::vector<int>{}};
    case kAllreduce:
    case kScan:
    case kExscan: return {{mine}, {mine}};
    case kGather:
    case kGatherv: return {{mine}, at_root ? to_me : std::vector<int>{}};
    case kScatter:
    case kScatterv: return {at_root ? from_me : std::vector<int>{}, {plan.elements[root][me]}};
    case kAllgather:
    case kAllgatherv: return {{mine}, to_me};
    case kReduceScatter:
    case kReduceScatterBlock: return {from_me, {mine}};
    default: return {from_me, to_me};
  }
}

// One rank, one block, or all of them have room for less or more.
void change_lengths(const Call& c, Parts* parts, Random& shared) {
  const bool one_rank = shared.chance(50), one_block = shared.chance(50);
  const int who = shared.below(c.size), which = shared.below(c.size);
  const int to = c.wrong == kShorter ? shared.one_of({1, 6, 11}) : shared.one_of({13, 24});
  if (c.kind == kBcast && c.rank == c.root) return;
  if (one_rank && c.rank != who && c.kind != kGather && c.kind != kGatherv) return;
  for (std::size_t b = 0; b < parts->out.size(); ++b)
    if (!one_block || !is_irregular(c.kind) || b == static_cast<std::size_t>(which) % parts->out.size())
      parts->out[b] = to;
}

// Equal blocks get equal types, because a call may have one type for all.
void make_absolute(Side& side) {
  for (std::size_t b = 0; b < side.blocks.size(); ++b)
    side.absolute.push_back(b > 0 && side.blocks[b].type == side.blocks[b - 1].type
                                ? side.absolute.back()
                                : absolute(*side.blocks[b].type, side.at));
}

void set_counts(Call& c) {
  const auto set = [](const Side& side, int* count, MPI_Datatype* type, std::vector<int>* counts,
                      std::vector<int>* places, std::vector<MPI_Datatype>* types) {
    if (side.blocks.empty()) return;
    for (std::size_t b = 0; b < side.blocks.size(); ++b) {
      counts->push_back(side.blocks[b].count);
      places->push_back(side.blocks[b].displacement);
      types->push_back(side.absolute.empty() ? side.blocks[b].type->handle : side.absolute[b]->handle);
    }
    *count = counts->front();
    *type = types->front();
  };
  set(c.in, &c.in_count, &c.in_type, &c.in_counts, &c.in_places, &c.in_types);
  set(c.out, &c.out_count, &c.out_type, &c.out_counts, &c.out_places, &c.out_types);
}

// In place: a rank's input lies in its output.
void put_in_place(Call& c, Parts* parts) {
  const bool at_root = c.rank == c.root;
  if (c.kind == kScatter || c.kind == kScatterv) {
    c.out.in_place = at_root;
    if (at_root) parts->out.clear();
  } else if (!((c.kind == kReduce || c.kind == kGather || c.kind == kGatherv) && !at_root)) {
    c.in.in_place = true;
    if (c.kind == kReduceScatter || c.kind == kReduceScatterBlock) parts->out = parts->in;
    parts->in.clear();
  }
}

void draw_wrong(Call& c, const Off& off, const Focus& focus, Random& shared) {
  if (!shared.chance(7) && focus.wrong < 0) return;
  const auto drawn = static_cast<Wrong>(1 + shared.below(kWrongs - 1));
  const Wrong wrong = focus.wrong < 0 ? drawn : static_cast<Wrong>(focus.wrong);
  const std::string name = kWrongNames[wrong];
  if (!suits(c, wrong) || off(name) || off(name + ":" + kKindNames[c.kind])) return;
  if (c.form != kBlocking && (off(name + ":begun") || off(name + ":" + kKindNames[c.kind] + ":begun")))
    return;
  c.wrong = wrong;
}

void spoil(Call& c) {
  const auto negate = [](std::vector<int>& counts) {
    for (int& n : counts) n = -1;
  };
  if (c.wrong == kNegativeCount) {
    c.in_count = c.out_count = -1;
    negate(c.in_counts);
    negate(c.out_counts);
  }
  if (c.wrong == kBadRoot) c.root = c.size + 2;
  if (c.wrong == kNullComm) c.comm = MPI_COMM_NULL;
  if (c.wrong == kNullType) {
    c.in_type = c.out_type = MPI_DATATYPE_NULL;
    std::fill(c.in_types.begin(), c.in_types.end(), MPI_DATATYPE_NULL);
    std::fill(c.out_types.begin(), c.out_types.end(), MPI_DATATYPE_NULL);
  }
  if (c.wrong == kMisplacedInPlace) (c.out.given ? c.out : c.in).in_place = true;
}

void widen(Call& c) {
#if MPI_VERSION >= 4
  c.wide_in_counts.assign(c.in_counts.begin(), c.in_counts.end());
  c.wide_out_counts.assign(c.out_counts.begin(), c.out_counts.end());
  c.wide_in_places.assign(c.in_places.begin(), c.in_places.end());
  c.wide_out_places.assign(c.out_places.begin(), c.out_places.end());
#else
  (void)c;
#endif
}

void draw_form(Call& c, const Off& off, const Focus& focus, Random& shared) {
  c.kind = static_cast<Kind>(shared.below(kKinds));
  if (focus.kind >= 0) c.kind = static_cast<Kind>(focus.kind);
  const int form = shared.below(100);
  c.form = form < 45 ? kBlocking : form < 90 || !kHasPersistent || off("persistent") ? kBegun : kPersistent;
  if (focus.form >= 0) c.form = static_cast<Form>(focus.form);
  c.wide = shared.chance(25) && kHasWide && !off("wide");
  if (off(kKindNames[c.kind])) c.kind = kAllreduce;
  if (c.form != kBlocking && off(std::string(kKindNames[c.kind]) + ":begun")) c.form = kBlocking;
  draw_wrong(c, off, focus, shared);
}

void lay_out_sides(Call& c, const Plan& plan, const Parts& parts, const Off& off, Random& own) {
  Shape shape{plan.base, plan.type, {}, false, c.kind == kAlltoallw, false, 0, plan.units};
  if (c.wrong == kShorter || c.wrong == kLonger) shape.slack = 4096;
  shape.derived = !off("derived-types");
  const bool irregular = is_irregular(c.kind) && c.kind != kReduceScatter;
  shape.elements = parts.in;
  shape.apart = irregular && parts.in.size() > 1;
  if (!parts.in.empty()) lay_out(c.in, shape, own);
  shape.elements = parts.out;
  shape.apart = irregular && parts.out.size() > 1;
  shape.overlapping = c.wrong == kOverlap;
  if (!parts.out.empty()) lay_out(c.out, shape, own);
}

}  // namespace

void generate(Call& c, const Off& off, const Focus& focus, Random& shared, Random& own) {
  c.comm = c.room->comm;
  c.rank = c.room->rank;
  c.size = c.room->size;
  draw_form(c, off, focus, shared);
  c.root = shared.below(c.size);
  Plan plan{&bases()[static_cast<std::size_t>(shared.below(static_cast<int>(bases().size())))],
            nullptr,
            false,
            0,
            {}};
  const std::string in_place = std::string("in-place:") + kKindNames[c.kind];
  plan.in_place = c.kind != kBcast && c.kind != kBarrier && c.wrong == kNothing && shared.chance(20) &&
                  !off(in_place) && !(c.form != kBlocking && off(in_place + ":begun"));
  draw_sizes(c, &plan, shared);
  const bool is_pair = plan.base->family == Family::kPair;
  if (is_pair && off("large-pairs"))
    for (auto& row : plan.elements)
      for (int& n : row) n %= kSmall;
  if (c.reduces()) draw_operator(c, &plan, off, shared);
  if (off("types-of-different-size")) plan.units = draw_units(plan, shared);
  if (c.wrong == kUncommitted) plan.type = derived(*plan.base, 1, false, shared);
  if (c.wrong == kSameBuffer || (plan.in_place && c.kind >= kAlltoall && plan.type == nullptr))
    plan.type = predefined(*plan.base);
  const std::uint64_t values = c.wrong == kOverlap ? 0 : own.next() | 1;
  Parts parts = c.kind == kBarrier ? Parts{} : parts_of(c, plan);
  if (c.wrong == kShorter || c.wrong == kLonger) change_lengths(c, &parts, shared);
  if (plan.in_place) put_in_place(c, &parts);
  lay_out_sides(c, plan, parts, off, own);
  const bool values_out = c.in.in_place || (c.kind == kBcast && c.rank == c.root);
  if (c.wrong != kUncommitted) {
    if (c.in.given) fill(c.in, true, values, own);
    if (c.out.given) fill(c.out, values_out, values, own);
  }
  const bool may_be_absolute = c.wrong == kNothing && !c.reduces() && !off("absolute") &&
                               !off(std::string("absolute:") + kKindNames[c.kind]);
  for (Side* const side : {&c.in, &c.out})
    if (may_be_absolute && side->given && own.chance(5)) make_absolute(*side);
  set_counts(c);
  // Values that the call reads from the other side's counts.
  if (c.reduces() && c.out.blocks.empty() && !c.in.blocks.empty())
    c.out_count = c.in_count, c.out_type = c.in_type;
  if (c.kind == kReduceScatter) {
    c.out_counts.clear();
    const TypePointer& type = !c.in.blocks.empty() ? c.in.blocks[0].type : c.out.blocks[0].type;
    for (const int n : plan.elements[0]) c.out_counts.push_back(n / type->elements);
  }
  const bool derived_types = !c.in.absolute.empty() || !c.out.absolute.empty() ||
                             (!c.in.blocks.empty() && c.in.blocks[0].type->derived) ||
                             (!c.out.blocks.empty() && c.out.blocks[0].type->derived);
  c.frees_types = derived_types && own.chance(30) && !off("early-type") &&
                  !(c.reduces() && off("early-type-of-reduction"));
  spoil(c);
  widen(c);
  describe(c, plan.base->name);
  if (c.in.given) c.sent_before = digest_of(c.in, true, true);
}

std::string result_of(Call& c) {
  const bool right = c.called == MPI_SUCCESS && c.completed == MPI_SUCCESS;
  const bool defined =
      right && (c.wrong == kNothing || c.wrong == kOverlap) && !(c.kind == kExscan && c.rank == 0);
  bool padded = false;
  for (const Block& b : c.out.blocks) padded = padded || b.type->base->has_gaps;
  if (c.in.in_place && (c.kind == kReduceScatter || c.kind == kReduceScatterBlock) && !c.out.blocks.empty()) {
    c.out.blocks[0].count =
        c.kind == kReduceScatter ? c.out_counts[static_cast<std::size_t>(c.rank)] : c.out_count;
    c.out.blocks.resize(1);
    padded = true;  // the memory after the result is not defined
  }
  char line[256];
  const auto got = c.out.given ? digest_of(c.out, defined, !c.reduces() && !padded) : 0;
  const bool kept = !c.in.given || digest_of(c.in, true, true) == c.sent_before;
  std::snprintf(line, sizeof line, "%d called %d, completed %d, handled %ld, data %016llx, input %s",
                c.number, c.called, c.completed, c.handled, static_cast<unsigned long long>(got),
                kept ? "kept" : "CHANGED");
  return line;
}

}  // namespace fuzz
