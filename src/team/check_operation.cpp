// Checks the arguments of a collective on blocks.
#include <algorithm>
#include <numeric>
#include <tuple>
#include <vector>

#include "team/blocks.hpp"

namespace fermata::team {
namespace {

constexpr std::size_t kMostElement = 4096;

bool fits(std::size_t count, std::size_t times, std::size_t element) {
  return count <= (SIZE_MAX >> 2) / times / element;
}

int check_counts(const size_t* counts, const size_t* displacements, std::uint32_t members,
                 std::size_t element, std::size_t* largest) {
  for (std::uint32_t r = 0; r < members; ++r) {
    if (!fits(counts[r], 1, element) || (displacements != nullptr && !fits(displacements[r], 1, element)))
      return fail(Status::kArgument, "rank %u: a count or displacement is too large", r);
    *largest = std::max(*largest, counts[r]);
  }
  return FERMATA_OK;
}

// No element may be in two blocks of an output. Mostly the blocks are in the order of the ranks, and no sort
// is needed.
int check_apart(const size_t* counts, const size_t* displacements, std::uint32_t members) {
  std::size_t end = 0;
  std::uint32_t r = 0;
  for (; r < members && (counts[r] == 0 || displacements[r] >= end); ++r)
    if (counts[r] != 0) end = displacements[r] + counts[r];
  if (r == members) return FERMATA_OK;
  std::vector<std::uint32_t> ranks;
  for (r = 0; r < members; ++r)
    if (counts[r] != 0) ranks.push_back(r);
  std::sort(ranks.begin(), ranks.end(),
            [&](std::uint32_t a, std::uint32_t b) { return displacements[a] < displacements[b]; });
  for (std::size_t i = 1; i < ranks.size(); ++i) {
    const std::uint32_t before = ranks[i - 1], next = ranks[i];
    if (displacements[before] + counts[before] > displacements[next])
      return fail(Status::kArgument, "out: the blocks of ranks %u and %u overlap", std::min(before, next),
                  std::max(before, next));
  }
  return FERMATA_OK;
}

// One member's input or output, in bytes: from its first block that is not empty to the end of the last one.
struct Side {
  std::uintptr_t at = 0;
  std::size_t bytes = 0;
  std::uintptr_t own = 0;  // the address of this member's own block
};

Side side_of(const fermata_member* member, const void* at, std::size_t element, bool several,
             std::size_t count, const size_t* counts, const size_t* displacements) {
  const std::uint32_t members = member->member->team().members();
  const std::uint32_t rank = member->member->rank();
  const auto base = reinterpret_cast<std::uintptr_t>(at);
  Side side{base, count * element, base};
  if (!several) return side;
  side.own = base + rank * side.bytes;
  side.bytes *= members;
  if (counts == nullptr) return side;
  std::size_t next = 0, begin = SIZE_MAX, end = 0;
  for (std::uint32_t r = 0; r < members; ++r) {
    const std::size_t first = displacements != nullptr ? displacements[r] : next;
    if (r == rank) side.own = base + first * element;
    if (counts[r] != 0) begin = std::min(begin, first), end = std::max(end, first + counts[r]);
    next += counts[r];
  }
  if (end == 0) begin = 0;
  side.at = base + begin * element;
  side.bytes = (end - begin) * element;
  return side;
}

bool are_all_empty(const size_t* counts, std::uint32_t members) {
  return std::all_of(counts, counts + members, [](std::size_t count) { return count == 0; });
}

// Do input and output overlap, other than in place? Precondition: all other checks have passed.
bool overlaps(const fermata_member* member, const fermata_operation& o, const Checked& c, bool root) {
  if (c.kind == Kind::kBroadcast || o.in == FERMATA_IN_PLACE || o.out == FERMATA_IN_PLACE) return false;
  const bool several_in =
      c.kind == Kind::kAlltoall || c.kind == Kind::kReduceScatter || (c.kind == Kind::kScatter && root);
  const bool several_out =
      c.kind == Kind::kAlltoall || c.kind == Kind::kAllgather || (c.kind == Kind::kGather && root);
  const std::size_t mine = own_count(o, c, member->member->rank());
  const Side in = side_of(member, o.in, c.element, several_in, mine, o.in_counts, o.in_displacements);
  const Side out = side_of(member, o.out, c.element, several_out, mine, o.out_counts, o.out_displacements);
  if (in.at >= out.at + out.bytes || out.at >= in.at + in.bytes || in.bytes == 0 || out.bytes == 0)
    return false;
  if (c.kind == Kind::kGather || c.kind == Kind::kAllgather) return in.at != out.own;
  if (c.kind == Kind::kScatter) return out.at != in.own;
  return o.in != o.out;
}

}  // namespace

std::size_t own_count(const fermata_operation& o, const Checked& c, std::size_t rank) {
  if (!c.irregular || c.hidden) return o.count;
  return (c.counts_in ? o.in_counts : o.out_counts)[rank];
}

int check(const fermata_member* member, const fermata_operation& o, Checked* out) {
  if (o.size != sizeof o) return fail(Status::kArgument, "operation.size: use FERMATA_OPERATION_INIT");
  if (o.collective < FERMATA_DO_BROADCAST || o.collective > FERMATA_DO_EXSCAN)
    return fail(Status::kArgument, "collective %d is none of fermata_collective", o.collective);
  const std::uint32_t members = member->member->team().members();
  const std::uint32_t rank = member->member->rank();
  Checked& c = *out;
  c.kind = static_cast<Kind>(o.collective);
  if (o.element > kMostElement)
    return fail(Status::kUnsupported, "an element has at most %zu bytes", kMostElement);
  if (o.element == 0 && (o.type < 0 || o.type >= kTypeCount))
    return fail(Status::kArgument, "type %d is none of fermata_type", o.type);
  c.element = o.element != 0 ? o.element : size_of(static_cast<Type>(o.type));
  if (has_root(c.kind) && (o.root < 0 || static_cast<std::uint32_t>(o.root) >= members))
    return fail(Status::kArgument, "root %d is not in 0..%u", o.root, members - 1);
  if (folds(c.kind)) {
    if (o.ordered < FERMATA_ANY_ORDER || o.ordered > FERMATA_LEFT_TO_RIGHT)
      return fail(Status::kArgument, "order %d is none of fermata_order", o.ordered);
    if (o.fold != nullptr) {
      c.traits = {.associative = false, .commutative = o.ordered == FERMATA_ANY_ORDER, .idempotent = false};
    } else {
      if (o.element != 0)
        return fail(Status::kArgument, "an opaque element needs an operator of its own: set fold");
      if (o.op < 0 || o.op >= kOpCount) return fail(Status::kArgument, "op %d is none of fermata_op", o.op);
      if (!is_defined(static_cast<Op>(o.op), static_cast<Type>(o.type)))
        return fail(Status::kArgument, "%s is not defined for %s", name_of(static_cast<Op>(o.op)),
                    name_of(static_cast<Type>(o.type)));
      c.traits = traits_of(static_cast<Op>(o.op), static_cast<Type>(o.type));
    }
    // An associative operator gives the same bits in every grouping that keeps the order of the ranks.
    const bool in_one_order =
        o.ordered == FERMATA_LEFT_TO_RIGHT || member->member->team().layout().reproducible != 0;
    if (in_one_order && !c.traits.associative)
      c.traits = {.associative = false, .commutative = false, .idempotent = false, .left_to_right = true};
  }
  const bool root = !has_root(c.kind) || static_cast<std::uint32_t>(o.root) == rank;
  c.irregular = o.irregular != 0;
  c.hidden = c.irregular && hidden_sizes(c.kind);
  const bool may_differ =
      hidden_sizes(c.kind) || c.kind == Kind::kAllgather || c.kind == Kind::kReduceScatter;
  if (c.irregular && !may_differ) return fail(Status::kUnsupported, "%s takes no counts", name_of(c.kind));
  const bool given = o.in_counts != nullptr || o.out_counts != nullptr || o.in_displacements != nullptr ||
                     o.out_displacements != nullptr;
  if (!c.irregular && given) return fail(Status::kArgument, "counts and displacements need irregular set");
  c.counts_in = c.irregular && (c.kind == Kind::kAlltoall || c.kind == Kind::kReduceScatter ||
                                (c.kind == Kind::kScatter && root));
  c.counts_out = c.irregular && (c.kind == Kind::kAlltoall || c.kind == Kind::kAllgather ||
                                 (c.kind == Kind::kGather && root));
  if ((c.counts_in && o.in_counts == nullptr) || (c.counts_out && o.out_counts == nullptr))
    return null_handle();
  c.largest = c.irregular && !has_root(c.kind) ? 0 : o.count;
  for (const auto& [used, counts, displacements] :
       {std::tuple{c.counts_in, o.in_counts, o.in_displacements},
        std::tuple{c.counts_out, o.out_counts, o.out_displacements}}) {
    if (!used) continue;
    const int bad = check_counts(counts, displacements, members, c.element, &c.largest);
    if (bad != FERMATA_OK) return bad;
  }
  if (!fits(c.largest, members, c.element))
    return fail(Status::kArgument, "%zu elements of %zu bytes are too many", c.largest, c.element);
  c.mean = c.largest * c.element;
  if (c.irregular && !c.hidden) {
    const size_t* const counts = c.counts_in ? o.in_counts : o.out_counts;
    c.mean = std::accumulate(counts, counts + members, std::size_t{0}) * c.element / members;
    c.sizes = exec::Call::hash_of(counts, members, c.element);
  }
  const bool reads = c.kind != Kind::kBroadcast && (c.kind != Kind::kScatter || root);
  const bool writes =
      c.kind == Kind::kBroadcast || (c.kind != Kind::kReduce && c.kind != Kind::kGather) || root;
  // A member's own block may be counted in in_counts, in out_counts or by `count`.
  const std::size_t own = c.irregular && c.kind == Kind::kAlltoall ? 0 : own_count(o, c, rank);
  const auto is_empty = [&](bool counted, const size_t* counts, bool others_counted, const size_t* others) {
    return own == 0 && (!counted || are_all_empty(counts, members)) && (!others_counted || others[rank] == 0);
  };
  const auto in_is_empty = [&] {
    return !reads || is_empty(c.counts_in, o.in_counts, c.counts_out, o.out_counts);
  };
  if (o.in == nullptr && !in_is_empty()) return null_handle();
  if (writes && o.out == nullptr) {
    const bool holds_in = o.in == FERMATA_IN_PLACE && !in_is_empty();
    if (holds_in || !is_empty(c.counts_out, o.out_counts, c.counts_in, o.in_counts)) return null_handle();
  }
  // FERMATA_IN_PLACE stands for a place in the other buffer. Some members have no other buffer, or need not
  // pass it.
  const bool scatters = c.kind == Kind::kScatter;
  const bool bare = scatters || (c.kind == Kind::kGather && !root) ||
                    (!writes && (o.out == nullptr || o.out == FERMATA_IN_PLACE));
  const bool nowhere = (reads && bare && o.in == FERMATA_IN_PLACE) ||
                       (writes && !(scatters && root) && o.out == FERMATA_IN_PLACE);
  if (c.largest != 0 && nowhere) return fail(Status::kArgument, "%s", kNowhere);
  if (reads && writes && overlaps(member, o, c, root))
    return fail(Status::kArgument, "in and out overlap: they may be the same place, or FERMATA_IN_PLACE");
  // This check comes last, since it may run out of memory. All other errors are found before.
  return c.counts_out && o.out_displacements != nullptr
             ? check_apart(o.out_counts, o.out_displacements, members)
             : FERMATA_OK;
}

}  // namespace fermata::team
