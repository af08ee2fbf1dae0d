// Candidates for a plan, for lines and for blocks alike: how they are timed, which of them may be chosen, and
// what a plan records of them.
#ifndef FERMATA_PLAN_CANDIDATE_HPP
#define FERMATA_PLAN_CANDIDATE_HPP

#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "profile/statistics.hpp"
#include "schedule/layout.hpp"

namespace fermata {

// What a plan records of a candidate, with the reason why it was chosen or not.
struct Candidate {
  std::string algorithm;  // of blocks: BlockCandidate::name
  // Of lines: the period per episode, or over hosts the latency; either with the cost of credits. Of blocks:
  // the latency, which is the time from the last arrival to the last departure.
  double predicted_ns = 0;
  double measured_ns = 0;  // 0: not measured
  // "chosen", "predicted 1.8x slower", "measured 7% slower", "simulated 7% slower", "refused: ..."
  std::string verdict;
  Layouts layout = {};      // of lines
  double simulated_ns = 0;  // of lines, on a simulated machine; 0: not simulated
  bool operator==(const Candidate&) const = default;
};

// A candidate during the search.
struct Trial {
  double predicted_ns = 0;
  double timed_ns = 0;     // measured or simulated; 0: not timed
  bool simulated = false;  // timed_ns is from a simulated machine
  double spread = 0;       // half the distance between the repeats' quartiles, relative to their median
  double behind = 0;       // its time relative to the best time when it was dropped; 0: it was not dropped
  std::string refusal;     // why it may not run; empty: it may run
  double measured_ns() const { return simulated ? 0 : timed_ns; }
  double simulated_ns() const { return simulated ? timed_ns : 0; }
};

using Progress = std::function<void(double done, const std::string& what)>;

// A trial that is timed.
struct Runner {
  Trial* trial = nullptr;
  std::string name;
  std::function<Result<double>(int round)> run;  // times it once, ns
  std::vector<double> samples = {};
};

// After `first` rounds, if `further` is not 0, trials whose time exceeds `near` times the best are dropped.
// The others run `further` more rounds.
struct Rounds {
  int first = 1;
  int further = 0;
  double near = 0;
  double (*average)(std::vector<double>) = median;
  bool simulated = false;  // the trials run on a simulated machine
};

// Times trials in interleaved rounds, so that drift of the machine affects all of them alike. Writes times,
// spreads and drops into the trials. A trial that cannot be timed gets a refusal.
void time_in_rounds(std::vector<Runner> runners, const Rounds& rounds, const Progress& progress);

// The time of the run; the predicted one if it was not timed.
double time_of(const Trial& trial);
// Returns the trials that may be chosen: neither refused nor dropped, and timed if any trial was. A dropped
// one never wins, even if the machine got slower while the others were timed.
std::vector<const Trial*> standing(const std::vector<const Trial*>& trials);
// Precondition for both: there is a trial. within() returns those whose time exceeds the least time by at
// most `noise`, a share of the least time.
const Trial* fastest(const std::vector<const Trial*>& trials);
std::vector<const Trial*> within(const std::vector<const Trial*>& trials, double noise);

// Calls of a collective whose members do not all wait for each other overlap. There, a gain of a quarter of
// the time is not worth a longer path or more steps.
inline constexpr double kStreamNoise = 0.25;

// What a plan says of its costs. knows: they come from a measured profile.
inline const char* origin_of(const Trial& chosen, bool knows) {
  return chosen.measured_ns() > 0    ? "measured"
         : chosen.simulated_ns() > 0 ? "simulated"
         : knows                     ? "predicted"
                                     : "estimated";
}

// Says in words why the trial was chosen or not.
std::string verdict(const Trial& trial, const Trial& chosen);

}  // namespace fermata
#endif
