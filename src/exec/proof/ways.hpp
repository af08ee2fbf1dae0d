// Reads a program with words: the steps that each member takes in any case, and the steps that it adds if it
// completes a word.
//
// A program branches at each add, because the member may complete the word or not. A way is one path through
// a member's program. A line is a sequence of steps without branches; there are two kinds:
//   a member's line  its steps if it completes no word
//   a word's climb   the steps that a member adds if it completes the word
// Every way must merge the member's line with the climbs of the words that it completes. It keeps the order
// of each. This is checked step by step: each step of a way must be the next step of the member's line or of
// such a climb. A member that has completed a word may leave out the polls of that word in its line, but not
// those in a climb. Where a way reaches a step that an earlier way has reached, the same steps must remain on
// both. A program that breaks one of these rules is refused.
#ifndef FERMATA_EXEC_PROOF_WAYS_HPP
#define FERMATA_EXEC_PROOF_WAYS_HPP

#include <cstdint>

#include "exec/proof/locations.hpp"

namespace fermata::exec::proof {

class Ways {
 public:
  // A step of a line. Lines 0 .. members - 1 belong to the members; the later ones are climbs.
  struct Node {
    const Step* step;
    std::uint32_t location;  // where it signals or waits
    std::uint32_t member;    // the step was read in this member's program; other members may do a climb too
    std::uint32_t index;     // in that member's program
  };
  struct Line {
    std::uint32_t first, count;  // nodes
  };
  // Node `to` comes after node `from` on the ways where all adds of the branch complete their words.
  struct Edge {
    std::uint32_t from, to, branch;
  };
  // Branch 0: no add completes its word.
  struct Branch {
    std::uint32_t parent, add;  // the branch before it, and the node of the add that completes its word
    // A later add on this way goes to a word that the add of this branch, or of one before it, completes. So
    // the earlier add is not the last one of its word, and no member takes this way.
    bool dead;
  };

  Ways(const ProgramSet& set, const ProofTerms& terms, Scratch& scratch)
      : set_(set), terms_(terms), scratch_(scratch), locations_(set.header, terms, scratch) {}

  Proof read();  // call it first; all below is valid if it finds no flaw

  const Locations& locations() const { return locations_; }
  const Node& node(std::uint32_t i) const { return nodes_[i]; }
  std::uint32_t nodes() const { return node_count_; }
  const Line& line(std::uint32_t i) const { return lines_[i]; }
  std::uint32_t lines() const { return line_count_; }
  std::uint32_t climb_of(std::uint32_t location) const { return climb_[location]; }  // a line, or kNone
  const Edge* edges() const { return edges_; }
  std::uint32_t edge_count() const { return edge_count_; }
  const Branch& branch(std::uint32_t i) const { return branches_[i]; }
  std::uint32_t branches() const { return branch_count_; }

 private:
  struct Climbing {  // a climb that has begun, and how many of its steps are done
    std::uint32_t line, done;
  };
  // The most climbs that a way may begin, ended ones included. Else the program is refused.
  static constexpr std::uint32_t kMostClimbs = 64;
  // How far a way has come: in the program, in the member's line, and in the climbs that have begun.
  struct State {
    std::uint32_t at = 0, own = 0, branch = 0, climbs = 0;
    Climbing climbing[kMostClimbs];
  };
  struct Seen {  // for each step of a program: the state of the first way that reached the step
    std::uint32_t node = kNone, own = 0, branch = 0, climbs = 0, first_climbing = 0;
    bool seen = false;
  };
  struct Fork {  // a branch to follow later
    std::uint32_t member, at, own, branch, climbs, first_climbing;
  };

  bool fail(const char* flaw, std::uint32_t member, std::uint32_t step) {
    proof_ = {flaw, 0, member, step};
    return false;
  }
  bool no_memory();
  bool prepare();
  bool read_own_lines();
  bool follow(const Fork& fork);
  bool follow(std::uint32_t member, State& state, std::uint32_t previous);
  bool label(std::uint32_t member, State& state, std::uint32_t* node);
  bool label_own(std::uint32_t member, const Step& step, State& state, std::uint32_t* node) const;
  bool label_climb(const Step& step, State& state, std::uint32_t* node) const;
  bool comes_back(const Fork& fork) const;
  bool join(std::uint32_t member, State& state, std::uint32_t previous);
  bool end(std::uint32_t member, State& state);
  bool match_waits();
  bool new_node(std::uint32_t member, std::uint32_t index, std::uint32_t* node);
  bool fork(std::uint32_t member, const State& state, std::uint32_t add);
  bool keep(const State& state, std::uint32_t* first);
  bool see(std::uint32_t member, const State& state, std::uint32_t node);
  void edge(std::uint32_t from, std::uint32_t to, std::uint32_t branch) {
    edges_[edge_count_++] = {from, to, branch};
  }
  void drop_finished(State& state) const;
  bool completes(std::uint32_t branch, const Step& step) const;
  bool is_known_complete(std::uint32_t node, std::uint32_t branch) const;
  bool is_within(std::uint32_t branch, std::uint32_t outer) const;
  const Step& step(std::uint32_t member, std::uint32_t i) const { return set_.steps(member)[i]; }
  std::uint32_t after_jumps(std::uint32_t member, std::uint32_t i) const;

  const ProgramSet& set_;
  const ProofTerms& terms_;
  Scratch& scratch_;
  Locations locations_;
  Proof proof_;
  Node* nodes_ = nullptr;
  Line* lines_ = nullptr;
  Edge* edges_ = nullptr;
  Branch* branches_ = nullptr;
  Fork* forks_ = nullptr;
  Climbing* kept_ = nullptr;  // climbs of stored states
  std::size_t* first_ = nullptr;
  Seen* seen_ = nullptr;
  std::uint32_t* climb_ = nullptr;
  std::uint32_t node_count_ = 0, line_count_ = 0, edge_count_ = 0, branch_count_ = 1, fork_count_ = 0,
                kept_count_ = 0, most_kept_ = 0;
  std::uint32_t learning_ = kNone;  // the climb that is being read for the first time
  // Where a step that fits both the line and a climb belongs, decided once for each way at its fork. True: to
  // the climb. The next earlier way that this way meets is there as far in the line as this way is at its
  // fork, so all steps in between are the climb's. False: to the line.
  bool climb_first_ = false;
};

}  // namespace fermata::exec::proof
#endif
