#include "schedule/verify.hpp"

#include <algorithm>

#include "schedule/contents.hpp"
#include "schedule/expression.hpp"
#include "schedule/knowledge.hpp"
#include "schedule/structure.hpp"

namespace fermata {
namespace {

Error refuse(std::string message) { return Error{Status::kVerify, std::move(message)}; }

Result<Verified> verify_barrier(const Schedule& s) {
  // A barrier takes at least members - 1 signals. This check is cheap.
  if (s.transfer_count() < static_cast<std::size_t>(s.members - 1))
    return refuse("fewer signals than members - 1");
  Knowledge k(s);
  for (const Stage& stage : s.stages) k.advance(stage);
  const std::int64_t missing = static_cast<std::int64_t>(s.members) * s.members - k.known_pairs();
  if (missing == 0) return Verified{};
  for (std::int32_t m = 0; m < s.members; ++m) {
    const std::int32_t unknown = k.first_unknown(m);
    if (unknown < 0) continue;
    std::string why = "not a barrier: after the last stage (" + std::to_string(s.stages.size()) +
                      " in all) member " + std::to_string(m) + " does not know that member " +
                      std::to_string(unknown) + " has arrived";
    if (missing > 1) why += ", and " + std::to_string(missing - 1) + " more such pairs";
    return refuse(std::move(why));
  }
  return Verified{};
}

// Checks the results of one chunk. check() returns what is wrong, or an empty string.
class ResultCheck {
 public:
  ResultCheck(const Schedule& s, OpTraits op, const Expressions& x) : s_(s), op_(op), x_(x) {}

  std::string check(const ChunkRule& rule, const std::vector<NodeId>& registers) {
    if (rule.ends_at != kEverybody) return check_member(rule, rule.ends_at, registers);
    for (std::int32_t m = 0; m < s_.members; ++m) {
      if (std::string why = check_member(rule, m, registers); !why.empty()) return why;
    }
    return {};
  }

 private:
  static std::string who(std::int32_t member) { return "member " + std::to_string(member) + " "; }

  bool same(NodeId a, NodeId b) const {
    return a == b || (op_.commutative && x_[a].canonical == x_[b].canonical);
  }

  std::string check_member(const ChunkRule& rule, std::int32_t member, const std::vector<NodeId>& registers) {
    const NodeId result = registers[static_cast<std::size_t>(member) * s_.registers];
    const std::int32_t folded = folded_at(s_.collective, s_.members, member);
    if (folds(s_.collective) && folded == 0) return {};
    if (result == kNothing) return who(member) + "has no result";
    if (!folds(s_.collective)) {
      if (result == rule.starts_at) return {};
      return who(member) + "has " + x_.text(result) + " instead of " +
             (rule.starts_at == s_.root && has_root(s_.collective)
                  ? "the root's value"
                  : "the value of member " + std::to_string(rule.starts_at));
    }
    // Members that fold in the same way share one node, which is checked once.
    if (result != last_ || folded != last_folded_) {
      if (std::string why = contributions(result, folded); !why.empty()) return who(member) + why;
      if (op_.left_to_right && !left_to_right(result))
        return who(member) + "folds " + x_.text(result) + ", not left to right";
    }
    last_ = result;
    last_folded_ = folded;
    if (folded != s_.members || op_.associative) return {};
    if (first_ == kNothing) first_ = result;
    if (same(first_, result)) return {};
    return who(member) + "folds " + x_.text(result) + ", another member " + x_.text(first_) +
           ": they differ where the operator does not associate";
  }

  // Precondition: rank order. Then every right operand must be a single contribution.
  bool left_to_right(NodeId result) const {
    for (; x_[result].leaf < 0; result = x_[result].left)
      if (x_[x_[result].right].leaf < 0) return false;
    return true;
  }

