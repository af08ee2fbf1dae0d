#include "plan/compile_blocks.hpp"
#include "plan/block_space.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "schedule/contents.hpp"

namespace fermata {
namespace {

using Stages = std::vector<std::vector<BlockTransfer>>;

std::uint32_t unsigned_of(std::int64_t n) { return static_cast<std::uint32_t>(n); }

// Returns the block's place in a member's input or output, if any (fermata/collectives.hpp).
std::optional<BlockAt> in_input(const Schedule& s, std::int32_t chunk, std::int32_t member) {
  if (!rule_of(s, chunk).contributes(member)) return {};
  return BlockAt{BlockPlace::kInput,
                 unsigned_of(rules_of(s.collective).place_in(block_of(s, chunk), s.members))};
}

std::optional<BlockAt> in_output(const Schedule& s, std::int32_t chunk, std::int32_t member) {
  const CollectiveRules& rules = rules_of(s.collective);
  if (!rule_of(s, chunk).wanted(member) || !rules.out.is_at(member == s.root)) return {};
  // exscan does not define rank 0's output, so it stays unchanged.
  if (rules.folds() && rules.folded(member, s.members) == 0) return {};
  return BlockAt{BlockPlace::kOutput, unsigned_of(rules.place_out(block_of(s, chunk), s.members))};
}

// How a member does a transfer. It may fold its own value (from == to) right after a copy into the same
// register. The two transfers then become one receive that folds, with the own value as operand. Otherwise
// the own value goes over an edge from the member to itself.
enum class Way : std::uint8_t {
  kWire,
  kLocalCopy,
  kLocalFold,  // folds in another register from the left; nothing else in the stage touches the chunk
  kFoldLeft,   // a copy into a register, then the own value on its right
  kFoldRight,  // a copy into a register, then the own value on its left
  kAbsorbed,   // the own value, after one of these two
};

std::vector<Way> ways_of(const Stage& stage) {
  const std::vector<Transfer>& list = stage.transfers;
  std::vector<Way> ways(list.size(), Way::kWire);
  bool own_folds = false;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].from != list[i].to) continue;
    if (list[i].action == Action::kCopy) ways[i] = Way::kLocalCopy;
    own_folds = own_folds || list[i].action == Action::kCombine;
  }
  if (!own_folds) return ways;
  std::map<std::pair<std::int32_t, std::int32_t>, int> touched;  // by member, chunk
  for (const Transfer& t : list) {
    ++touched[{t.from, t.chunk}];
    if (t.to != t.from) ++touched[{t.to, t.chunk}];
  }
  // Last transfer so far, by member, chunk, register.
  std::map<std::tuple<std::int32_t, std::int32_t, std::uint8_t>, std::size_t> last;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Transfer& t = list[i];
    const auto [at, fresh] = last.try_emplace({t.to, t.chunk, t.dst_reg}, i);
    const std::size_t before = std::exchange(at->second, i);
    if (t.from == t.to && t.action == Action::kCombine && t.side == Side::kLeft && t.src_reg != t.dst_reg &&
        t.dst_reg != 0 && touched[{t.to, t.chunk}] == 1)
      ways[i] = Way::kLocalFold;
    // Other transfers may write to the place of another register meanwhile. So only the old value of the same
    // register is a safe operand.
    if (fresh || t.from != t.to || t.action != Action::kCombine || t.src_reg != t.dst_reg) continue;
    if (ways[before] != Way::kWire || list[before].action != Action::kCopy) continue;
    ways[before] = t.side == Side::kRight ? Way::kFoldLeft : Way::kFoldRight;
    ways[i] = Way::kAbsorbed;
  }
  return ways;
}

bool crosses_an_edge(Way way) {
  return way != Way::kLocalCopy && way != Way::kLocalFold && way != Way::kAbsorbed;
}

std::vector<BlockEdge> edges_of(const Schedule& s, const std::vector<std::vector<Way>>& ways) {
  std::vector<BlockEdge> edges;
  for (std::size_t a = 0; a < s.stages.size(); ++a) {
    const std::vector<Transfer>& list = s.stages[a].transfers;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const BlockEdge edge{unsigned_of(list[i].from), unsigned_of(list[i].to)};
      if (crosses_an_edge(ways[a][i]) && (edges.empty() || edges.back() != edge)) edges.push_back(edge);
    }
  }
  const auto before = [](BlockEdge a, BlockEdge b) {
    return std::pair(a.from, a.to) < std::pair(b.from, b.to);
  };
  std::sort(edges.begin(), edges.end(), before);
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return edges;
}

