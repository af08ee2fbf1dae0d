#include "schedule/verify.hpp"

#include <algorithm>

#include "schedule/expression.hpp"
#include "schedule/knowledge.hpp"
#include "schedule/structure.hpp"

namespace fermata {
namespace {

Error refuse(std::string message) { return Error{Status::kVerify, std::move(message)}; }

Result<Verified> verify_barrier(const Schedule& s) {
  // Each member but one must be told of another: anything sparser need not be looked at.
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

// What one chunk's results must be; empty if they are.
class ResultCheck {
 public:
  ResultCheck(const Schedule& s, OpTraits op, const Expressions& x) : s_(s), op_(op), x_(x) {}

  std::string check(const std::vector<NodeId>& registers) {
    NodeId first = kNothing, last = kNothing;
    for (std::int32_t m = 0; m < s_.members; ++m) {
      if (s_.kind == Kind::kReduce && m != s_.root) continue;
      const NodeId result = registers[static_cast<std::size_t>(m) * s_.registers];
      if (result == kNothing) return who(m) + "has no result";
      if (s_.kind == Kind::kBroadcast) {
        if (result != s_.root) return who(m) + "has " + x_.text(result) + " instead of the root's value";
        continue;
      }
      // Members that fold alike share one node, which is checked once.
      if (result != last) {
        if (std::string why = contributions(result); !why.empty()) return who(m) + why;
      }
      last = result;
      if (first == kNothing) first = result;
      if (!op_.associative && !same(first, result)) {
        return who(m) + "folds " + x_.text(result) + ", another member " + x_.text(first) +
               ": they differ where the operator does not associate";
      }
    }
    return {};
  }

 private:
  static std::string who(std::int32_t member) { return "member " + std::to_string(member) + " "; }

  bool same(NodeId a, NodeId b) const {
    return a == b || (op_.commutative && x_[a].canonical == x_[b].canonical);
  }

  std::string contributions(NodeId result) const {
    const auto members = static_cast<std::uint64_t>(s_.members);
    if (x_[result].leaves == members) {
      std::vector<std::int32_t> order = x_.in_order(result);
      const bool sorted = std::is_sorted(order.begin(), order.end());
      if (!sorted) std::sort(order.begin(), order.end());
      const bool once = std::adjacent_find(order.begin(), order.end()) == order.end();
      if (once && !sorted && !op_.commutative)
        return "folds " + x_.text(result) + ", which is not rank order";
      if (once) return {};
    }
    const std::vector<std::uint8_t> times = x_.occurrences(result);
    for (std::int32_t m = 0; m < s_.members; ++m) {
      if (times[m] == 0) return "lacks the contribution of member " + std::to_string(m);
    }
    if (!op_.commutative) return "has contributions repeated, out of rank order";
    if (op_.idempotent) return {};
    return repeated(result, times);
  }

  // Where the first repetition came about: the lowest node whose operands share a contribution.
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
};

Result<Verified> verify_data(const Schedule& s, OpTraits op) {
  const ChunkIndex index(s);
  for (std::int32_t chunk = 0; chunk < s.chunks; ++chunk) {
    const std::string prefix = s.chunks > 1 ? "chunk " + std::to_string(chunk) + ": " : "";
    if (index.first[chunk + 1] - index.first[chunk] < static_cast<std::size_t>(s.members - 1)) {
      return refuse(prefix + "fewer transfers than members - 1");
    }
    Expressions expressions(s.members);
    const Result<std::vector<NodeId>> registers = execute(s, index, chunk, expressions);
    if (!registers) return registers.error();
    if (std::string why = ResultCheck(s, op, expressions).check(*registers); !why.empty())
      return refuse(prefix + why);
  }
  return Verified{};
}

}  // namespace

Result<Verified> verify(const Schedule& schedule, OpTraits op) {
  if (Result<Verified> structure = check_structure(schedule); !structure) return structure;
  return schedule.kind == Kind::kBarrier ? verify_barrier(schedule) : verify_data(schedule, op);
}

std::string result_expression(const Schedule& schedule, std::int32_t member) {
  if (schedule.kind == Kind::kBarrier || member < 0 || member >= schedule.members ||
      !check_structure(schedule)) {
    return "nothing";
  }
  Expressions expressions(schedule.members);
  const Result<std::vector<NodeId>> registers = execute(schedule, ChunkIndex(schedule), 0, expressions);
  if (!registers) return "nothing (" + registers.error().message + ")";
  return expressions.text((*registers)[static_cast<std::size_t>(member) * schedule.registers]);
}

}  // namespace fermata
