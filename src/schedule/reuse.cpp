// Run-ahead: can a member in a later episode overwrite a slot that another member has not read yet? Can it
// add to a word that still counts the previous episode?
//
// An event is a (vertex, stage) pair in an episode. Each vertex has a row that records the events before its
// next event. Program order and signals carry rows forward. So one sweep over the episodes answers for all
// slots, without a graph search per slot. The rows are:
//  slots: a vector clock, which counts the stages of episode 0 that each member has finished (a byte or an
//         int32 per vertex and member)
//  words: the words whose first episode is over (one bit per vertex and word)
#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>

#include "schedule/knowledge.hpp"
#include "schedule/structure.hpp"
#include "schedule/verify.hpp"

namespace fermata {
namespace {

template <class Count>
Count later(Count a, Count b) {
  return a > b ? a : b;
}

// Slots: the write of episode `slots` must come after the receiver has finished the stage in episode 0.
// Episodes in between are left out once they change no row. Precondition: Count holds the number of stages.
template <class Count>
void slot_hazards(const Schedule& s, int slots, std::vector<Hazard>& out) {
  Rows<Count, later<Count>> clocks(s, s.members);
  const auto stages = static_cast<std::int32_t>(s.stages.size());
  for (int episode = 0; episode <= slots; ++episode) {
    bool changed = episode == 0;
    for (std::int32_t a = 0; a < stages; ++a) {
      const Stage& stage = s.stages[a];
      clocks.begin(stage);
      for (std::size_t i = 0; episode == slots && i < stage.transfers.size(); ++i) {
        const Transfer& t = stage.transfers[i];
        if (same_message(stage, i)) continue;
        const bool slot = !s.is_word(t.from) && !s.is_word(t.to) && t.from != t.to;
        if (slot && clocks.before(t.from)[t.to] < a + 1) out.push_back({a, static_cast<std::int32_t>(i)});
      }
      changed = clocks.pass(stage) || changed;
      if (episode > 0) continue;
      for (std::int32_t m = 0; m < s.members; ++m) clocks.row(m)[m] = static_cast<Count>(a + 1);
    }
    if (!changed && episode < slots) episode = slots - 1;
  }
}

// Words: a member that adds for episode 1 must know that episode 0 is complete. Otherwise the add counts for
// the wrong episode. If only one member adds to a word, it needs no such knowledge, since its adds come in
// program order.
void word_hazards(const Schedule& s, std::vector<Hazard>& out) {
  Rows<std::uint64_t, united> known(s, (s.words.size() + 63) / 64);
  std::vector<std::int32_t> last_in(s.words.size(), -1);
  for (std::size_t a = 0; a < s.stages.size(); ++a) {
    for (const Transfer& t : s.stages[a].transfers) {
      if (s.is_word(t.to)) last_in[s.word_of(t.to)] = static_cast<std::int32_t>(a);
    }
  }
  for (int episode = 0; episode < 2; ++episode) {
    for (std::size_t a = 0; a < s.stages.size(); ++a) {
      const Stage& stage = s.stages[a];
      known.begin(stage);
      for (std::size_t i = 0; episode == 1 && i < stage.transfers.size(); ++i) {
        const Transfer& t = stage.transfers[i];
        if (!s.is_word(t.to)) continue;
        const std::int32_t word = s.word_of(t.to);
        const auto knows = [&](std::int32_t v) {
          return (known.before(v)[word / 64] >> (word % 64) & 1) != 0;
        };
        const bool alone = !s.is_word(t.from) && s.words[word].threshold == 1;
        const bool safe =
            alone || knows(t.from) || (s.is_word(t.from) && knows(s.word_vertex(actor_of(s, t))));
        if (!safe) out.push_back({static_cast<std::int32_t>(a), static_cast<std::int32_t>(i)});
      }
      known.pass(stage);
      for (const Transfer& t : stage.transfers) {
        if (!s.is_word(t.to)) continue;
        const std::int32_t word = s.word_of(t.to);
        if (last_in[word] == static_cast<std::int32_t>(a))
          known.row(t.to)[word / 64] |= std::uint64_t{1} << (word % 64);
      }
    }
  }
}

bool by_place(const Hazard& a, const Hazard& b) {
  return a.stage != b.stage ? a.stage < b.stage : a.transfer < b.transfer;
}

}  // namespace

std::vector<Hazard> reuse_hazards(const Schedule& s, int slots, bool carries_data) {
  std::vector<Hazard> out;
  if (slots < 1 || !check_structure(s)) return out;
  if (!s.words.empty()) word_hazards(s, out);
  if (carries_data && s.stages.size() <= std::numeric_limits<std::uint8_t>::max())
    slot_hazards<std::uint8_t>(s, slots, out);
  else if (carries_data) slot_hazards<std::int32_t>(s, slots, out);
  std::sort(out.begin(), out.end(), by_place);
  return out;
}

// How far a sender may run ahead does not depend on the number of slots, so each stage is judged on its own.
std::vector<Hazard> reuse_hazards(const Schedule& s, const Layouts& layouts, bool carries_data) {
  std::set<std::int32_t> counts;
  for (std::size_t t = 0; t < std::max<std::size_t>(1, s.stages.size()); ++t)
    counts.insert(layouts.at(t).slots);
  std::vector<Hazard> out;
  for (const std::int32_t slots : counts)
    for (const Hazard& h : reuse_hazards(s, slots, carries_data))
      if (layouts.at(static_cast<std::size_t>(h.stage)).slots == slots) out.push_back(h);
  std::sort(out.begin(), out.end(), by_place);
  return out;
}

}  // namespace fermata