// Walks through the schedule once and tracks the places of this member's registers.
class BlockCompiler {
 public:
  BlockCompiler(const Schedule& s, std::int32_t member)
      : s_(s),
        me_(member),
        pieces_(unsigned_of(s.chunks / blocks_of(s.collective, s.members))),
        space_(pieces_),
        registers_(static_cast<std::size_t>(s.chunks) * s.registers) {
    ways_.reserve(s.stages.size());
    for (const Stage& stage : s.stages) ways_.push_back(ways_of(stage));
    edges_ = edges_of(s, ways_);
    for (std::int32_t c = 0; c < s.chunks; ++c) {
      if (const auto at = in_input(s, c, me_)) hold(at_register(c, 0), *at);
    }
    note_reads();
  }

  CompiledBlocks run() {
    Stages stages;
    for (stage_ = 0; stage_ < std::ssize(s_.stages); ++stage_) {
      std::vector<BlockTransfer> list = compile_stage();
      if (!list.empty()) stages.push_back(std::move(list));
    }
    finish(stages);
    return pack(stages);
  }

 private:
  struct Register {
    BlockAt at;     // valid if held
    BlockAt start;  // its place before the first write in stage `written`
    bool held = false;
    std::int32_t sent = -1;  // the last stage that sent it
    std::int32_t sent_to_me = -1;
    std::int32_t written = -1;
    std::int32_t last_read = -1;  // the last stage of the schedule that reads it
  };

  struct Freed {
    std::int32_t chunk;
    std::uint32_t index;
  };

  Register& at_register(std::int32_t chunk, std::uint8_t reg) {
    return registers_[static_cast<std::size_t>(chunk) * s_.registers + reg];
  }
  std::uint32_t piece_of(std::int32_t chunk) const { return unsigned_of(chunk) % pieces_; }
  BlockAt start_of(const Register& r) const { return r.written == stage_ ? r.start : r.at; }

  static void hold(Register& r, BlockAt at) {
    r.at = at;
    r.held = true;
  }

  void note_reads() {
    for (std::size_t a = 0; a < s_.stages.size(); ++a) {
      for (const Transfer& t : s_.stages[a].transfers) {
        if (t.from == me_) at_register(t.chunk, t.src_reg).last_read = static_cast<std::int32_t>(a);
        if (t.to == me_ && t.action == Action::kCombine)
          at_register(t.chunk, t.dst_reg).last_read = static_cast<std::int32_t>(a);
      }
    }
  }

  BlockTransfer transfer(const Transfer& t, BlockCode code) const {
    BlockTransfer out;
    out.code = code;
    out.block = static_cast<std::uint32_t>(block_of(s_, t.chunk));
    out.piece = piece_of(t.chunk);
    out.pieces = pieces_;
    if (is_local(code)) return out;
    out.peer = unsigned_of(code == BlockCode::kSend ? t.to : t.from);
    const std::pair edge(unsigned_of(t.from), unsigned_of(t.to));
    const auto at = std::lower_bound(
        edges_.begin(), edges_.end(), edge,
        [](const BlockEdge& e, const auto& wanted) { return std::pair(e.from, e.to) < wanted; });
    out.edge = unsigned_of(at - edges_.begin());
    return out;
  }

  BlockAt fresh_space(std::int32_t chunk) {
    return {BlockPlace::kSpace, space_.take(block_of(s_, chunk), piece_of(chunk))};
  }

  // A received result goes directly to the output. It never overwrites a place that the member sends to
  // itself in this stage. The receive of that value may come after this one, and the two would wait for each
  // other.
  BlockAt target_of(const Transfer& t) {
    const Register& r = at_register(t.chunk, t.dst_reg);
    const auto usable = [&](const BlockAt& at) { return r.sent_to_me != stage_ || start_of(r) != at; };
    if (t.dst_reg == 0) {
      if (const auto out = in_output(s_, t.chunk, me_); out && usable(*out)) return *out;
    }
    if (r.held && r.at.place == BlockPlace::kSpace && usable(r.at)) return r.at;
    return fresh_space(t.chunk);
  }

