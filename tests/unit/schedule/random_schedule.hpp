// Random schedules and brute-force answers for them, without the proofs of src/schedule: explicit event
// graphs, searched depth first.
#ifndef FERMATA_TESTS_RANDOM_SCHEDULE_HPP
#define FERMATA_TESTS_RANDOM_SCHEDULE_HPP

#include <random>
#include <string>
#include <vector>

#include "schedule/schedule.hpp"

namespace fermata::test {

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  int below(int n) { return static_cast<int>(engine_() % static_cast<unsigned>(n)); }
  bool chance(int percent) { return below(100) < percent; }

 private:
  std::mt19937 engine_;
};

inline bool has(const Stage& stage, int from, int to) {
  for (const Transfer& t : stage.transfers) {
    if (t.from == from && t.to == to) return true;
  }
  return false;
}

// A well-formed schedule: words have their in-edges in earlier stages than their out-edges, and thresholds
// fit. It is so dense that many of the schedules are barriers.
inline Schedule random_barrier(Random& random, int members) {
  Schedule s;
  s.algorithm = "random";
  s.members = members;
  s.stages.resize(1 + random.below(4));
  const int density = random.below(70);
  for (Stage& stage : s.stages) {
    for (int i = 0; i < members; ++i) {
      for (int j = 0; j < members; ++j) {
        if (i != j && random.chance(density)) stage.transfers.push_back({.from = i, .to = j});
      }
    }
  }
  const int stages = static_cast<int>(s.stages.size());
  if (stages < 3) return s;
  // A counter, perhaps a second one after it, perhaps a phase that the first one's completer flips.
  const int words = random.below(4);
  for (int w = 0; w < words; ++w) s.words.push_back({.threshold = 0, .agent = w == 2 ? 0 : -1});
  const auto edge = [&s](int stage, int from, int to) {
    s.stages[stage].transfers.push_back({.from = from, .to = to});
  };
  for (int w = 0; w < std::min(words, 2); ++w) {
    for (int i = 0; i < members; ++i) {
      if (random.chance(80) || i == 0) edge(0, i, members + w);
    }
  }
  if (words >= 2 && random.chance(50)) edge(1, members, members + 1);
  if (words == 3) edge(1, members, members + 2);
  for (int w = 0; w < words; ++w) {
    for (int i = 0; i < members; ++i) {
      if (random.chance(70)) edge(stages - 1, members + w, i);
    }
  }
  for (const Stage& stage : s.stages) {
    for (const Transfer& t : stage.transfers) {
      if (s.is_word(t.to)) ++s.words[s.word_of(t.to)].threshold;
    }
  }
  return s;
}

class Graph {
 public:
  explicit Graph(int nodes) : next_(nodes) {}
  void edge(int a, int b) { next_[a].push_back(b); }
  std::vector<bool> reachable(int from) const {
    std::vector<bool> seen(next_.size(), false);
    std::vector<int> todo{from};
    seen[from] = true;
    while (!todo.empty()) {
      const int n = todo.back();
      todo.pop_back();
      for (const int m : next_[n]) {
        if (!seen[m]) {
          seen[m] = true;
          todo.push_back(m);
        }
      }
    }
    return seen;
  }

 private:
  std::vector<std::vector<int>> next_;
};

// Is there a path from each arrival to each departure? Nodes: for each member, the beginnings of all stages
// and the end of the last one; and the completions of words.
inline bool is_barrier(const Schedule& s) {
  const int stages = static_cast<int>(s.stages.size());
  const auto node = [&s](int stage, int member) { return stage * s.members + member; };
  const auto word = [&](int vertex) { return (stages + 1) * s.members + s.word_of(vertex); };
  Graph g((stages + 1) * s.members + static_cast<int>(s.words.size()));
  for (int a = 0; a < stages; ++a) {
    for (int m = 0; m < s.members; ++m) g.edge(node(a, m), node(a + 1, m));
    for (const Transfer& t : s.stages[a].transfers) {
      const int from = s.is_word(t.from) ? word(t.from) : node(a, t.from);
      const int to = s.is_word(t.to) ? word(t.to) : node(a + 1, t.to);
      g.edge(from, to);
      if (!s.is_word(t.from) || !s.is_word(t.to)) continue;
      const int agent = s.words[s.word_of(t.to)].agent;  // in these schedules only targets have agents
      if (agent >= 0) g.edge(word(s.word_vertex(agent)), to);
    }
  }
  for (int i = 0; i < s.members; ++i) {
    const std::vector<bool> seen = g.reachable(node(0, i));
    for (int j = 0; j < s.members; ++j) {
      if (!seen[node(stages, j)]) return false;
    }
  }
  return true;
}

}  // namespace fermata::test
#endif
