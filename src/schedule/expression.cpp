#include "schedule/expression.hpp"

#include <algorithm>
#include <limits>

#include "schedule/contents.hpp"

namespace fermata {
namespace {

constexpr std::uint64_t kFree = std::numeric_limits<std::uint64_t>::max();

std::size_t hash_pair(std::uint64_t key) {
  key *= 0x9e3779b97f4a7c15u;
  return static_cast<std::size_t>(key ^ (key >> 29));
}

}  // namespace

Expressions::Expressions(std::int32_t members) : nodes_(members), next_canonical_(members) {
  for (std::int32_t m = 0; m < members; ++m) {
    nodes_[m].leaf = m;
    nodes_[m].canonical = m;
  }
}

void Expressions::grow(Table& table) {
  Table bigger;
  const std::size_t capacity = std::max<std::size_t>(64, table.keys.size() * 2);
  bigger.keys.assign(capacity, kFree);
  bigger.values.assign(capacity, kNothing);
  bigger.used = table.used;
  for (std::size_t i = 0; i < table.keys.size(); ++i) {
    if (table.keys[i] == kFree) continue;
    std::size_t at = hash_pair(table.keys[i]) & (capacity - 1);
    while (bigger.keys[at] != kFree) at = (at + 1) & (capacity - 1);
    bigger.keys[at] = table.keys[i];
    bigger.values[at] = table.values[i];
  }
  table = std::move(bigger);
}

NodeId* Expressions::find(Table& table, NodeId a, NodeId b) {
  if (table.used * 2 >= table.keys.size()) grow(table);
  const std::uint64_t key = static_cast<std::uint64_t>(a) << 32 | static_cast<std::uint32_t>(b);
  const std::size_t mask = table.keys.size() - 1;
  std::size_t at = hash_pair(key) & mask;
  while (table.keys[at] != kFree && table.keys[at] != key) at = (at + 1) & mask;
  if (table.keys[at] == kFree) {
    table.keys[at] = key;
    ++table.used;
  }
  return &table.values[at];
}

NodeId Expressions::combine(NodeId left, NodeId right, std::int32_t stage, std::int32_t member) {
  NodeId* const known = find(exact_, left, right);
  if (*known != kNothing) return *known;
  const auto id = static_cast<NodeId>(nodes_.size());
  *known = id;
  const auto [low, high] = std::minmax(nodes_[left].canonical, nodes_[right].canonical);
  NodeId* const canonical = find(unordered_, low, high);
  if (*canonical == kNothing) *canonical = next_canonical_++;
  Node node;
  node.left = left;
  node.right = right;
  node.canonical = *canonical;
  const std::uint64_t sum = nodes_[left].leaves + nodes_[right].leaves;
  node.leaves = sum < nodes_[left].leaves ? std::numeric_limits<std::uint64_t>::max() : sum;
  node.stage = stage;
  node.member = member;
  nodes_.push_back(node);
  return id;
}

std::vector<std::int32_t> Expressions::in_order(NodeId id) const {
  std::vector<std::int32_t> out;
  std::vector<NodeId> todo{id};
  while (!todo.empty()) {
    const Node& node = nodes_[todo.back()];
    todo.pop_back();
    if (node.leaf >= 0) {
      out.push_back(node.leaf);
      continue;
    }
    todo.push_back(node.right);
    todo.push_back(node.left);
  }
  return out;
}

std::vector<std::uint8_t> Expressions::occurrences(NodeId id) const {
  // An operand has a smaller id than its result. So one sweep downwards visits a node after all its users.
  std::vector<std::uint8_t> times(static_cast<std::size_t>(id) + 1, 0);
  times[id] = 1;
  std::vector<std::uint8_t> out;
  for (NodeId n = id; n >= 0; --n) {
    const Node& node = nodes_[n];
    if (times[n] == 0 || node.leaf >= 0) continue;
    times[node.left] = static_cast<std::uint8_t>(std::min(2, times[node.left] + times[n]));
    times[node.right] = static_cast<std::uint8_t>(std::min(2, times[node.right] + times[n]));
  }
  for (NodeId n = 0; n < static_cast<NodeId>(nodes_.size()) && nodes_[n].leaf >= 0; ++n) {
    out.push_back(n <= id ? times[n] : 0);
  }
  return out;
}

std::string Expressions::text(NodeId id) const {
  if (id == kNothing) return "nothing";
  if (nodes_[id].leaves > 4096) return "(" + std::to_string(nodes_[id].leaves) + " contributions)";
  std::string out;
  struct Open {
    NodeId id;
    int step;
  };
  std::vector<Open> todo{{id, 0}};
  while (!todo.empty()) {
    Open& open = todo.back();
    const Node& node = nodes_[open.id];
    if (node.leaf >= 0) {
      out += std::to_string(node.leaf);
      todo.pop_back();
      continue;
    }
    const int step = open.step++;
    if (step == 0) {
      out += '(';
      todo.push_back({node.left, 0});
    } else if (step == 1) {
      out += '+';
      todo.push_back({node.right, 0});
    } else {
      out += ')';
      todo.pop_back();
    }
  }
  return out;
}

ChunkIndex::ChunkIndex(const Schedule& s) : first(static_cast<std::size_t>(s.chunks) + 1, 0) {
  const auto each = [&s](const auto& visit) {
    for (std::size_t a = 0; a < s.stages.size(); ++a) {
      for (std::size_t i = 0; i < s.stages[a].transfers.size(); ++i) {
        const std::int32_t chunk = s.stages[a].transfers[i].chunk;
        if (chunk >= 0) visit(chunk, Item{static_cast<std::int32_t>(a), static_cast<std::int32_t>(i)});
      }
    }
  };
  each([this](std::int32_t chunk, Item) { ++first[chunk + 1]; });
  for (std::size_t c = 1; c < first.size(); ++c) first[c] += first[c - 1];
  items.resize(first.back());
  std::vector<std::size_t> next(first.begin(), first.end() - 1);
  each([this, &next](std::int32_t chunk, Item item) { items[next[chunk]++] = item; });
}

Result<std::vector<NodeId>> execute(const Schedule& s, const ChunkIndex& index, std::int32_t chunk,
                                    Expressions& expressions) {
  const auto slot = [&s](std::int32_t member, int reg) {
    return static_cast<std::size_t>(member) * s.registers + reg;
  };
  std::vector<NodeId> now(static_cast<std::size_t>(s.members) * s.registers, kNothing);
  const ChunkRule rule = rule_of(s, chunk);
  for (std::int32_t m = 0; m < s.members; ++m) {
    if (rule.contributes(m)) now[slot(m, 0)] = expressions.leaf(m);
  }
  std::vector<std::int32_t> written(now.size(), -1);  // the last stage that wrote it
  std::vector<NodeId> sent;
  for (std::size_t i = index.first[chunk]; i < index.first[chunk + 1];) {
    const std::int32_t stage = index.items[i].stage;
    const auto transfer = [&](std::size_t at) -> const Transfer& {
      return s.stages[stage].transfers[index.items[at].transfer];
    };
    const auto fail = [&](std::int32_t member, int reg, const char* what, const char* why) {
      return Error{Status::kVerify, "stage " + std::to_string(stage) + ": member " + std::to_string(member) +
                                        what + " register " + std::to_string(reg) + " of chunk " +
                                        std::to_string(chunk) + ", which " + why};
    };
    constexpr const char* kHoldsNothing = "holds nothing";
    // A member sends the values that it held when the stage began. So all values are read before any is
    // folded.
    std::size_t end = i;
    sent.clear();
    for (; end < index.first[chunk + 1] && index.items[end].stage == stage; ++end) {
      const Transfer& t = transfer(end);
      sent.push_back(now[slot(t.from, t.src_reg)]);
      if (sent.back() == kNothing) return fail(t.from, t.src_reg, " sends", kHoldsNothing);
    }
    for (std::size_t first_of_stage = i; i < end; ++i) {
      const Transfer& t = transfer(i);
      const NodeId in = sent[i - first_of_stage];
      NodeId& mine = now[slot(t.to, t.dst_reg)];
      std::int32_t& last = written[slot(t.to, t.dst_reg)];
      if (t.action == Action::kCopy) {
        // The copy would overwrite a value that this stage brought: a transfer is listed twice, or goes to
        // the wrong member.
        if (last == stage) return fail(t.to, t.dst_reg, " copies over", "this stage has written already");
        mine = in;
      } else if (mine == kNothing) {
        return fail(t.to, t.dst_reg, " combines into", kHoldsNothing);
      } else {
        mine = t.side == Side::kLeft ? expressions.combine(in, mine, stage, t.to)
                                     : expressions.combine(mine, in, stage, t.to);
      }
      last = stage;
    }
  }
  return now;
}

}  // namespace fermata
