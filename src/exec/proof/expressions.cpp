#include "exec/proof/expressions.hpp"

namespace fermata::exec::proof {

bool Expressions::prepare() {
  capacity_ = nodes_ = 1;
  while (capacity_ < std::size_t{members_} * 2 + 2) capacity_ *= 2;
  canonical_ = scratch_.array<Node>(capacity_);
  leaves_ = scratch_.array<std::uint64_t>(capacity_);
  sets_ = scratch_.array<const std::uint64_t*>(capacity_);
  if (scratch_.failed()) return false;
  for (std::uint32_t m = 0; m < members_; ++m, ++nodes_) {
    auto* const set = scratch_.array<std::uint64_t>(width_);
    if (set == nullptr) return false;
    set[m / 64] |= std::uint64_t{1} << (m % 64);
    canonical_[nodes_] = m + 1;
    leaves_[nodes_] = 1;
    sets_[nodes_] = set;
  }
  return true;
}

bool Expressions::grow_nodes() {
  auto* const canonical = scratch_.array<Node>(capacity_ * 2);
  auto* const leaves = scratch_.array<std::uint64_t>(capacity_ * 2);
  auto* const sets = scratch_.array<const std::uint64_t*>(capacity_ * 2);
  if (scratch_.failed()) return false;
  memcpy(canonical, canonical_, nodes_ * sizeof *canonical);
  memcpy(leaves, leaves_, nodes_ * sizeof *leaves);
  memcpy(sets, sets_, nodes_ * sizeof *sets);
  canonical_ = canonical;
  leaves_ = leaves;
  sets_ = sets;
  capacity_ *= 2;
  return true;
}

bool Expressions::grow(Table& table) {
  Table bigger;
  bigger.size = table.size == 0 ? 64 : table.size * 2;
  bigger.keys = scratch_.array<std::uint64_t>(bigger.size);
  bigger.values = scratch_.array<Node>(bigger.size);
  if (scratch_.failed()) return false;
  for (std::size_t i = 0; i < table.size; ++i) {
    if (table.keys[i] == 0) continue;
    Node* const value =
        look_up(bigger, static_cast<Node>(table.keys[i] >> 32), static_cast<Node>(table.keys[i]));
    *value = table.values[i];
  }
  table = bigger;
  return true;
}

Expressions::Node* Expressions::look_up(Table& table, Node a, Node b) {
  if (table.used * 2 >= table.size && !grow(table)) return nullptr;
  const std::uint64_t key = std::uint64_t{a} << 32 | b;
  std::size_t at = static_cast<std::size_t>(key * 0x9e3779b97f4a7c15u >> 20) & (table.size - 1);
  while (table.keys[at] != 0 && table.keys[at] != key) at = (at + 1) & (table.size - 1);
  if (table.keys[at] == 0) {
    table.keys[at] = key;
    ++table.used;
  }
  return &table.values[at];
}

Expressions::Node Expressions::fold(Node left, Node right) {
  Node* const known = look_up(exact_, left, right);
  if (known == nullptr) return kNothing;
  if (*known != kNothing) return *known;
  if (nodes_ == capacity_ && !grow_nodes()) return kNothing;
  const auto node = static_cast<Node>(nodes_);
  const Node a = canonical_[left], b = canonical_[right];
  Node* const canonical = look_up(unordered_, a < b ? a : b, a < b ? b : a);
  auto* const set = scratch_.array<std::uint64_t>(width_);
  if (canonical == nullptr || set == nullptr) return kNothing;
  *known = node;
  if (*canonical == kNothing) *canonical = node;
  for (std::uint32_t i = 0; i < width_; ++i) set[i] = sets_[left][i] | sets_[right][i];
  canonical_[node] = *canonical;
  sets_[node] = set;
  const std::uint64_t sum = leaves_[left] + leaves_[right];
  leaves_[node] = sum < leaves_[left] ? UINT64_MAX : sum;
  ++nodes_;
  return node;
}

bool Expressions::has_all(Node node) const {
  if (node == kNothing) return false;
  for (std::uint32_t m = 0; m < members_; ++m)
    if ((sets_[node][m / 64] >> (m % 64) & 1) == 0) return false;
  return true;
}

}  // namespace fermata::exec::proof