  // A copy runs before the stage sends or receives anything. So it never writes to the place that holds the
  // register at the start of the stage.
  BlockAt copy_target_of(const Transfer& t) {
    if (t.dst_reg == 0) {
      const Register& r = at_register(t.chunk, 0);
      if (const auto out = in_output(s_, t.chunk, me_); out && !(r.held && r.at == *out)) return *out;
    }
    return fresh_space(t.chunk);
  }

  // Space that a register leaves becomes free after this stage, which may still send it.
  void write(const Transfer& t, BlockAt target) {
    Register& r = at_register(t.chunk, t.dst_reg);
    if (r.written != stage_) r.start = r.held ? r.at : target;
    r.written = stage_;
    if (r.held && r.at.place == BlockPlace::kSpace && r.at != target) freed_.push_back({t.chunk, r.at.index});
    hold(r, target);
  }

  void drop_if_dead(std::int32_t chunk, std::uint8_t reg) {
    Register& r = at_register(chunk, reg);
    if (!r.held || r.at.place != BlockPlace::kSpace || r.last_read > stage_) return;
    if (reg == 0 && in_output(s_, chunk, me_)) return;
    freed_.push_back({chunk, r.at.index});
    r.held = false;
  }

  void send(const Transfer& t, std::vector<BlockTransfer>& sends) {
    Register& r = at_register(t.chunk, t.src_reg);
    r.sent = stage_;
    if (t.to == me_) r.sent_to_me = stage_;
    sends.push_back(transfer(t, BlockCode::kSend));
    sends.back().from = r.at;
  }

  void copy(const Transfer& t, std::vector<BlockTransfer>& copies) {
    copies.push_back(transfer(t, BlockCode::kCopy));
    copies.back().from = start_of(at_register(t.chunk, t.src_reg));
    copies.back().to = copy_target_of(t);
    write(t, copies.back().to);
  }

  // Every register but register 0 lies in space, so it is folded in place.
  void fold_here(const Transfer& t, std::vector<BlockTransfer>& copies) {
    copies.push_back(transfer(t, BlockCode::kFold));
    copies.back().from = start_of(at_register(t.chunk, t.src_reg));
    copies.back().to = at_register(t.chunk, t.dst_reg).at;
    write(t, copies.back().to);
  }

  void receive(const Transfer& t, Way way, std::vector<BlockTransfer>& receives) {
    BlockCode code = BlockCode::kReceive;
    if (t.action == Action::kCombine)
      code = t.side == Side::kLeft ? BlockCode::kReceiveLeft : BlockCode::kReceiveRight;
    if (way == Way::kFoldLeft) code = BlockCode::kReceiveLeft;
    if (way == Way::kFoldRight) code = BlockCode::kReceiveRight;
    BlockTransfer out = transfer(t, code);
    Register& r = at_register(t.chunk, t.dst_reg);
    if (code != BlockCode::kReceive) out.from = r.at;
    out.to = target_of(t);
    write(t, out.to);
    out.after_sends = r.sent == stage_ && r.start == out.to;
    receives.push_back(out);
  }

