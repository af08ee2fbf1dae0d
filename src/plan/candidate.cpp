#include "plan/candidate.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace fermata {
namespace {

// Returns half the distance between the quartiles, relative to the median. A smaller difference is noise.
double spread_of(std::vector<double> values) {
  if (values.size() < 4) return 0;
  std::sort(values.begin(), values.end());
  return 0.5 * (values[3 * values.size() / 4] - values[values.size() / 4]) / std::max(1e-9, median(values));
}

void run_round(std::vector<Runner>& runners, int round, const Rounds& rounds, const Progress& progress) {
  for (Runner& r : runners) {
    if (progress) progress(static_cast<double>(round) / (rounds.first + rounds.further), r.name);
    const Result<double> ns = r.run(round);
    if (ns) r.samples.push_back(*ns);
    else r.trial->refusal = "not timed: " + ns.error().message;
  }
  std::erase_if(runners, [](const Runner& r) { return !r.trial->refusal.empty(); });
}

void note_times(const std::vector<Runner>& runners, const Rounds& rounds) {
  for (const Runner& r : runners) {
    r.trial->timed_ns = rounds.average(r.samples);
    r.trial->simulated = rounds.simulated;
    r.trial->spread = spread_of(r.samples);
  }
}

void drop_slow(std::vector<Runner>& runners, double near) {
  if (runners.empty()) return;
  const auto best = std::min_element(runners.begin(), runners.end(), [](const Runner& a, const Runner& b) {
                      return a.trial->timed_ns < b.trial->timed_ns;
                    })->trial->timed_ns;
  std::erase_if(runners, [&](const Runner& r) {
    if (r.trial->timed_ns > near * best) r.trial->behind = r.trial->timed_ns / best;
    return r.trial->behind > 0;
  });
}

// "predicted 7% slower", "measured 1.8x slower"
std::string times_slower(const char* how, double ratio) {
  if (ratio < 0.97) return format("%s %.1fx faster, but more work", how, 1 / ratio);
  if (ratio < 1.005) return std::string(how) + " equal";
  return ratio < 1.1 ? format("%s %.0f%% slower", how, 100 * (ratio - 1))
                     : format("%s %.1fx slower", how, ratio);
}

}  // namespace

void time_in_rounds(std::vector<Runner> runners, const Rounds& rounds, const Progress& progress) {
  for (int round = 0; round < rounds.first; ++round) run_round(runners, round, rounds, progress);
  note_times(runners, rounds);
  if (rounds.further > 0) {
    drop_slow(runners, rounds.near);
    for (int round = 0; round < rounds.further; ++round)
      run_round(runners, rounds.first + round, rounds, progress);
    note_times(runners, rounds);
  }
  if (progress) progress(1, "timed");
}

double time_of(const Trial& trial) { return trial.timed_ns > 0 ? trial.timed_ns : trial.predicted_ns; }

std::vector<const Trial*> standing(const std::vector<const Trial*>& trials) {
  const bool timed =
      std::any_of(trials.begin(), trials.end(), [](const Trial* t) { return t->timed_ns > 0; });
  std::vector<const Trial*> out;
  for (const Trial* t : trials)
    if (t->refusal.empty() && t->behind <= 0 && (!timed || t->timed_ns > 0)) out.push_back(t);
  return out;
}

const Trial* fastest(const std::vector<const Trial*>& trials) {
  return *std::min_element(trials.begin(), trials.end(),
                           [](const Trial* a, const Trial* b) { return time_of(*a) < time_of(*b); });
}

std::vector<const Trial*> within(const std::vector<const Trial*>& trials, double noise) {
  const double limit = time_of(*fastest(trials)) * (1 + noise);
  std::vector<const Trial*> out;
  for (const Trial* t : trials)
    if (time_of(*t) <= limit) out.push_back(t);
  return out;
}

std::string verdict(const Trial& trial, const Trial& chosen) {
  if (&trial == &chosen) return "chosen";
  if (!trial.refusal.empty()) return trial.refusal;
  const char* const how = trial.simulated ? "simulated" : "measured";
  if (trial.behind > 0) return times_slower(how, trial.behind);
  if (trial.timed_ns > 0) return times_slower(how, trial.timed_ns / chosen.timed_ns);
  return times_slower("predicted", trial.predicted_ns / std::max(1e-9, chosen.predicted_ns));
}

}  // namespace fermata
