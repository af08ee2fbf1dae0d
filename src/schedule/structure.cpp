#include "schedule/structure.hpp"

#include <algorithm>

#include "schedule/contents.hpp"

namespace fermata {
namespace {

Error refuse(std::string message) { return Error{Status::kVerify, std::move(message)}; }

std::string at(std::size_t stage, std::size_t index) {
  return "stage " + std::to_string(stage) + ", transfer " + std::to_string(index) + ": ";
}

// Returns the reason why the counts cannot be sizes of tables, or an empty string if they can.
std::string check_header(const Schedule& s) {
  if (s.members < 1 || s.members > kMaxScheduleMembers) return "members out of range";
  if (s.root < 0 || s.root >= s.members) return "root out of range";
  if (s.registers < 1 || s.registers > kMaxScheduleRegisters) return "registers out of range";
  if (s.chunks < 0 || s.chunks > kMaxScheduleChunks) return "chunks out of range";
  if (static_cast<int>(s.collective) >= kCollectiveCount) return "unknown collective";
  if (s.collective == Collective::kBarrier && s.chunks != 0) return "a barrier has no chunks";
  if (s.collective != Collective::kBarrier && s.chunks == 0)
    return "a collective with data has at least one chunk";
  if (const std::int64_t blocks = blocks_of(s.collective, s.members); blocks > 1 && s.chunks % blocks != 0)
    return std::string(name_of(s.collective)) + " of " + std::to_string(s.members) +
           " members has a multiple of " + std::to_string(blocks) + " chunks";
  const auto words = static_cast<std::int64_t>(s.words.size());
  if (words > 4 * static_cast<std::int64_t>(kMaxScheduleMembers)) return "too many words";
  for (std::int64_t w = 0; w < words; ++w) {
    const Word& word = s.words[w];
    const std::string name = "word " + std::to_string(w) + ": ";
    if (word.threshold < 1) return name + "threshold below 1";
    if (word.agent < -1 || word.agent >= words) return name + "agent out of range";
    if (word.agent >= 0 && (word.agent == w || s.words[word.agent].agent >= 0)) {
      return name + "its agent must be another word that is its own agent";
    }
  }
  return {};
}

std::string check_transfer(const Schedule& s, const Transfer& t) {
  if (t.from < 0 || t.from >= s.vertices() || t.to < 0 || t.to >= s.vertices()) return "vertex out of range";
  if (t.action == Action::kSignal) {
    if (t.from == t.to) return vertex_name(s, t.from) + " awaits itself";
    if (t.chunk != -1) return "a signal carries no chunk";
    if (!s.is_word(t.from) && s.is_word(t.to) && s.words[s.word_of(t.to)].agent >= 0) {
      return "a member adds to a phase; only its agent may flip it";
    }
    return {};
  }
  if (t.action != Action::kCombine && t.action != Action::kCopy) return "unknown action";
  if (s.is_word(t.from) || s.is_word(t.to)) return "words carry no data";
  if (t.chunk < 0 || t.chunk >= s.chunks) return "chunk out of range";
  if (t.src_reg >= s.registers || t.dst_reg >= s.registers) return "register out of range";
  return {};
}

// A slot holds one signal per episode. Two signals between the same two vertices in one stage would share it.
class TwiceCheck {
 public:
  explicit TwiceCheck(const Schedule& s) : count_(s.vertices() + 1), seen_(s.vertices(), 0) {}

  // Returns the index of a transfer that repeats an earlier one of the stage, or -1. A counting sort groups
  // the transfers by receiver.
  std::int64_t find(const Stage& stage) {
    const std::size_t n = stage.transfers.size();
    if (n < 2) return -1;
    if (n < 16) return find_few(stage);
    std::fill(count_.begin(), count_.end(), 0);
    for (const Transfer& t : stage.transfers) ++count_[t.to + 1];
    for (std::size_t v = 1; v < count_.size(); ++v) count_[v] += count_[v - 1];
    order_.resize(n);
    for (std::size_t i = 0; i < n; ++i) order_[count_[stage.transfers[i].to]++] = i;
    for (std::size_t i = 0; i < n; ++i) {
      const Transfer& t = stage.transfers[order_[i]];
      if (i == 0 || stage.transfers[order_[i - 1]].to != t.to) ++group_;
      if (t.action != Action::kSignal) continue;
      if (seen_[t.from] == group_) return static_cast<std::int64_t>(order_[i]);
      seen_[t.from] = group_;
    }
    return -1;
  }

