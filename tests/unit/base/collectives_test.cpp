// The table of collectives, compared with their definitions in the MPI standard (MPI 4.1, chapter 6). Each
// definition says which block of whose input goes into which block of whose output. Everything that the table
// and its rules say follows from that by brute force.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "fermata/collectives.hpp"

namespace fermata {
namespace {

constexpr int kMostMembers = 5;

// Block `in` of rank `from`'s input goes into block `out` of rank `to`'s output.
struct Move {
  int from, in, to, out;
  auto operator<=>(const Move&) const = default;
};
using Moves = std::set<Move>;

// i: a rank that gives; j: a rank that gets.
struct Definition {
  const char* name;
  bool (*moves)(int i, int j, int root);
  Move (*move)(int i, int j);
};
constexpr bool kEach(int, int, int) { return true; }
constexpr Move whole(int i, int j) { return {i, 0, j, 0}; }
constexpr Move by_giver(int i, int j) { return {i, 0, j, i}; }
constexpr Move by_receiver(int i, int j) { return {i, j, j, 0}; }
const Definition kDefinitions[] = {
    {"barrier", [](int, int, int) { return false; }, whole},
    {"broadcast", [](int i, int j, int root) { return i == root && j != root; }, whole},
    {"reduce", [](int, int j, int root) { return j == root; }, whole},
    {"allreduce", kEach, whole},
    {"gather", [](int, int j, int root) { return j == root; }, by_giver},
    {"scatter", [](int i, int, int root) { return i == root; }, by_receiver},
    {"allgather", kEach, by_giver},
    {"reduce_scatter", kEach, by_receiver},
    {"alltoall", kEach, [](int i, int j) { return Move{i, j, j, i}; }},
    {"scan", [](int i, int j, int) { return i <= j; }, whole},
    {"exscan", [](int i, int j, int) { return i < j; }, whole},
};

Moves moves_of(int collective, int members, int root) {
  const Definition& d = kDefinitions[collective];
  Moves all;
  for (int i = 0; i < members; ++i)
    for (int j = 0; j < members; ++j)
      if (d.moves(i, j, root)) all.insert(d.move(i, j));
  return all;
}

// The blocks of a side: input blocks that go into one output block are the same block of the collective.
using Place = std::pair<int, int>;  // rank, block in its input
std::vector<std::set<Place>> blocks_of(const Moves& moves) {
  std::map<Place, std::set<Place>> into;
  for (const Move& m : moves) into[{m.to, m.out}].insert({m.from, m.in});
  std::vector<std::set<Place>> blocks;
  for (const auto& [out, places] : into) {
    std::set<Place> whole = places;
    std::erase_if(blocks, [&](const std::set<Place>& block) {
      const bool meets = std::any_of(block.begin(), block.end(), [&](Place p) { return whole.contains(p); });
      if (meets) whole.insert(block.begin(), block.end());
      return meets;
    });
    blocks.push_back(whole);
  }
  return blocks;
}

std::set<int> inputs_of(const Moves& moves, int rank) {
  std::set<int> found;
  for (const Move& m : moves)
    if (m.from == rank) found.insert(m.in);
  return found;
}
std::set<int> outputs_of(const Moves& moves, int rank) {
  std::set<int> found;
  for (const Move& m : moves)
    if (m.to == rank) found.insert(m.out);
  return found;
}
std::set<int> givers_to(const Moves& moves, int rank, int out) {
  std::set<int> found;
  for (const Move& m : moves)
    if (m.to == rank && m.out == out) found.insert(m.from);
  return found;
}

class Collectives : public testing::TestWithParam<int> {
 protected:
  const int collective_ = GetParam();
  const CollectiveRules& rules_ = rules_of(collective_);

