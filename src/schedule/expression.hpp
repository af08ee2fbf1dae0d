// Expression trees of a data collective: they describe the value of each register symbolically. Equal trees
// share one node (hash-consing). If 1,024 members fold 1,024 contributions in the same order, the trees take
// 1,024 leaves and 1,023 other nodes, not a million.
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
  // The same number for trees that differ only by swapped operands. It is not the id of a node.
  NodeId canonical = kNothing;
  std::uint64_t leaves = 1;              // number of leaves, counted with repetition; saturates
  std::int32_t stage = -1, member = -1;  // the stage and member that made it first
};

class Expressions {
 public:
  explicit Expressions(std::int32_t members);
  NodeId leaf(std::int32_t member) const { return member; }
  // Returns the tree `left op right`. A tree that exists already keeps its stage and member.
  NodeId combine(NodeId left, NodeId right, std::int32_t stage, std::int32_t member);
  const Node& operator[](NodeId id) const { return nodes_[id]; }
  std::size_t size() const { return nodes_.size(); }

  // The contributions from left to right. Precondition: the tree has few enough leaves to list.
  std::vector<std::int32_t> in_order(NodeId id) const;
  // How often each member's contribution occurs: 0, 1, or 2 for more than once (for idempotent operators
  // that may be right). The time is linear in the number `id`, since all nodes with smaller numbers are
  // visited, and in the number of members.
  std::vector<std::uint8_t> occurrences(NodeId id) const;
  std::string text(NodeId id) const;  // "((0+1)+(2+3))"; above 4096 leaves only their number

 private:
  // A hash table with open addressing. exact_ is keyed by the ids of both operands, and finds equal trees.
  // unordered_ is keyed by their canonical numbers, and finds trees that are equal up to swapped operands.
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

// The data transfers, grouped by chunk, each group in stage and list order. With it, execute() reads only the
// transfers of its chunk.
struct ChunkIndex {
  struct Item {
    std::int32_t stage, transfer;
  };
  explicit ChunkIndex(const Schedule& schedule);
  std::vector<std::size_t> first;  // where chunk c begins in items; chunks + 1 entries
  std::vector<Item> items;
};

// Executes one chunk symbolically. Returns the register contents of all members after the last stage:
// members x registers, one row per member. A member sends the values that it held when the stage began.
// Precondition: check_structure passed.
//
// Error kVerify: a stage sends from a register that holds nothing, or combines into one, or copies over a
// register that the same stage has written.
Result<std::vector<NodeId>> execute(const Schedule& schedule, const ChunkIndex& index, std::int32_t chunk,
                                    Expressions& expressions);

}  // namespace fermata
#endif
