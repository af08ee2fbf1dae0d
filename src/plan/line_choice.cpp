// Times the finalists of plans on lines, and chooses one. Means are trimmed: each repeat makes another team
// on other lines, and some teams get slow lines. If finalists are equal, the simplest one wins.
#include <algorithm>
#include <array>
#include <cmath>

#include "plan/line_search.hpp"

namespace fermata {
namespace {

// The first rounds time all finalists: half a second for two members, longer than most disturbances.
constexpr int kFirstRounds = 11;
constexpr int kFurtherRounds = 14;  // for the finalists near the best
constexpr double kNear = 1.5;       // times the best: slower finalists are dropped after the first rounds
// By chance, two means of 25 repeats differ by about two thirds of half the distance between the quartiles.
constexpr double kOfSpread = 0.65;
constexpr double kLeastNoise = 0.02;
constexpr double kMostNoise = 0.25;
constexpr double kModelNoise = 0.05;     // of predictions, relative
constexpr double kNoiseOfStores = 0.01;  // of a latency that consists of messages, relative
// Where members share CPUs, each wait may put a member to sleep. If other processes make members park, a
// schedule with fewer waits is much faster. With 4 members and 2 busy processes on 2 CPUs, complete takes 22
// us, and counter takes 9 us.
constexpr double kCrowdedNoise = 0.2;

// Returns the largest number of signals that one member awaits in an episode.
int most_waits(const Schedule& s) {
  std::vector<int> waits(static_cast<std::size_t>(s.members));
  for (const Stage& stage : s.stages)
    for (const Transfer& t : stage.transfers)
      if (!s.is_word(t.to) && t.from != t.to) ++waits[static_cast<std::size_t>(t.to)];
  return *std::max_element(waits.begin(), waits.end());
}

Plan minimal_plan(const PlanKey& key, const Draft& draft, const Entry& entry) {
  Plan plan;
  plan.key = key;
  plan.schedule = draft.schedule;
  plan.layout = entry.layout;
  plan.credit_batch = entry.credit_batch;
  return plan;
}

// Counts messages between hosts. The model lacks the cost of each message for a host's CPUs and its link.
std::int64_t messages(const Schedule& s, const std::vector<std::int32_t>& hosts) {
  std::int64_t count = 0;
  for (const Stage& stage : s.stages)
    for (const Transfer& t : stage.transfers)
      if (!hosts.empty() && !s.is_word(t.from) && !s.is_word(t.to))
        count += hosts[static_cast<std::size_t>(t.from)] != hosts[static_cast<std::size_t>(t.to)];
  return count;
}

}  // namespace

void time_entries(const PlanKey& key, const std::vector<Draft>& drafts,
                  const std::vector<std::size_t>& finalists, std::vector<Entry>& entries,
                  const PlanOptions& options, const Measure& measure) {
  std::vector<Runner> runners;
  for (const std::size_t f : finalists) {
    Entry& e = entries[f];
    if (e.simulated) continue;  // it would take the same time again
    auto program = compile_lines(minimal_plan(key, drafts[e.draft], e));
    if (!program) e.refusal = "refused: " + program.error().message;
    else
      runners.push_back({&e, drafts[e.draft].schedule.algorithm + " " + to_string(e.layout),
                         [&, blob = std::move(*program)](int round) { return measure(blob, key, round); }});
  }
  const Rounds measured = {
      .first = kFirstRounds, .further = kFurtherRounds, .near = kNear, .average = trimmed_mean};
  time_in_rounds(std::move(runners), options.simulated ? Rounds{.simulated = true} : measured,
                 options.progress);
}

std::size_t pick(const std::vector<Draft>& drafts, const std::vector<Entry>& entries,
                 const std::vector<std::size_t>& finalists, bool crowded,
                 const std::vector<std::int32_t>& hosts) {
  std::vector<const Trial*> left;
  for (const std::size_t f : finalists) left.push_back(&entries[f]);
  left = standing(left);
  if (left.empty()) return finalists.front();
  const auto entry_of = [](const Trial* t) -> const Entry& { return *static_cast<const Entry*>(t); };
  const auto schedule_of = [&](const Trial* t) -> const Schedule& {
    return drafts[entry_of(t).draft].schedule;
  };
  const Trial* best = fastest(left);
  const bool timed = best->timed_ns > 0;
  const bool streams = entry_of(best).credit_batch > 0;
  if (crowded && !streams) {
    left = within(left, kCrowdedNoise);
    int least = most_waits(schedule_of(best));
    for (const Trial* t : left) least = std::min(least, most_waits(schedule_of(t)));
    std::erase_if(left, [&](const Trial* t) { return most_waits(schedule_of(t)) > least; });
    best = fastest(left);
  }
  const double noise = timed     ? std::clamp(kOfSpread * best->spread, kLeastNoise, kMostNoise)
                       : streams ? kStreamNoise
                                 : kModelNoise;
  // The cost of stores is negligible beside a message, so such latencies count as equal.
  const double alike = hosts.empty() ? 0 : entry_of(best).latency_ns * (1 + kNoiseOfStores);
  const auto effort = [&](const Trial* t) {
    const Entry& e = entry_of(t);
    const Schedule& s = schedule_of(t);
    return std::array<double, 8>{
        static_cast<double>(messages(s, hosts)),
        timed || crowded || e.latency_ns <= alike ? 0 : std::round(e.latency_ns),
        static_cast<double>(s.transfer_count() + s.stages.size()), e.credit_batch > 0 ? 1.0 : 0.0,
        // With credits, more slots need fewer credits. Without, a further slot only takes memory.
        static_cast<double>(e.credit_batch > 0 ? -e.layout.at(0).slots : e.layout.at(0).slots),
        static_cast<double>(e.layout.listed().size()), static_cast<double>(e.layout.at(0).stride),
        static_cast<double>(e.layout.longest_line())};
  };
  for (const Trial* t : within(left, noise))
    if (effort(t) < effort(best)) best = t;
  return static_cast<std::size_t>(&entry_of(best) - entries.data());
}

}  // namespace fermata
