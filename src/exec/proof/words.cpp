// Steps:
//   1. The program is read as lines: one for each member, and a climb for each word (ways.hpp).
//   2. Two episodes are executed, in the order that holds whichever members complete the words. The steps of
//      a line come in order, and a wait comes after its signal. A word is complete after all its adds, and
//      its climb comes after that. Each line stores which events it has heard of, and signals pass them on:
//        - At its end each member has heard of every other member's arrival. So the program is a barrier.
//        - A member that adds to a word in the second episode has heard that the first is complete there. So
//          no add counts for the wrong episode. A word with one add, in one member's line, does not need it.
//      Slots do not need the second property: they hold a number that only grows.
//   3. If an add has heard of another add of the same word, that other add is not the last. Step 4 ignores
//      ways where that other add completes the word.
//   4. The steps of the remaining ways form a graph without cycles, with an edge from each step to the steps
//      that must come after it. So members never wait for each other in a cycle, whichever of them complete
//      the words: the order in each such case is a part of the graph.
#include "exec/proof/ways.hpp"

namespace fermata::exec::proof {
namespace {

class WordsProof {
 public:
  WordsProof(const ProgramSet& set, const ProofTerms& terms, Scratch& scratch)
      : members_(set.header.members), scratch_(scratch), ways_(set, terms, scratch) {}

  Proof run() {
    proof_ = ways_.read();
    if (proof_ && prepare() && first_episode() && second_episode()) find_circle();
    return proof_;
  }

 private:
  using Row = std::uint64_t*;

  bool fail(const char* flaw, std::uint32_t node) {
    proof_ = {flaw, 0, ways_.node(node).member, ways_.node(node).index};
    return false;
  }
  bool no_memory() {
    proof_ = {kMemory, 0, 0, 0};
    return false;
  }

  static bool has(const std::uint64_t* row, std::size_t bit) {
    return (row[bit / 64] >> (bit % 64) & 1) != 0;
  }
  static void set(Row row, std::size_t bit) { row[bit / 64] |= std::uint64_t{1} << (bit % 64); }
  void merge(Row into, const std::uint64_t* what) const {
    for (std::size_t i = 0; i < width_; ++i) into[i] |= what[i];
  }
  bool is_word(std::uint32_t location) const {
    return ways_.locations()[location].use == Location::Use::kWord;
  }
  static bool adds(Code code) { return code == Code::kAdd || code == Code::kFlip; }
  std::uint32_t end_of(std::uint32_t line) const { return ways_.line(line).first + ways_.line(line).count; }

  // ---- 2. What a line can hear of: members' arrivals, words' first completions, adds of words with a climb

  bool prepare() {
    const std::uint32_t locations = ways_.locations().count();
    bit_ = scratch_.array<std::uint32_t>(locations);
    add_bit_ = scratch_.array<std::uint32_t>(ways_.nodes());
    never_last_ = scratch_.array<bool>(ways_.nodes());
    next_add_ = scratch_.array<std::uint32_t>(ways_.nodes());
    first_add_ = scratch_.array<std::uint32_t>(locations);
    now_ = scratch_.array<std::uint32_t>(ways_.lines());
    done_ = scratch_.array<std::uint32_t>(locations);
    adds_ = scratch_.array<std::uint32_t>(locations);
    place_row_ = scratch_.array<Row>(locations);
    copy_ = scratch_.array<Row>(ways_.lines());
    climbed_ = scratch_.array<std::uint32_t>(ways_.lines());
    if (scratch_.failed()) return no_memory();
    std::uint32_t bits = members_;
    for (std::uint32_t p = 0; p < locations; ++p) {
      first_add_[p] = kNone;
      if (is_word(p)) bit_[p] = bits++;
      if (ways_.climb_of(p) != kNone) climbed_[ways_.climb_of(p)] = p;
    }
    const std::size_t words = bits - members_;
    for (std::uint32_t n = 0; n < ways_.nodes(); ++n) {
      const std::uint32_t location = ways_.node(n).location;
      if (!adds(ways_.node(n).step->code) || !is_climbed(location)) continue;
      add_bit_[n] = bits++;
      next_add_[n] = first_add_[location];
      first_add_[location] = n;
    }
    width_ = (bits + 63) / 64;
    rows_ = scratch_.array<std::uint64_t>(width_ * ways_.lines());
    words_rows_ = scratch_.array<std::uint64_t>(width_ * words);
    if (scratch_.failed()) return no_memory();
    std::size_t next = 0;
    for (std::uint32_t p = 0; p < locations; ++p)
      if (is_word(p)) place_row_[p] = words_rows_ + width_ * next++;
    for (std::uint32_t m = 0; m < members_; ++m) set(row(m), m);
    return true;
  }
  bool is_climbed(std::uint32_t location) const {
    const std::uint32_t climb = ways_.climb_of(location);
    return climb != kNone && ways_.line(climb).count > 0;
  }
  Row row(std::uint32_t line) const { return rows_ + width_ * line; }