  // Calls f(moves, members, root) for all teams of `least` members and more.
  template <class F>
  void each_team(int least, F&& f) const {
    for (int members = least; members <= kMostMembers; ++members)
      for (int root = 0; root < members; ++root) {
        SCOPED_TRACE(std::string(rules_.name) + ", " + std::to_string(members) + " members, root " +
                     std::to_string(root));
        f(moves_of(collective_, members, root), members, root);
      }
  }
  // Is it so for any member of any team? f(moves, members, root, rank)
  template <class F>
  bool any_member(F&& f) const {
    bool any = false;
    each_team(3, [&](const Moves& moves, int members, int root) {
      for (int r = 0; r < members; ++r) any = any || f(moves, members, root, r);
    });
    return any;
  }
};

TEST_P(Collectives, HasItsName) { EXPECT_STREQ(rules_.name, kDefinitions[collective_].name); }

// The rules of the blocks say the same as the definition: which blocks there are, who gives and who gets
// each, where it lies, and what is folded.
TEST_P(Collectives, MovesItsBlocks) {
  each_team(1, [&](const Moves& moves, int members, int root) {
    Moves by_rules;
    const auto blocks = static_cast<int>(rules_.blocks(members));
    for (int b = 0; b < blocks; ++b) {
      const int giver = rules_.giver(b, members, root), receiver = rules_.receiver(b, members, root);
      for (int i = 0; i < members; ++i)
        for (int j = 0; j < members; ++j) {
          const bool gives = giver == CollectiveRules::kEverybody || giver == i;
          const bool gets = receiver == CollectiveRules::kEverybody || receiver == j;
          const bool has_it =
              !rules_.out.is_at(j == root) || (rules_.folds() && i >= rules_.folded(j, members));
          if (gives && gets && !has_it)
            by_rules.insert({i, rules_.place_in(b, members), j, rules_.place_out(b, members)});
        }
    }
    EXPECT_EQ(by_rules, moves);
    if (members > 1) {  // alone, the members of a broadcast and of an exscan move nothing
      EXPECT_EQ(blocks_of(moves).size(), static_cast<std::size_t>(blocks));
    }
  });
}

// Members with a side, and how many blocks it has. exscan's first and last rank have buffers like the others.
TEST_P(Collectives, HasItsSides) {
  for (const bool at_root : {false, true}) {
    std::size_t in = 0, out = 0;
    any_member([&](const Moves& moves, int members, int root, int rank) {
      if (members != kMostMembers || (rank == root) != at_root) return false;
      in = std::max(in, inputs_of(moves, rank).size());
      out = std::max(out, outputs_of(moves, rank).size());
      return false;
    });
    const auto blocks = [&](const CollectiveRules::Side& side) -> std::size_t {
      if (!side.is_at(at_root)) return 0;
      return side.blocks == CollectiveRules::Blocks::kOneEach ? kMostMembers : 1;
    };
    EXPECT_EQ(blocks(rules_.in), in) << at_root;
    EXPECT_EQ(blocks(rules_.out), out) << at_root;
    EXPECT_EQ(rules_.reads_several(at_root), in > 1) << at_root;
    EXPECT_EQ(rules_.writes_several(at_root), out > 1) << at_root;
  }
}

TEST_P(Collectives, Folds) {
  EXPECT_EQ(rules_.folds(), any_member([](const Moves& moves, int, int, int rank) {
              const std::set<int> outputs = outputs_of(moves, rank);
              return std::any_of(outputs.begin(), outputs.end(),
                                 [&](int out) { return givers_to(moves, rank, out).size() > 1; });
            }));
  if (!rules_.folds()) return;
  each_team(1, [&](const Moves& moves, int members, int root) {
    for (int r = 0; r < members; ++r) {
      if (!rules_.out.is_at(r == root)) continue;
      std::set<int> lowest;
      for (int i = 0; i < rules_.folded(r, members); ++i) lowest.insert(i);
      EXPECT_EQ(givers_to(moves, r, 0), lowest) << r;
    }
  });
}

TEST_P(Collectives, HasItsRoot) {
  const bool has_root = moves_of(collective_, 3, 0) != moves_of(collective_, 3, 1);
  EXPECT_EQ(rules_.has_root(), has_root);
  const auto others = [&](bool give) {
    return any_member([&](const Moves& moves, int, int root, int rank) {
      return rank != root && !(give ? inputs_of(moves, rank) : outputs_of(moves, rank)).empty();
    });
  };
  EXPECT_EQ(rules_.root_gives(), has_root && !others(true));
  EXPECT_EQ(rules_.root_gets(), has_root && !others(false));
}

TEST_P(Collectives, SynchronizesWhereAllNeedSomethingOfAll) {
  const bool some_need_less = any_member([](const Moves& moves, int members, int, int rank) {
    std::set<int> givers{rank};
    for (const Move& m : moves)
      if (m.to == rank) givers.insert(m.from);
    return static_cast<int>(givers.size()) < members;
  });
  const bool is_barrier = collective_ == 0;  // it moves nothing, and synchronizes by definition
  EXPECT_EQ(rules_.synchronizes(), is_barrier || !some_need_less);
}

// MPI's v functions: each rank gives the counts of the blocks that it sends or receives.
TEST_P(Collectives, HidesLengthsThatSomeMemberNeitherGivesNorGets) {
  bool several = false, hidden = false;
  each_team(3, [&](const Moves& moves, int members, int) {
    const auto blocks = blocks_of(moves);
    several = several || blocks.size() > 1;
    for (const std::set<Place>& block : blocks) {
      std::set<int> know;
      for (const Move& m : moves)
        if (block.contains({m.from, m.in})) know.insert({m.from, m.to});
      hidden = hidden || static_cast<int>(know.size()) < members;
    }
  });
  EXPECT_EQ(rules_.has_several(), several);
  EXPECT_EQ(rules_.hides_lengths(), several && hidden);
  EXPECT_EQ(rules_.is_square(), blocks_of(moves_of(collective_, 3, 0)).size() == 9);
}

TEST_P(Collectives, HasItsBuffers) {
  const bool has_data = !moves_of(collective_, 3, 0).empty();
  const bool any_has_both = any_member([](const Moves& moves, int, int, int rank) {
    return !inputs_of(moves, rank).empty() && !outputs_of(moves, rank).empty();
  });
  EXPECT_EQ(rules_.has_one_buffer(), has_data && !any_has_both);
  for (const bool at_root : {false, true}) {
    EXPECT_EQ(rules_.reads(at_root), rules_.in.is_at(at_root) && !rules_.has_one_buffer());
    EXPECT_EQ(rules_.writes(at_root), rules_.out.is_at(at_root) || rules_.has_one_buffer());
  }
  const auto any_has = [&](bool several_in, bool several_out) {
    return any_member([=](const Moves& moves, int, int, int rank) {
      const std::size_t in = inputs_of(moves, rank).size(), out = outputs_of(moves, rank).size();
      return in != 0 && out != 0 && (in > 1) == several_in && (out > 1) == several_out;
    });
  };
  EXPECT_EQ(rules_.divides(), any_has(true, false));
  EXPECT_EQ(rules_.collects(), any_has(false, true));
}

// MPI_IN_PLACE stands for the output only where a member's whole output is one of its own input blocks.
TEST_P(Collectives, MayBeInPlace) {
  EXPECT_EQ(rules_.in_place_is_output(), any_member([](const Moves& moves, int, int, int rank) {
              const bool own_alone =
                  outputs_of(moves, rank).size() == 1 && givers_to(moves, rank, 0) == std::set<int>{rank};
              return own_alone && inputs_of(moves, rank).size() > 1;
            }));
  // In MPI, the root of a reduce or gather, and all members of collectives without a root.
  const bool roots = rules_.root_gets(), all = !rules_.has_root() && collective_ != 0;
  EXPECT_EQ(rules_.may_read_in_place(true), roots || all);
  // Fermata also lets the other members of a reduce do so.
  EXPECT_EQ(rules_.may_read_in_place(false), (roots && rules_.folds()) || all);
}

INSTANTIATE_TEST_SUITE_P(All, Collectives, testing::Range(0, kCollectiveCount),
                         [](const auto& test) { return std::string(rules_of(test.param).name); });
static_assert(std::size(kDefinitions) == kCollectiveCount);

template <bool (CollectiveRules::*kRule)() const>
void expect_held() {
  for (int c = 0; c < kCollectiveCount; ++c)
    EXPECT_EQ(holds<kRule>(c), (rules_of(c).*kRule)()) << rules_of(c).name;
  for (const int none : {-1, kCollectiveCount, 15, 31, 32, 1000}) EXPECT_FALSE(holds<kRule>(none)) << none;
}

TEST(CollectiveSets, HoldWhatTheTableSays) {
  expect_held<&CollectiveRules::folds>();
  expect_held<&CollectiveRules::has_root>();
  expect_held<&CollectiveRules::root_gives>();
  expect_held<&CollectiveRules::root_gets>();
  expect_held<&CollectiveRules::synchronizes>();
  expect_held<&CollectiveRules::has_several>();
  expect_held<&CollectiveRules::is_square>();
  expect_held<&CollectiveRules::differs_by_giver>();
  expect_held<&CollectiveRules::differs_by_receiver>();
  expect_held<&CollectiveRules::hides_lengths>();
}

TEST(CollectiveSets, OtherNumbersHaveTheRulesOfABarrier) {
  for (const int none : {-1, kCollectiveCount, 1000}) EXPECT_EQ(&rules_of(none), &rules_of(0));
}

}  // namespace
}  // namespace fermata