  template <class Visit>
  void each(Visit&& visit) {
    const std::vector<Transfer>& list = s_.stages[stage_].transfers;
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i].from == me_ || list[i].to == me_) visit(list[i], ways_[stage_][i]);
    }
  }

  std::vector<BlockTransfer> compile_stage() {
    std::vector<BlockTransfer> list, sends, receives;
    each([&](const Transfer& t, Way way) {
      if (t.from == me_ && crosses_an_edge(way)) send(t, sends);
    });
    each([&](const Transfer& t, Way way) {
      if (way == Way::kLocalCopy) copy(t, list);
      if (way == Way::kLocalFold) fold_here(t, list);
    });
    each([&](const Transfer& t, Way way) {
      if (t.to == me_ && crosses_an_edge(way)) receive(t, way, receives);
    });
    each([&](const Transfer& t, Way) {
      if (t.from == me_) drop_if_dead(t.chunk, t.src_reg);
      if (t.to == me_) drop_if_dead(t.chunk, t.dst_reg);
    });
    for (const Freed& f : freed_) space_.give_back(block_of(s_, f.chunk), piece_of(f.chunk), f.index);
    freed_.clear();
    list.insert(list.end(), sends.begin(), sends.end());
    list.insert(list.end(), receives.begin(), receives.end());
    return list;
  }

  // Copies wanted values that are not in the output yet. A contribution that no transfer changed is copied in
  // the first stage, after the sends, since other members wait for those. If all pieces of a block need a
  // copy, one copy moves the block.
  void finish(Stages& stages) {
    std::vector<BlockTransfer> first, last;
    for (std::int32_t c = 0; c < s_.chunks; c += static_cast<std::int32_t>(pieces_)) {
      const auto out = in_output(s_, c, me_);
      if (!out) continue;
      const std::size_t before = first.size();
      for (std::int32_t k = c; k < c + static_cast<std::int32_t>(pieces_); ++k) {
        const BlockAt at = at_register(k, 0).at;
        if (at == *out) continue;
        std::vector<BlockTransfer>& list = at.place == BlockPlace::kInput ? first : last;
        const auto block = static_cast<std::uint32_t>(block_of(s_, k));
        list.push_back({.code = BlockCode::kCopy,
                        .from = at,
                        .to = *out,
                        .block = block,
                        .piece = piece_of(k),
                        .pieces = pieces_});
      }
      if (first.size() - before == pieces_) {
        first.resize(before + 1);
        first.back().piece = 0;
        first.back().pieces = 1;
      }
    }
    if (!first.empty()) {
      if (stages.empty()) stages.emplace_back();
      std::vector<BlockTransfer>& stage = stages.front();
      const auto receives =
          std::find_if(stage.begin(), stage.end(), [](const BlockTransfer& t) { return is_receive(t.code); });
      stage.insert(receives, first.begin(), first.end());
    }
    if (!last.empty()) stages.push_back(std::move(last));
  }

  CompiledBlocks pack(const Stages& stages) {
    CompiledBlocks out;
    for (const std::vector<BlockTransfer>& list : stages) {
      out.stages.push_back({unsigned_of(std::ssize(out.transfers)), unsigned_of(std::ssize(list))});
      out.transfers.insert(out.transfers.end(), list.begin(), list.end());
    }
    out.edges = std::move(edges_);
    out.pieces = pieces_;
    BlockProgram& p = out.program;
    p.collective = s_.collective;
    p.members = unsigned_of(s_.members);
    p.rank = unsigned_of(me_);
    p.root = unsigned_of(s_.root);
    p.space_blocks = space_.size();
    p.stage_count = unsigned_of(std::ssize(out.stages));
    p.transfer_count = unsigned_of(std::ssize(out.transfers));
    p.edge_count = unsigned_of(std::ssize(out.edges));
    p.stages = out.stages.data();
    p.transfers = out.transfers.data();
    p.edges = out.edges.data();
    return out;
  }

  const Schedule& s_;
  const std::int32_t me_;
  const std::uint32_t pieces_;
  Space space_;
  std::vector<Register> registers_;  // by chunk, then register
  std::vector<std::vector<Way>> ways_;
  std::vector<BlockEdge> edges_;
  std::vector<Freed> freed_;
  std::int32_t stage_ = 0;
};

std::string flaw_of(const Schedule& s) {
  if (s.collective == Collective::kBarrier) return "a barrier moves no blocks";
  if (!s.words.empty()) return "words carry no blocks";
  for (const Stage& stage : s.stages) {
    for (const Transfer& t : stage.transfers) {
      if (t.action == Action::kSignal) return "it has a signal without data";
    }
  }
  return {};
}

}  // namespace

Result<CompiledBlocks> compile_blocks(const Schedule& schedule, std::int32_t member, Verified) {
  if (member < 0 || member >= schedule.members)
    return Error{Status::kArgument,
                 "there is no member " + std::to_string(member) + " of " + std::to_string(schedule.members)};
  if (const std::string flaw = flaw_of(schedule); !flaw.empty())
    return Error{Status::kUnsupported, "cannot compile " + schedule.algorithm + " for blocks: " + flaw};
  return BlockCompiler(schedule, member).run();
}

Result<CompiledBlocks> compile_blocks(const Schedule& schedule, std::int32_t member) {
  const Result<Verified> proof = verify(schedule, OpTraits{});
  if (!proof) return proof.error();
  return compile_blocks(schedule, member, *proof);
}

}  // namespace fermata
