// Runs the block programs of all members and compares with a serial reference. The members take
// turns. In a turn, a member makes one of its possible transfers, chosen at random. Each element of a block
// is a text: its place, and the members whose contributions were folded into it, in order.
#ifndef FERMATA_TESTS_UNIT_PLAN_BLOCK_SIMULATION_HPP
#define FERMATA_TESTS_UNIT_PLAN_BLOCK_SIMULATION_HPP

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "../schedule/random_schedule.hpp"
#include "plan/compile_blocks.hpp"
#include "schedule/contents.hpp"

namespace fermata::test {

using Elements = std::vector<std::string>;

class BlockSimulation {
 public:
  // irregular: blocks have different sizes, in gathers, scatters, allgathers and alltoalls.
  BlockSimulation(const Schedule& s, const std::vector<CompiledBlocks>& programs, bool irregular,
                  Random& random)
      : s_(s),
        random_(random),
        irregular_(irregular),
        capacity_(1 + random.below(3)),
        queues_(programs[0].edges.size()) {
    for (const CompiledBlocks& c : programs) {
      EXPECT_EQ(c.edges, programs[0].edges);
      members_.push_back({&c.program, {}, {}, {}, {}, 0, false, {}});
      Member& m = members_.back();
      m.input = filled(m, true);
      m.output = filled(m, false);
      m.before = m.input;
      m.space.assign(c.program.space_blocks, Elements(largest()));
      m.done.assign(c.program.transfer_count, false);
    }
  }

  void run() {
    std::vector<Member*> busy;
    for (Member& m : members_) busy.push_back(&m);
    while (!busy.empty() && !::testing::Test::HasFailure()) {
      std::vector<std::size_t> order(busy.size());
      bool moved = false;
      const std::size_t begin = static_cast<std::size_t>(random_.below(static_cast<int>(busy.size())));
      for (std::size_t k = 0; k < busy.size(); ++k)
        moved = advance(*busy[(begin + k) % busy.size()]) || moved;
      std::erase_if(busy, [](const Member* m) { return m->stage == m->program->stage_count; });
      ASSERT_TRUE(moved || busy.empty()) << "nobody can go on";
    }
    for (const auto& queue : queues_) EXPECT_TRUE(queue.empty()) << "sent and never received";
  }

  // In any order, in rank order, or left to right: a text has parentheses around each fold.
  enum class Order { kAny, kRanks, kLeftToRight };
  void check(Order order) {
    for (std::int32_t r = 0; r < s_.members; ++r) {
      EXPECT_EQ(members_[r].input, members_[r].before) << "input of " << r << " was written";
      std::vector<Elements> got = members_[r].output;
      const std::vector<Elements> want = reference(r);
      for (Elements& block : got) {
        for (std::string& e : block) {
          if (order == Order::kLeftToRight) continue;
          std::erase_if(e, [](char c) { return c == '(' || c == ')'; });
          if (order == Order::kAny && e.find(':') != std::string::npos)
            std::sort(e.begin() + static_cast<std::ptrdiff_t>(e.find(':')) + 1, e.end());
        }
      }
      EXPECT_EQ(got, order == Order::kLeftToRight ? with_parentheses(want) : want) << "output of " << r;
    }
  }

  std::size_t count_of(std::int32_t from, std::int32_t to) const {
    return irregular_ ? static_cast<std::size_t>((from * 5 + to * 3) % 7) : 7;
  }

 private:
  struct Member {
    const BlockProgram* program;
    std::vector<Elements> input, output, before, space;
    std::uint32_t stage;
    bool copied;
    std::vector<bool> done;  // by transfer
  };
  struct Message {
    std::uint32_t piece, pieces;
    Elements elements;
  };

  std::size_t largest() const { return 7; }
  std::int32_t rank(const Member& m) const { return static_cast<std::int32_t>(m.program->rank); }

  std::size_t blocks(std::int32_t r, bool input) const {
    const CollectiveRules& rules = rules_of(s_.collective);
    const CollectiveRules::Side side = input ? rules.in : rules.out;
    if (!side.is_at(r == s_.root)) return 0;
    return side.blocks == CollectiveRules::Blocks::kOneEach ? static_cast<std::size_t>(s_.members) : 1;
  }