 private:
  static std::int64_t find_few(const Stage& stage) {
    for (std::size_t i = 1; i < stage.transfers.size(); ++i) {
      const Transfer& t = stage.transfers[i];
      if (t.action != Action::kSignal) continue;
      for (std::size_t j = 0; j < i; ++j) {
        const Transfer& u = stage.transfers[j];
        if (u.action == Action::kSignal && u.from == t.from && u.to == t.to)
          return static_cast<std::int64_t>(i);
      }
    }
    return -1;
  }

  std::vector<std::size_t> count_, order_;
  std::vector<std::uint64_t> seen_;
  std::uint64_t group_ = 0;
};

// A word has exactly `threshold` in-edges. It is complete before any member acts for it or polls it.
std::string check_words(const Schedule& s) {
  const std::size_t words = s.words.size();
  std::vector<std::int64_t> in(words, 0), last_in(words, -1);
  for (std::size_t a = 0; a < s.stages.size(); ++a) {
    for (const Transfer& t : s.stages[a].transfers) {
      if (!s.is_word(t.to)) continue;
      ++in[s.word_of(t.to)];
      last_in[s.word_of(t.to)] = static_cast<std::int64_t>(a);
    }
  }
  for (std::size_t w = 0; w < words; ++w) {
    if (in[w] != s.words[w].threshold) {
      return "word " + std::to_string(w) + ": threshold " + std::to_string(s.words[w].threshold) + " but " +
             std::to_string(in[w]) + " in-edges an episode";
    }
  }
  for (std::size_t a = 0; a < s.stages.size(); ++a) {
    const auto stage = static_cast<std::int64_t>(a);
    for (std::size_t i = 0; i < s.stages[a].transfers.size(); ++i) {
      const Transfer& t = s.stages[a].transfers[i];
      if (!s.is_word(t.from)) continue;
      if (last_in[s.word_of(t.from)] >= stage) {
        return at(a, i) + vertex_name(s, t.from) + " is not complete before this stage";
      }
      if (s.is_word(t.to) && last_in[actor_of(s, t)] >= stage) {
        return at(a, i) + "word " + std::to_string(actor_of(s, t)) +
               ", whose completer acts here, is not complete before";
      }
    }
  }
  return {};
}

}  // namespace

std::string vertex_name(const Schedule& s, std::int32_t vertex) {
  return s.is_word(vertex) ? "word " + std::to_string(s.word_of(vertex)) : "member " + std::to_string(vertex);
}

Result<Verified> check_structure(const Schedule& s) {
  if (std::string why = check_header(s); !why.empty()) return refuse(std::move(why));
  TwiceCheck twice(s);
  for (std::size_t a = 0; a < s.stages.size(); ++a) {
    const std::vector<Transfer>& transfers = s.stages[a].transfers;
    for (std::size_t i = 0; i < transfers.size(); ++i) {
      if (std::string why = check_transfer(s, transfers[i]); !why.empty()) return refuse(at(a, i) + why);
      if (s.collective == Collective::kBarrier && transfers[i].action != Action::kSignal) {
        return refuse(at(a, i) + "a barrier carries no data");
      }
    }
    if (const std::int64_t i = twice.find(s.stages[a]); i >= 0) {
      const Transfer& t = transfers[i];
      return refuse(at(a, i) + vertex_name(s, t.from) + " signals " + vertex_name(s, t.to) +
                    " twice in one stage");
    }
  }
  if (std::string why = check_words(s); !why.empty()) return refuse(std::move(why));
  return Verified{};
}

}  // namespace fermata
