// Random plans: plans of the table and unusual ones, with words, credits and layouts that differ by stage.
// Some of them are broken.
#ifndef FERMATA_TESTS_RANDOM_PLANS_HPP
#define FERMATA_TESTS_RANDOM_PLANS_HPP

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "../schedule/random_schedule.hpp"
#include "algo/algorithm.hpp"
#include "plan/plan.hpp"
#include "schedule/compose.hpp"
#include "schedule/structure.hpp"
#include "schedule/verify.hpp"

namespace fermata::test {

inline LayoutChoice random_layout(Random& random) {
  LayoutChoice choice;
  choice.layout = static_cast<Layout>(random.below(kLayoutCount));
  choice.slots = 1 << random.below(4);
  choice.stride = 1 + random.below(2);
  choice.line = random.chance(50) ? 64 : 128;
  choice.pauses = 1 + random.below(3);
  return choice;
}

// A schedule of the table with its members in another order (a root stays member 0).
inline Schedule of_the_table(Random& random, Collective collective, int members) {
  for (;;) {
    const auto table = algorithms();
    const Algorithm& algorithm =
        table[static_cast<std::size_t>(random.below(static_cast<int>(table.size())))];
    const Request request{.collective = collective, .members = members, .degree = 2 + random.below(4)};
    if (algorithm.cuts || !algorithm.applicable(request) ||
        !serves(algorithm, request, algebra_of(collective)))
      continue;
    std::vector<std::int32_t> places(static_cast<std::size_t>(members));
    std::iota(places.begin(), places.end(), 0);
    for (int i = members - 1; i > 1; --i)
      std::swap(places[static_cast<std::size_t>(i)], places[static_cast<std::size_t>(1 + random.below(i))]);
    return lift(algorithm.build(request), places, members);
  }
}

// Adds words with random edges: adders of several stages, climbs with and without agents, polls by some
// members. The caller sets the thresholds.
inline void add_words(Random& random, Schedule& s) {
  const int stages = static_cast<int>(s.stages.size()), first = static_cast<int>(s.words.size()),
            count = random.below(5);
  std::vector<int> last;
  const auto edge = [&](int stage, int from, int to) {
    Stage& into = s.stages[static_cast<std::size_t>(stage)];
    if (!has(into, from, to)) into.transfers.push_back({.from = from, .to = to});
  };
  for (int w = 0; w < count; ++w) {
    const int vertex = s.members + first + w;
    Word word{.threshold = 0, .agent = -1};
    int end = random.below(stages);
    if (w > 0 && random.chance(40)) {  // a phase that an agent flips after another word
      const int agent = random.below(w), source = random.below(w);
      const int at =
          std::max(last[static_cast<std::size_t>(agent)], last[static_cast<std::size_t>(source)]) + 1;
      if (s.words[static_cast<std::size_t>(first + agent)].agent < 0 && at < stages) {
        word.agent = first + agent;
        s.words.push_back(word);
        edge(at, s.members + first + source, vertex);
        last.push_back(at);
        continue;
      }
    }
    s.words.push_back(word);
    for (int m = 0; m < s.members; ++m)
      if (random.chance(75)) edge(random.below(end + 1), m, vertex);
    if (w > 0 && random.chance(40)) {
      const int source = random.below(w), at = last[static_cast<std::size_t>(source)] + 1;
      if (at < stages) {
        edge(at, s.members + first + source, vertex);
        end = std::max(end, at);
      }
    }
    last.push_back(end);
  }
  for (int w = 0; w < count; ++w)
    for (int m = 0; m < s.members; ++m) {
      const int after = last[static_cast<std::size_t>(w)] + 1;
      if (after < stages && random.chance(70))
        edge(after + random.below(stages - after), s.members + first + w, m);
    }
}

// Removes an edge, redirects it, or moves it into another stage.
inline void damage(Random& random, Schedule& s) {
  auto& stage = s.stages[static_cast<std::size_t>(random.below(static_cast<int>(s.stages.size())))].transfers;
  if (stage.empty()) return;
  const auto at = stage.begin() + random.below(static_cast<int>(stage.size()));
  const Transfer t = *at;
  switch (random.below(3)) {
    case 0: stage.erase(at); break;
    case 1:
      if (!s.is_word(t.to)) at->to = random.below(s.members);
      break;
    case 2:
      stage.erase(at);
      s.stages[static_cast<std::size_t>(random.below(static_cast<int>(s.stages.size())))].transfers.push_back(
          t);
      break;
  }
}

// The structure may be wrong; everything else is as compile_lines() requires.
inline Plan random_plan(Random& random) {
  Plan plan;
  Schedule& s = plan.schedule;
  const int members = 2 + random.below(11);
  const Collective collective =
      random.chance(60) ? Collective::kBarrier : static_cast<Collective>(random.below(kLineCollectiveCount));
  if (collective == Collective::kBarrier && random.chance(50)) {
    s = random_barrier(random, members);
  } else {
    s = of_the_table(random, collective, members);
  }
  if (collective == Collective::kBarrier && random.chance(60)) {
    if (random.chance(50)) s.stages.resize(s.stages.size() + static_cast<std::size_t>(random.below(3)));
    add_words(random, s);
  }
  for (int k = random.chance(40) ? random.below(3) : 0; k > 0 && !s.stages.empty(); --k) damage(random, s);
  for (Word& word : s.words) word.threshold = 0;
  for (const Stage& stage : s.stages)
    for (const Transfer& t : stage.transfers)
      if (s.is_word(t.to)) ++s.words[static_cast<std::size_t>(s.word_of(t.to))].threshold;
  plan.key.collective = collective;
  plan.key.members = members;
  const bool tagged = s.words.empty() && random.chance(20);
  plan.key.payload = collective == Collective::kBarrier ? (tagged ? 8 : 0) : random.chance(50) ? 8 : 24;
  std::vector<LayoutChoice> layouts(static_cast<std::size_t>(1 + random.below(3)));
  for (LayoutChoice& choice : layouts) choice = random_layout(random);
  plan.layout = Layouts(std::move(layouts));
  if (random.chance(50)) plan.credit_batch = std::min(1 << random.below(3), plan.layout.least_slots());
  return plan;
}

// Draws a plan from its own number.
inline Plan plan_of(std::uint64_t number) {
  Random random(static_cast<unsigned>(number * 2654435761u + 1));
  return random_plan(random);
}

// Does the plan have words whose reuse is not safe, and is it a barrier without them? Then a wrong count of
// such a word does no visible harm, but the plan is refused.
inline bool needs_no_such_words(const Plan& plan) {
  Schedule s = plan.schedule;
  std::set<std::int32_t> gone;
  for (const Hazard& h : reuse_hazards(s, plan.layout, false))
    gone.insert(
        s.stages[static_cast<std::size_t>(h.stage)].transfers[static_cast<std::size_t>(h.transfer)].to);
  for (std::size_t before = 0; before != gone.size();) {  // and words that those words complete
    before = gone.size();
    for (const Stage& stage : s.stages)
      for (const Transfer& t : stage.transfers)
        if (s.is_word(t.to) && s.is_word(t.from))
          if (gone.contains(t.from) || gone.contains(s.word_vertex(actor_of(s, t)))) gone.insert(t.to);
  }
  for (Word& word : s.words) word.threshold = 0;
  for (Stage& stage : s.stages) {
    std::erase_if(stage.transfers,
                  [&](const Transfer& t) { return gone.contains(t.from) || gone.contains(t.to); });
    for (const Transfer& t : stage.transfers)
      if (s.is_word(t.to)) ++s.words[static_cast<std::size_t>(s.word_of(t.to))].threshold;
  }
  for (Word& word : s.words)
    if (word.threshold == 0) word = Word{};
  // each word keeps an adder
  for (const std::int32_t w : gone) s.stages.front().transfers.push_back({.from = 0, .to = w});
  return !gone.empty() && verify(s, {}).ok();
}

}  // namespace fermata::test
#endif