  // The size of block number i at r: what r contributes if `input`, else what it gets.
  std::size_t size(std::int32_t r, std::int32_t i, bool input) const {
    switch (s_.collective) {
      case Collective::kGather: return input ? count_of(r, 0) : count_of(i, 0);
      case Collective::kAllgather: return input ? count_of(r, 0) : count_of(i, 0);
      case Collective::kScatter: return input ? count_of(0, i) : count_of(0, r);
      case Collective::kAlltoall: return input ? count_of(r, i) : count_of(i, r);
      default: return largest();
    }
  }

  static char name(std::int32_t r) { return static_cast<char>('0' + r); }
  static std::string place(std::int32_t to, std::size_t e) {
    return std::to_string(to) + "." + std::to_string(e) + ":";
  }

  // The first part of an element's place: the member that the block is for, if that distinguishes blocks.
  std::int32_t meant_for(std::int32_t r, std::int32_t i, bool input) const {
    return !rules_of(s_.collective).differs_by_receiver() ? 0 : input ? i : r;
  }

  std::vector<Elements> filled(const Member& m, bool input) const {
    std::vector<Elements> out(blocks(rank(m), input));
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto number = static_cast<std::int32_t>(i);
      for (std::size_t e = 0; e < size(rank(m), number, input); ++e)
        out[i].push_back(input ? place(meant_for(rank(m), number, true), e) + name(rank(m)) : "untouched");
    }
    return out;
  }

  // "abc" becomes "((ab)c)".
  static std::vector<Elements> with_parentheses(std::vector<Elements> blocks) {
    for (Elements& block : blocks) {
      for (std::string& e : block) {
        const std::size_t from = e.find(':') + 1;
        if (from == 0 || e.size() < from + 2) continue;
        std::string tree(1, e[from]);
        for (std::size_t i = from + 1; i < e.size(); ++i) tree = "(" + tree + e[i] + ")";
        e = e.substr(0, from) + tree;
      }
    }
    return blocks;
  }

