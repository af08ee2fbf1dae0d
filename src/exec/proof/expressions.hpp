// Results as expressions over the members' contributions. Equal expressions share one node, so the results of
// many members that fold in the same way take as much memory as one result.
#ifndef FERMATA_EXEC_PROOF_EXPRESSIONS_HPP
#define FERMATA_EXEC_PROOF_EXPRESSIONS_HPP

#include <cstdint>

#include "exec/proof/scratch.hpp"

namespace fermata::exec::proof {

class Expressions {
 public:
  using Node = std::uint32_t;
  static constexpr Node kNothing = 0;

  Expressions(std::uint32_t members, Scratch& scratch)
      : members_(members), width_((members + 63) / 64), scratch_(scratch) {}
  // Call it first. All memory comes from the scratch. False: there is none left.
  bool prepare();

  Node contribution(std::uint32_t member) const { return member + 1; }
  // Neither operand is kNothing. Returns kNothing if there is no memory.
  Node fold(Node left, Node right);
  // True if they are equal up to exchanged operands. A commutative operator gives the same result for both.
  bool same(Node a, Node b) const { return a == b || canonical_[a] == canonical_[b]; }
  bool has_all(Node node) const;  // the contribution of every member occurs
  // Precondition: has_all(node). True if each contribution occurs once.
  bool has_none_twice(Node node) const { return leaves_[node] == members_; }

 private:
  struct Table {
    std::uint64_t* keys = nullptr;  // of pairs of nodes; 0: free
    Node* values = nullptr;
    std::size_t size = 0, used = 0;
  };
  Node* look_up(Table& table, Node a, Node b);  // null: no memory
  bool grow(Table& table);
  bool grow_nodes();

  const std::uint32_t members_, width_;
  Scratch& scratch_;
  Table exact_, unordered_;
  Node* canonical_ = nullptr;             // the first node that is equal up to exchanged operands
  std::uint64_t* leaves_ = nullptr;       // contributions, counted as often as they occur
  const std::uint64_t** sets_ = nullptr;  // members whose contributions occur
  std::size_t capacity_ = 0, nodes_ = 0;
};

}  // namespace fermata::exec::proof
#endif
