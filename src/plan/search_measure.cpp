// Times the finalists. Repeats are interleaved, so that drift of the machine affects all finalists alike.
// Means are trimmed: each repeat makes another team on other lines, and some teams get slow lines. If
// finalists are equal, the simplest one wins.
#include <algorithm>
#include <array>
#include <cmath>

#include "plan/search.hpp"
#include "profile/statistics.hpp"

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
// Where episodes overlap, a gain of a quarter of the period is not worth a much longer path.
constexpr double kStreamNoise = 0.25;

// Returns half the distance between the quartiles, relative to the median. A smaller difference is noise.
double spread_of(std::vector<double> values) {
  if (values.size() < 4) return 0;
  std::sort(values.begin(), values.end());
  return 0.5 * (values[3 * values.size() / 4] - values[values.size() / 4]) / std::max(1e-9, median(values));
}

struct Runner {
  std::size_t entry = 0;
  std::vector<std::byte> program;
  std::vector<double> samples;
};

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
    auto program = compile(minimal_plan(key, drafts[entries[f].draft], entries[f]));
    if (program) runners.push_back({f, std::move(program.value()), {}});
    else entries[f].refusal = "refused: " + program.error().message;
  }
  for (int round = 0; round < kFirstRounds + kFurtherRounds; ++round) {
    double best = 0;
    for (Runner& r : runners) {
      if (options.progress)
        options.progress(
            static_cast<double>(round) / (kFirstRounds + kFurtherRounds),
            drafts[entries[r.entry].draft].schedule.algorithm + " " + to_string(entries[r.entry].layout));
      const Result<double> period = measure(r.program, key, round);
      if (period) r.samples.push_back(*period);
      else entries[r.entry].refusal = "not timed: " + period.error().message;
      entries[r.entry].measured_ns = trimmed_mean(r.samples);
      entries[r.entry].spread = spread_of(r.samples);
    }
    std::erase_if(runners, [&](const Runner& r) { return !entries[r.entry].refusal.empty(); });
    for (const Runner& r : runners)
      best = best > 0 ? std::min(best, entries[r.entry].measured_ns) : entries[r.entry].measured_ns;
    if (round + 1 != kFirstRounds) continue;
    std::erase_if(runners, [&](const Runner& r) {
      Entry& e = entries[r.entry];
      if (e.measured_ns > kNear * best) e.behind = e.measured_ns / best;
      return e.behind > 0;
    });
  }
  if (options.progress) options.progress(1, "timed");
}

std::size_t pick(const std::vector<Draft>& drafts, const std::vector<Entry>& entries,
                 const std::vector<std::size_t>& finalists, bool crowded,
                 const std::vector<std::int32_t>& hosts) {
  const auto time_of = [&](std::size_t f) {
    return entries[f].measured_ns > 0 ? entries[f].measured_ns : entries[f].predicted_ns;
  };
  const bool timed = std::any_of(finalists.begin(), finalists.end(),
                                 [&](std::size_t f) { return entries[f].measured_ns > 0; });
  const auto schedule_of = [&](std::size_t f) -> const Schedule& {
    return drafts[entries[f].draft].schedule;
  };
  // A dropped finalist never wins, even if the machine got slower while the others were timed.
  std::vector<std::size_t> standing;
  for (const std::size_t f : finalists)
    if (entries[f].refusal.empty() && entries[f].behind <= 0 && (!timed || entries[f].measured_ns > 0))
      standing.push_back(f);
  if (standing.empty()) return finalists.front();
  const auto fastest = [&] {
    return *std::min_element(standing.begin(), standing.end(),
                             [&](std::size_t a, std::size_t b) { return time_of(a) < time_of(b); });
  };
  std::size_t best = fastest();
  const bool streams = entries[best].credit_batch > 0;
  if (crowded && !streams) {
    const double limit = time_of(best) * (1 + kCrowdedNoise);
    std::erase_if(standing, [&](std::size_t f) { return time_of(f) > limit; });
    int least = most_waits(schedule_of(best));
    for (const std::size_t f : standing) least = std::min(least, most_waits(schedule_of(f)));
    std::erase_if(standing, [&](std::size_t f) { return most_waits(schedule_of(f)) > least; });
    best = fastest();
  }
  const double noise = timed     ? std::clamp(kOfSpread * entries[best].spread, kLeastNoise, kMostNoise)
                       : streams ? kStreamNoise
                                 : kModelNoise;
  // The cost of stores is negligible beside a message, so such latencies count as equal.
  const double alike = hosts.empty() ? 0 : entries[best].latency_ns * (1 + kNoiseOfStores);
  const auto effort = [&](std::size_t f) {
    const Entry& e = entries[f];
    const Schedule& s = schedule_of(f);
    return std::array<double, 8>{
        static_cast<double>(messages(s, hosts)),
        timed || crowded || e.latency_ns <= alike ? 0 : std::round(e.latency_ns),
        static_cast<double>(s.transfer_count() + s.stages.size()), e.credit_batch > 0 ? 1.0 : 0.0,
        // With credits, more slots need fewer credits. Without, a further slot only takes memory.
        static_cast<double>(e.credit_batch > 0 ? -e.layout.at(0).slots : e.layout.at(0).slots),
        static_cast<double>(e.layout.listed().size()), static_cast<double>(e.layout.at(0).stride),
        static_cast<double>(e.layout.longest_line())};
  };
  const double limit = time_of(best) * (1 + noise);
  for (const std::size_t f : standing)
    if (time_of(f) <= limit && effort(f) < effort(best)) best = f;
  return best;
}

}  // namespace fermata