  std::vector<Elements> reference(std::int32_t r) const {
    std::vector<Elements> out(blocks(r, false));
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto number = static_cast<std::int32_t>(i);
      std::string who;
      const std::int32_t folded = folded_at(s_.collective, s_.members, r);
      for (std::int32_t m = 0; folds(s_.collective) && m < folded; ++m) who += name(m);
      if (root_gives(s_.collective)) who = name(s_.root);
      if (rules_of(s_.collective).differs_by_giver()) who = name(number);
      for (std::size_t e = 0; e < size(r, number, false); ++e)
        out[i].push_back(who.empty() ? "untouched" : place(meant_for(r, number, false), e) + who);
    }
    return out;
  }

  Elements& at(Member& m, const BlockAt& where) {
    std::vector<Elements>& blocks = where.place == BlockPlace::kInput    ? m.input
                                    : where.place == BlockPlace::kOutput ? m.output
                                                                         : m.space;
    return blocks.at(where.index);
  }
  static std::size_t bound(std::size_t count, std::size_t piece, std::size_t pieces) {
    return piece * count / pieces;
  }

  Elements read(Member& m, const BlockAt& where, const BlockTransfer& t) {
    const Elements& block = at(m, where);
    const auto edge = [&](std::uint32_t p) {
      return block.begin() + static_cast<std::ptrdiff_t>(bound(block.size(), p, t.pieces));
    };
    return {edge(t.piece), edge(t.piece + 1)};
  }
  void write(Member& m, const BlockTransfer& t, const Elements& elements) {
    ASSERT_NE(t.to.place, BlockPlace::kInput);
    Elements& block = at(m, t.to);
    const std::size_t from = bound(block.size(), t.piece, t.pieces),
                      to = bound(block.size(), t.piece + 1, t.pieces);
    ASSERT_EQ(elements.size(), to - from) << "the two ends differ about the size";
    std::copy(elements.begin(), elements.end(), block.begin() + static_cast<std::ptrdiff_t>(from));
  }

  static Elements fold(const Elements& left, const Elements& right) {
    EXPECT_EQ(left.size(), right.size());
    Elements out;
    for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
      const std::size_t a = left[i].find(':'), b = right[i].find(':');
      EXPECT_EQ(left[i].substr(0, a), right[i].substr(0, b)) << "folded with another element";
      out.push_back(left[i].substr(0, a + 1) + "(" + left[i].substr(a + 1) + right[i].substr(b + 1) + ")");
    }
    return out;
  }

  static bool same_place(const BlockTransfer& a, const BlockAt& x, const BlockTransfer& b, const BlockAt& y) {
    return x == y && a.piece == b.piece && a.pieces == b.pieces;
  }

  // May transfer `index` run? As much as the format allows: any send whose edge has room, after the earlier
  // sends of that edge; and any receive whose message is there, after the transfers that it depends on.
  bool may_go(const Member& m, std::uint32_t index) const {
    const BlockStage& stage = m.program->stages[m.stage];
    const BlockTransfer& t = m.program->transfers[index];
    const bool sends = t.code == BlockCode::kSend;
    if (sends ? queues_[t.edge].size() >= static_cast<std::size_t>(capacity_) : queues_[t.edge].empty())
      return false;
    for (std::uint32_t i = stage.first; i < stage.first + stage.count; ++i) {
      const BlockTransfer& u = m.program->transfers[i];
      if (m.done[i] || is_local(u.code) || i == index) continue;
      const bool u_sends = u.code == BlockCode::kSend;
      if (u_sends && !sends && t.after_sends && same_place(u, u.from, t, t.to)) return false;
      if (u_sends != sends || i > index) continue;
      if (u.edge == t.edge || (!sends && same_place(u, u.to, t, t.to))) return false;
    }
    return true;
  }

  void go(Member& m, std::uint32_t index) {
    const BlockTransfer& t = m.program->transfers[index];
    m.done[index] = true;
    const BlockEdge edge = m.program->edges[t.edge];
    if (t.code == BlockCode::kSend) {
      EXPECT_EQ(edge, (BlockEdge{m.program->rank, t.peer}));
      queues_[t.edge].push_back({t.piece, t.pieces, read(m, t.from, t)});
      return;
    }
    EXPECT_EQ(edge, (BlockEdge{t.peer, m.program->rank}));
    const Message in = queues_[t.edge].front();
    queues_[t.edge].pop_front();
    EXPECT_EQ(in.piece, t.piece);
    EXPECT_EQ(in.pieces, t.pieces);
    if (t.code == BlockCode::kReceive) write(m, t, in.elements);
    if (t.code == BlockCode::kReceiveLeft) write(m, t, fold(in.elements, read(m, t.from, t)));
    if (t.code == BlockCode::kReceiveRight) write(m, t, fold(read(m, t.from, t), in.elements));
  }

  bool advance(Member& m) {
    if (m.stage == m.program->stage_count) return false;
    const BlockStage& stage = m.program->stages[m.stage];
    bool moved = false;
    if (!m.copied) {
      for (std::uint32_t i = stage.first; i < stage.first + stage.count; ++i) {
        const BlockTransfer& t = m.program->transfers[i];
        if (!is_local(t.code)) continue;
        if (t.code == BlockCode::kCopy) write(m, t, read(m, t.from, t));
        if (t.code == BlockCode::kFold) write(m, t, fold(read(m, t.from, t), read(m, t.to, t)));
        m.done[i] = moved = true;
      }
      m.copied = true;
    }
    std::vector<std::uint32_t> ready;
    bool all = true;
    for (std::uint32_t i = stage.first; i < stage.first + stage.count; ++i) {
      if (m.done[i]) continue;
      all = false;
      if (may_go(m, i)) ready.push_back(i);
    }
    if (all) {
      ++m.stage;
      m.copied = false;
      return true;
    }
    if (ready.empty()) return moved;
    go(m, ready[static_cast<std::size_t>(random_.below(static_cast<int>(ready.size())))]);
    return true;
  }

  const Schedule& s_;
  Random& random_;
  const bool irregular_;
  const int capacity_;
  std::vector<Member> members_;
  std::vector<std::deque<Message>> queues_;  // by edge
};

}  // namespace fermata::test
#endif