  bool first_episode() {
    if (!episode(1)) return false;
    for (std::uint32_t m = 0; m < members_; ++m)
      for (std::uint32_t other = 0; other < members_; ++other)
        if (!has(row(m), other)) {
          proof_ = {"it ends before it knows that every member has arrived", 0, m, 0};
          return false;
        }
    return true;
  }

  // In each episode a climb takes over what the word's adds have heard of, so its row starts empty.
  bool second_episode() {
    for (std::uint32_t p = 0; p < ways_.locations().count(); ++p) {
      if (!is_word(p)) continue;
      memset(place_row_[p], 0, width_ * sizeof(std::uint64_t));
      adds_[p] = 0;
    }
    memset(row(members_), 0, width_ * (ways_.lines() - members_) * sizeof(std::uint64_t));
    memset(copy_, 0, ways_.lines() * sizeof *copy_);
    return episode(2);
  }

  // Each line goes as far as it can, in turn, until none moves.
  bool episode(std::uint32_t number) {
    for (std::uint32_t line = 0; line < ways_.lines(); ++line) now_[line] = ways_.line(line).first;
    number_ = number;
    for (bool moved = true; moved;) {
      moved = false;
      for (std::uint32_t line = 0; line < ways_.lines(); ++line) {
        const std::uint32_t before = now_[line];
        if (!advance(line)) return false;
        moved = moved || now_[line] != before;
      }
    }
    for (std::uint32_t line = 0; line < ways_.lines(); ++line)
      if (now_[line] < end_of(line))
        return fail("it waits for a signal that is sent only after this wait ends", now_[line]);
    return true;
  }

  // A climb waits until its word is complete, and then starts with the word's row.
  bool advance(std::uint32_t line) {
    if (line >= members_ && now_[line] == ways_.line(line).first && now_[line] < end_of(line)) {
      const std::uint32_t location = climbed_[line];
      if (done_[location] != number_) return true;
      merge(row(line), place_row_[location]);
    }
    for (; now_[line] < end_of(line); ++now_[line]) {
      const Ways::Node& n = ways_.node(now_[line]);
      if (adds(n.step->code)) {
        if (!add(line, now_[line])) return false;
      } else if (n.step->code == Code::kAwait || n.step->code == Code::kPoll) {
        if (done_[n.location] != number_) return true;
        merge(row(line), place_row_[n.location]);
        copy_[line] = nullptr;
      } else if (!send(line, n.location)) {
        return false;
      }
    }
    return true;
  }

  // All signals that a line sends between two waits share a copy of the line's row.
  bool send(std::uint32_t line, std::uint32_t location) {
    done_[location] = number_;
    if (copy_[line] == nullptr) {
      // The second episode sends the same signals, and the first is over, so it reuses the first one's copy.
      Row& again = place_row_[location];
      copy_[line] = again != nullptr ? again : scratch_.array<std::uint64_t>(width_);
      if (copy_[line] == nullptr) return no_memory();
      memcpy(copy_[line], row(line), width_ * sizeof(std::uint64_t));
    }
    place_row_[location] = copy_[line];
    return true;
  }

  bool add(std::uint32_t line, std::uint32_t node) {
    const std::uint32_t location = ways_.node(node).location;
    const Row mine = row(line);
    const bool alone = ways_.locations()[location].threshold == 1 && line < members_;
    if (number_ == 2 && !alone && !has(mine, bit_[location]))
      return fail("it may add to a word before the previous episode is complete there", node);
    if (number_ == 1 && is_climbed(location)) {
      for (std::uint32_t n = first_add_[location]; n != kNone; n = next_add_[n])
        if (has(mine, add_bit_[n])) never_last_[n] = true;
      set(mine, add_bit_[node]);
      copy_[line] = nullptr;
    }
    merge(place_row_[location], mine);
    if (++adds_[location] < ways_.locations()[location].threshold) return true;
    done_[location] = number_;
    set(place_row_[location], bit_[location]);
    if (ways_.locations()[location].threshold == 1) set(mine, bit_[location]);  // this add completes the word
    return true;
  }

