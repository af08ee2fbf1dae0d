// Run-ahead: may a member of a later episode overwrite what another has not read yet?
//
// Events are (vertex, stage) of each episode. Instead of a graph search per slot, each vertex carries a vector clock: how
// many stages of each member, and how many completions of each word, happened before what it does next. Program order and
// signals advance it, so one sweep over slots + 1 episodes answers for all slots at once.
#include <algorithm>

#include "schedule/structure.hpp"
#include "schedule/verify.hpp"

namespace fermata {
namespace {

class Clocks {
 public:
  explicit Clocks(const Schedule& s)
      : s_(s), width_(s.vertices()), rows_(width_ * width_, 0), saved_at_(width_, -1) {}

  // Entry v of vertex u's clock as the stage found it.
  std::int32_t before(std::int32_t u, std::int32_t v) const { return snapshot(u)[v]; }

  // What the actor of a word -> word edge knew is part of what the edge carries.
  void run_stage(const Stage& stage, std::int32_t stages_done);
  // After the stage of a word's last in-edge.
  void complete(std::int32_t word) { ++row(s_.word_vertex(word))[s_.word_vertex(word)]; }
  void save(const Stage& stage);

 private:
  std::int32_t* row(std::int32_t v) { return rows_.data() + static_cast<std::size_t>(v) * width_; }
  const std::int32_t* snapshot(std::int32_t v) const {
    return saved_at_[v] >= 0 ? saved_.data() + static_cast<std::size_t>(saved_at_[v]) * width_
                             : rows_.data() + static_cast<std::size_t>(v) * width_;
  }
  void merge(std::int32_t to, std::int32_t from) {
    std::int32_t* const into = row(to);
    const std::int32_t* const what = snapshot(from);
    for (std::size_t i = 0; i < width_; ++i) into[i] = std::max(into[i], what[i]);
  }

  const Schedule& s_;
  const std::size_t width_;
  std::vector<std::int32_t> rows_, saved_, saved_at_, touched_;
};

void Clocks::save(const Stage& stage) {
  for (const std::int32_t v : touched_) saved_at_[v] = -1;
  touched_.clear();
  for (const Transfer& t : stage.transfers) {
    if (saved_at_[t.to] >= 0) continue;
    saved_at_[t.to] = static_cast<std::int32_t>(touched_.size());
    touched_.push_back(t.to);
  }
  saved_.resize(touched_.size() * width_);
  for (std::size_t i = 0; i < touched_.size(); ++i) std::copy_n(row(touched_[i]), width_, saved_.data() + i * width_);
}

void Clocks::run_stage(const Stage& stage, std::int32_t stages_done) {
  for (const Transfer& t : stage.transfers) {
    merge(t.to, t.from);
    if (s_.is_word(t.from) && s_.is_word(t.to)) merge(t.to, s_.word_vertex(actor_of(s_, t)));
  }
  for (std::int32_t m = 0; m < s_.members; ++m) row(m)[m] = stages_done;
}

// Does whoever adds along t, at the start of this stage, know that the word's previous episode is over? A word with one
// adder, always the same member, needs no such knowledge: its adds come in program order.
bool knows_completion(const Clocks& clocks, const Schedule& s, const Transfer& t) {
  if (!s.is_word(t.from)) {
    return s.words[s.word_of(t.to)].threshold == 1 || clocks.before(t.from, t.to) >= 1;
  }
  return clocks.before(t.from, t.to) >= 1 || clocks.before(s.word_vertex(actor_of(s, t)), t.to) >= 1;
}

}  // namespace

std::vector<Hazard> reuse_hazards(const Schedule& s, int slots, bool carries_data) {
  std::vector<Hazard> out;
  if (s.words.empty() && !carries_data) return out;
  if (slots < 1 || !check_structure(s)) return out;
  const auto stages = static_cast<std::int32_t>(s.stages.size());
  std::vector<std::int32_t> last_in(s.words.size(), -1);
  for (std::int32_t a = 0; a < stages; ++a) {
    for (const Transfer& t : s.stages[a].transfers) {
      if (s.is_word(t.to)) last_in[s.word_of(t.to)] = a;
    }
  }
  std::vector<std::vector<std::int32_t>> completes(stages);
  for (std::size_t w = 0; w < last_in.size(); ++w) {
    if (last_in[w] >= 0) completes[last_in[w]].push_back(static_cast<std::int32_t>(w));
  }
  Clocks clocks(s);
  const int episodes = carries_data ? slots + 1 : 2;
  for (int episode = 0; episode < episodes; ++episode) {
    for (std::int32_t a = 0; a < stages; ++a) {
      const Stage& stage = s.stages[a];
      clocks.save(stage);
      for (std::size_t i = 0; i < stage.transfers.size(); ++i) {
        const Transfer& t = stage.transfers[i];
        bool hazard = false;
        if (s.is_word(t.to)) {
          hazard = episode == 1 && !knows_completion(clocks, s, t);
        } else if (!s.is_word(t.from) && carries_data && episode == slots && t.from != t.to) {
          // The receiver has read the slot once its stage a of episode 0 is over.
          hazard = clocks.before(t.from, t.to) < a + 1;
        }
        if (hazard) out.push_back({a, static_cast<std::int32_t>(i)});
      }
      clocks.run_stage(stage, episode * stages + a + 1);
      for (const std::int32_t w : completes[a]) clocks.complete(w);
    }
  }
  std::sort(out.begin(), out.end(), [](const Hazard& a, const Hazard& b) {
    return a.stage != b.stage ? a.stage < b.stage : a.transfer < b.transfer;
  });
  return out;
}

}  // namespace fermata
