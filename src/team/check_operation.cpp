// Checks the arguments of a collective on blocks.
#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "team/blocks.hpp"

namespace fermata::team {
namespace {

constexpr std::size_t kMostElement = 4096;

// Can a buffer have count * times * element bytes? Without a division, which would take most of the time.
bool fits(std::size_t count, std::size_t times, std::size_t element) {
  std::size_t bytes;
  return !__builtin_mul_overflow(count, times * element, &bytes) && bytes <= SIZE_MAX >> 2;
}

int check_counts(const size_t* counts, const size_t* displacements, std::uint32_t members,
                 std::size_t element) {
  for (std::uint32_t r = 0; r < members; ++r)
    if (!fits(counts[r], 1, element) || (displacements != nullptr && !fits(displacements[r], 1, element)))
      return fail(Status::kArgument, "rank %u: a count or displacement is too large", r);
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

// A member's input or output as the caller gives it.
struct Given {
  const void* at = nullptr;
  const size_t* counts = nullptr;
  const size_t* displacements = nullptr;
  bool several = false;  // one block for each member, or from each member
  bool counted = false;  // `counts` has their sizes
};

// One member's input or output, in bytes: from its first block that is not empty to the end of the last one.
struct Extent {
  std::uintptr_t at = 0;
  std::size_t bytes = 0;
  std::uintptr_t own = 0;  // the address of this member's own block
};

// What a collective's rules say of one member, at the root or elsewhere. Looked up, because each small call
// needs nearly all of it.
struct MemberRules {
  bool has_root, folds, has_several, hides_lengths, collects, in_place_is_output;
  bool reads, writes, reads_several, writes_several, may_read_in_place;
};

constexpr auto kMemberRules = [] {
  std::array<std::array<MemberRules, 2>, kCollectiveCount> table{};
  for (int c = 0; c < kCollectiveCount; ++c)
    for (const bool at_root : {false, true}) {
      const CollectiveRules& r = rules_of(c);
      table[c][at_root] = {r.has_root(),
                           r.folds(),
                           r.has_several(),
                           r.hides_lengths(),
                           r.collects(),
                           r.in_place_is_output(),
                           r.reads(at_root),
                           r.writes(at_root),
                           r.reads_several(at_root),
                           r.writes_several(at_root),
                           r.may_read_in_place(at_root)};
    }
  return table;
}();

// The arguments of one call of one member. Its collective is one of fermata_collective.
class Arguments {
 public:
  Arguments(const fermata_member* member, const fermata_operation& operation, Checked* out)
      : o_(operation),
        c_(*out),
        team_(member->member->team()),
        members_(team_.members()),
        rank_(member->member->rank()),
        rules_(kMemberRules[operation.collective][static_cast<std::uint32_t>(operation.root) == rank_]),
        in_{o_.in, o_.in_counts, o_.in_displacements, rules_.reads_several},
        out_{o_.out, o_.out_counts, o_.out_displacements, rules_.writes_several} {}

  // Each step relies on the steps before it. The last one may run out of memory, so it comes after all
  // others.
  int check() {
    int bad = FERMATA_OK;
    const auto passes = [&bad](int status) { return (bad = status) == FERMATA_OK; };
    static_cast<void>(passes(check_element()) && passes(check_root()) && passes(check_operator()) &&
                      passes(check_irregular()) && passes(check_lengths()) && passes(check_buffers()) &&
                      passes(check_places()) && passes(check_output()));
    return bad;
  }

 private:
  int check_element() {
    c_.collective = static_cast<Collective>(o_.collective);
    if (o_.element > kMostElement)
      return fail(Status::kUnsupported, "an element has at most %zu bytes", kMostElement);
    if (o_.element == 0 && (o_.type < 0 || o_.type >= kTypeCount))
      return fail(Status::kArgument, "type %d is none of fermata_type", o_.type);
    c_.element = o_.element != 0 ? o_.element : size_of(static_cast<Type>(o_.type));
    return FERMATA_OK;
  }

  int check_root() {
    if (rules_.has_root && (o_.root < 0 || static_cast<std::uint32_t>(o_.root) >= members_))
      return fail(Status::kArgument, "root %d is not in 0..%u", o_.root, members_ - 1);
    return FERMATA_OK;
  }

  int check_operator() {
    if (!rules_.folds) return FERMATA_OK;
    if (o_.ordered < FERMATA_ANY_ORDER || o_.ordered > FERMATA_LEFT_TO_RIGHT)
      return fail(Status::kArgument, "order %d is none of fermata_order", o_.ordered);
    if (o_.fold != nullptr) {
      c_.traits = {.associative = false, .commutative = o_.ordered == FERMATA_ANY_ORDER, .idempotent = false};
    } else if (const int bad = check_builtin_operator(); bad != FERMATA_OK) {
      return bad;
    }
    // An associative operator gives the same bits in every grouping that keeps the order of the ranks.
    const bool in_one_order = o_.ordered == FERMATA_LEFT_TO_RIGHT || team_.layout().reproducible != 0;
    if (in_one_order && !c_.traits.associative)
      c_.traits = {.associative = false, .commutative = false, .idempotent = false, .left_to_right = true};
    return FERMATA_OK;
  }

  int check_builtin_operator() {
    if (o_.element != 0)
      return fail(Status::kArgument, "an opaque element needs an operator of its own: set fold");
    if (o_.op < 0 || o_.op >= kOpCount) return fail(Status::kArgument, "op %d is none of fermata_op", o_.op);
    const auto op = static_cast<Op>(o_.op);
    const auto type = static_cast<Type>(o_.type);
    if (!is_defined(op, type))
      return fail(Status::kArgument, "%s is not defined for %s", name_of(op), name_of(type));
    c_.traits = traits_of(op, type);
    return FERMATA_OK;
  }

  int check_irregular() {
    c_.irregular = o_.irregular != 0;
    c_.hidden = c_.irregular && rules_.hides_lengths;
    if (c_.irregular && !rules_.has_several)
      return fail(Status::kUnsupported, "%s takes no counts", rules_of(o_.collective).name);
    const bool given = in_.counts != nullptr || out_.counts != nullptr || in_.displacements != nullptr ||
                       out_.displacements != nullptr;
    if (!c_.irregular && given) return fail(Status::kArgument, "counts and displacements need irregular set");
    c_.counts_in = in_.counted = c_.irregular && in_.several;
    c_.counts_out = out_.counted = c_.irregular && out_.several;
    const auto lacks = [](const Given& side) { return side.counted && side.counts == nullptr; };
    return lacks(in_) || lacks(out_) ? null_handle() : static_cast<int>(FERMATA_OK);
  }

  int check_lengths() {
    c_.largest = c_.irregular && !rules_.has_root ? 0 : o_.count;
    for (const Given* side : {&in_, &out_}) {
      if (!side->counted) continue;
      const int bad = check_counts(side->counts, side->displacements, members_, c_.element);
      if (bad != FERMATA_OK) return bad;
      c_.largest = std::max(c_.largest, *std::max_element(side->counts, side->counts + members_));
    }
    if (!fits(c_.largest, members_, c_.element))
      return fail(Status::kArgument, "%zu elements of %zu bytes are too many", c_.largest, c_.element);
    c_.mean = c_.largest * c_.element;
    if (c_.irregular && !c_.hidden) {
      const size_t* const counts = (c_.counts_in ? in_ : out_).counts;
      c_.mean = std::accumulate(counts, counts + members_, std::size_t{0}) * c_.element / members_;
      c_.sizes = exec::Call::hash_of(counts, members_, c_.element);
    }
    return FERMATA_OK;
  }

  // The counts of either side, or `count`, may have the size of this member's own block.
  bool is_empty(const Given& side, const Given& other) const {
    const bool both = side.counted && other.counted;
    return (both || own_count(o_, c_, rank_) == 0) &&
           (!side.counted || std::count(side.counts, side.counts + members_, 0U) == members_) &&
           (!other.counted || other.counts[rank_] == 0);
  }
  bool input_is_empty() const { return !rules_.reads || is_empty(in_, out_); }

  int check_buffers() {
    if (in_.at == nullptr && !input_is_empty()) return null_handle();
    if (!rules_.writes || out_.at != nullptr) return FERMATA_OK;
    const bool holds_input = in_.at == FERMATA_IN_PLACE && !input_is_empty();
    return holds_input || !is_empty(out_, in_) ? null_handle() : static_cast<int>(FERMATA_OK);
  }

  // FERMATA_IN_PLACE stands for a place in the other buffer. Some members have no other buffer, or need not
  // pass it.
  int check_places() {
    const bool has_out = rules_.writes || (out_.at != nullptr && out_.at != FERMATA_IN_PLACE);
    const bool may_read = has_out && rules_.may_read_in_place;
    const bool may_write = rules_.in_place_is_output && rules_.reads;
    const bool nowhere = (rules_.reads && in_.at == FERMATA_IN_PLACE && !may_read) ||
                         (rules_.writes && out_.at == FERMATA_IN_PLACE && !may_write);
    if (c_.largest != 0 && nowhere) return fail(Status::kArgument, "%s", kNowhere);
    if (rules_.reads && rules_.writes && overlaps())
      return fail(Status::kArgument, "in and out overlap: they may be the same place, or FERMATA_IN_PLACE");
    return FERMATA_OK;
  }

  Extent extent_of(const Given& side) const {
    const auto base = reinterpret_cast<std::uintptr_t>(side.at);
    Extent extent{base, own_count(o_, c_, rank_) * c_.element, base};
    if (!side.several) return extent;
    extent.own = base + rank_ * extent.bytes;
    extent.bytes *= members_;
    if (!side.counted) return extent;
    std::size_t next = 0, begin = SIZE_MAX, end = 0;
    for (std::uint32_t r = 0; r < members_; ++r) {
      const std::size_t first = side.displacements != nullptr ? side.displacements[r] : next;
      if (r == rank_) extent.own = base + first * c_.element;
      if (side.counts[r] != 0) begin = std::min(begin, first), end = std::max(end, first + side.counts[r]);
      next += side.counts[r];
    }
    if (end == 0) begin = 0;
    extent.at = base + begin * c_.element;
    extent.bytes = (end - begin) * c_.element;
    return extent;
  }

  // Do input and output overlap, other than in place?
  bool overlaps() const {
    if (in_.at == FERMATA_IN_PLACE || out_.at == FERMATA_IN_PLACE) return false;
    const Extent in = extent_of(in_), out = extent_of(out_);
    if (in.at >= out.at + out.bytes || out.at >= in.at + in.bytes || in.bytes == 0 || out.bytes == 0)
      return false;
    if (rules_.collects) return in.at != out.own;
    if (rules_.in_place_is_output) return out.at != in.own;
    return in_.at != out_.at;
  }

  int check_output() {
    return out_.counted && out_.displacements != nullptr
               ? check_apart(out_.counts, out_.displacements, members_)
               : FERMATA_OK;
  }

  const fermata_operation& o_;
  Checked& c_;
  const exec::Team& team_;
  const std::uint32_t members_, rank_;
  const MemberRules& rules_;
  Given in_, out_;
};

}  // namespace

std::size_t own_count(const fermata_operation& o, const Checked& c, std::size_t rank) {
  if (!c.irregular || c.hidden) return o.count;
  return (c.counts_in ? o.in_counts : o.out_counts)[rank];
}

int check(const fermata_member* member, const fermata_operation& o, Checked* out) {
  if (o.size != sizeof o) return fail(Status::kArgument, "operation.size: use FERMATA_OPERATION_INIT");
  if (o.collective < FERMATA_BROADCAST || o.collective > FERMATA_EXSCAN)
    return fail(Status::kArgument, "collective %d is none of fermata_collective", o.collective);
  return Arguments(member, o, out).check();
}

}  // namespace fermata::team