  // The result must have the contributions of the members below `folded`, each once.
  std::string contributions(NodeId result, std::int32_t folded) const {
    if (x_[result].leaves == static_cast<std::uint64_t>(folded)) {
      std::vector<std::int32_t> order = x_.in_order(result);
      const bool sorted = std::is_sorted(order.begin(), order.end());
      if (!sorted) std::sort(order.begin(), order.end());
      const bool once =
          order.back() < folded && std::adjacent_find(order.begin(), order.end()) == order.end();
      if (once && !sorted && !op_.commutative)
        return "folds " + x_.text(result) + ", which is not rank order";
      if (once) return {};
    }
    const std::vector<std::uint8_t> times = x_.occurrences(result);
    for (std::int32_t m = 0; m < s_.members; ++m) {
      if (m < folded && times[m] == 0) return "lacks the contribution of member " + std::to_string(m);
      if (m >= folded && times[m] != 0)
        return "has the contribution of member " + std::to_string(m) + ", which is no part of its result";
    }
    if (!op_.commutative) return "has contributions repeated, out of rank order";
    if (op_.idempotent) return {};
    return repeated(result, times);
  }

  // Names the place where the contribution first occurs twice: the lowest node with it in both operands.
  std::string repeated(NodeId result, const std::vector<std::uint8_t>& times) const {
    const auto twice = std::find(times.begin(), times.end(), 2) - times.begin();
    std::vector<bool> has(static_cast<std::size_t>(result) + 1, false);
    for (NodeId n = 0; n <= result; ++n) {
      has[n] = x_[n].leaf >= 0 ? x_[n].leaf == twice : has[x_[n].left] || has[x_[n].right];
    }
    NodeId at = result;
    while (x_[at].leaf < 0 && !(has[x_[at].left] && has[x_[at].right]))
      at = has[x_[at].left] ? x_[at].left : x_[at].right;
    return "has the contribution of member " + std::to_string(twice) + " more than once, since stage " +
           std::to_string(x_[at].stage) + " at member " + std::to_string(x_[at].member);
  }

  const Schedule& s_;
  const OpTraits op_;
  const Expressions& x_;
  NodeId first_ = kNothing, last_ = kNothing;
  std::int32_t last_folded_ = 0;
};

// "chunk 5: ", "chunk 5 (1 to 2): ", or an empty string if there is only one chunk.
std::string chunk_name(const Schedule& s, std::int32_t chunk, const ChunkRule& rule) {
  if (s.chunks <= 1) return {};
  std::string name = "chunk " + std::to_string(chunk);
  if (rule.starts_at != kEverybody && rule.ends_at != kEverybody)
    name += " (" + std::to_string(rule.starts_at) + " to " + std::to_string(rule.ends_at) + ")";
  return name + ": ";
}

Result<Verified> verify_data(const Schedule& s, OpTraits op) {
  const ChunkIndex index(s);
  Expressions expressions(s.members);
  for (std::int32_t chunk = 0; chunk < s.chunks; ++chunk) {
    const ChunkRule rule = rule_of(s, chunk);
    // A chunk from or to every member takes at least members - 1 transfers. This check is cheap.
    const bool to_all = rule.starts_at == kEverybody || rule.ends_at == kEverybody;
    if (to_all && index.first[chunk + 1] - index.first[chunk] < static_cast<std::size_t>(s.members - 1)) {
      return refuse(chunk_name(s, chunk, rule) + "fewer transfers than members - 1");
    }
    // All chunks use the same nodes for contributions. The trees are dropped: together they could reach
    // members^2 nodes.
    if (expressions.size() > static_cast<std::size_t>(s.members)) expressions = Expressions(s.members);
    const Result<std::vector<NodeId>> registers = execute(s, index, chunk, expressions);
    if (!registers) return registers.error();
    if (std::string why = ResultCheck(s, op, expressions).check(rule, *registers); !why.empty())
      return refuse(chunk_name(s, chunk, rule) + why);
  }
  return Verified{};
}

}  // namespace

Result<Verified> verify(const Schedule& schedule, OpTraits op) {
  if (Result<Verified> structure = check_structure(schedule); !structure) return structure;
  return schedule.collective == Collective::kBarrier ? verify_barrier(schedule) : verify_data(schedule, op);
}

std::string result_expression(const Schedule& schedule, std::int32_t member, std::int32_t chunk) {
  if (member < 0 || member >= schedule.members || chunk < 0 || chunk >= schedule.chunks ||
      !check_structure(schedule)) {
    return "nothing";
  }
  Expressions expressions(schedule.members);
  const Result<std::vector<NodeId>> registers = execute(schedule, ChunkIndex(schedule), chunk, expressions);
  if (!registers) return "nothing (" + registers.error().message + ")";
  return expressions.text((*registers)[static_cast<std::size_t>(member) * schedule.registers]);
}

}  // namespace fermata