  // ---- 4. A graph of nodes and, after them, locations; an edge leads from the earlier to the later

  bool find_circle() {
    const std::uint32_t nodes = ways_.nodes(), all = nodes + ways_.locations().count();
    auto* const lives = scratch_.array<bool>(ways_.branches());
    std::uint32_t* const first = scratch_.array<std::uint32_t>(all + 2);
    if (scratch_.failed()) return no_memory();
    lives[0] = true;
    for (std::uint32_t b = 1; b < ways_.branches(); ++b)
      lives[b] = lives[ways_.branch(b).parent] && !ways_.branch(b).dead && !never_last_[ways_.branch(b).add];
    std::size_t edges = 0;
    each_edge(lives, [&](std::uint32_t from, std::uint32_t) { ++first[from + 2], ++edges; });
    std::uint32_t* const to = scratch_.array<std::uint32_t>(edges);
    std::uint32_t* const before = scratch_.array<std::uint32_t>(all);
    std::uint32_t* const todo = scratch_.array<std::uint32_t>(all);
    if (scratch_.failed()) return no_memory();
    for (std::uint32_t v = 2; v < all + 2; ++v) first[v] += first[v - 1];
    each_edge(lives, [&](std::uint32_t from, std::uint32_t target) {
      to[first[from + 1]++] = target, ++before[target];
    });
    std::uint32_t ready = 0;
    for (std::uint32_t v = 0; v < all; ++v)
      if (before[v] == 0) todo[ready++] = v;
    for (std::uint32_t k = 0; k < ready; ++k)
      for (std::uint32_t e = first[todo[k]]; e < first[todo[k] + 1]; ++e)
        if (--before[to[e]] == 0) todo[ready++] = to[e];
    for (std::uint32_t v = 0; v < nodes && ready < all; ++v)
      if (before[v] != 0)
        return fail("members may wait for each other in a cycle, if certain members complete the words", v);
    return true;
  }

  template <class Visit>
  void each_edge(const bool* lives, Visit&& visit) const {
    const std::uint32_t nodes = ways_.nodes();
    for (std::uint32_t e = 0; e < ways_.edge_count(); ++e)
      if (const Ways::Edge& edge = ways_.edges()[e]; lives[edge.branch]) visit(edge.from, edge.to);
    for (std::uint32_t n = 0; n < nodes; ++n) {
      const Code code = ways_.node(n).step->code;
      const std::uint32_t location = nodes + ways_.node(n).location;
      if (code == Code::kAwait || code == Code::kPoll) visit(location, n);
      else visit(n, location);
    }
    for (std::uint32_t p = 0; p < ways_.locations().count(); ++p)
      if (is_word(p) && is_climbed(p)) {
        const Ways::Line& climb = ways_.line(ways_.climb_of(p));
        visit(nodes + p, climb.first);
        for (std::uint32_t n = climb.first; n + 1 < climb.first + climb.count; ++n) visit(n, n + 1);
      }
  }

  const std::uint32_t members_;
  Scratch& scratch_;
  Ways ways_;
  Proof proof_;
  std::size_t width_ = 0;     // 64-bit words of a row
  std::uint32_t number_ = 0;  // of the episode
  std::uint64_t *rows_ = nullptr, *words_rows_ = nullptr;
  Row* place_row_ = nullptr;  // the row that the signal to each place passes on
  // the copy of a line's row, if it has sent since the row changed
  Row* copy_ = nullptr;
  std::uint32_t *bit_ = nullptr, *add_bit_ = nullptr;
  bool* never_last_ = nullptr;                                // for each add
  std::uint32_t *next_add_ = nullptr, *first_add_ = nullptr;  // the adds of a word
  std::uint32_t* now_ = nullptr;                              // the node that each line is at
  // for each place: the last episode in which its signal came or its word was complete
  std::uint32_t* done_ = nullptr;
  std::uint32_t* adds_ = nullptr;
  std::uint32_t* climbed_ = nullptr;
};

}  // namespace

Proof prove_words(const ProgramSet& set, const ProofTerms& terms, Scratch& scratch) {
  return WordsProof(set, terms, scratch).run();
}

}  // namespace fermata::exec::proof
