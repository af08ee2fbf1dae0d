// Expression trees of a data collective: what each register holds, symbolically. Equal trees are one node
// (hash-consing), so that 1,024 members folding 1,024 contributions in the same order cost 1,023 nodes and
// not a million.
#ifndef FERMATA_SCHEDULE_EXPRESSION_HPP
#define FERMATA_SCHEDULE_EXPRESSION_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "schedule/schedule.hpp"

namespace fermata {

using NodeId = std::int32_t;
inline constexpr NodeId kNothing = -1;  // a register that holds no contribution

struct Node {
  NodeId left = kNothing, right = kNothing;  // both kNothing: the contribution of member `leaf`
  std::int32_t leaf = -1;
  NodeId canonical = kNothing;           // equal for trees that differ only by swapping operands
  std::uint64_t leaves = 1;              // with repetition; saturates
  std::int32_t stage = -1, member = -1;  // where it was first made
};

class Expressions {
 public:
  explicit Expressions(std::int32_t members);
  NodeId leaf(std::int32_t member) const { return member; }
  NodeId combine(NodeId left, NodeId right, std::int32_t stage, std::int32_t member);
  const Node& operator[](NodeId id) const { return nodes_[id]; }
  std::size_t size() const { return nodes_.size(); }

  // Contributions from left to right. Precondition: leaves is small enough to list.
  std::vector<std::int32_t> in_order(NodeId id) const;
  // How often each member's contribution occurs: 0, 1 or 2 (more than once). Linear in the distinct nodes
  // below.
  std::vector<std::uint8_t> occurrences(NodeId id) const;
  std::string text(NodeId id) const;  // "((0+1)+(2+3))"; beyond 4096 leaves only their number

 private:
  // Open addressing over pairs; two tables, one for trees and one for trees up to commutativity.
  struct Table {
    std::vector<std::uint64_t> keys;
    std::vector<NodeId> values;
    std::size_t used = 0;
  };
  static NodeId* find(Table& table, NodeId a, NodeId b);
  static void grow(Table& table);

  std::vector<Node> nodes_;
  Table exact_, unordered_;
  NodeId next_canonical_;
};

// Data transfers by chunk, in stage and list order: a pipelined schedule is then executed in one pass over
// its transfers.
struct ChunkIndex {
  struct Item {
    std::int32_t stage, transfer;
  };
  explicit ChunkIndex(const Schedule& schedule);
  std::vector<std::size_t> first;  // of chunk c in items; chunks + 1 entries
  std::vector<Item> items;
};

// Symbolic execution of one chunk: register contents of all members after the last stage, members x
// registers, row = member. Errors: kVerify where a register that holds nothing is sent or combined into, or one that
// the same stage has written is copied over.
// Precondition: check_structure passed.
Result<std::vector<NodeId>> execute(const Schedule& schedule, const ChunkIndex& index, std::int32_t chunk, Expressions& expressions);

}  // namespace fermata
#endif
