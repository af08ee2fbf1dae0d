// A whole run: the contestants, their groups, and the interleaved rounds.
//
// All contestants of a group (one n and payload, mostly one quantity; all engines) take turns in short
// batches, in a new random order each round. Each has a process of its own, which is stopped outside its
// turn. So all meet the same disturbances of the machine, and a ratio pairs two batches of the same round. A
// slow contestant sits out some rounds.
#ifndef FERMATA_BENCH_SESSION_HPP
#define FERMATA_BENCH_SESSION_HPP

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/load.hpp"
#include "bench/remote.hpp"
#include "bench/stats.hpp"

namespace fermata::bench {

struct Contestant {
  std::string name;
  std::string variant;
  Role role = Role::kRival;
  Launch launch;
  Case what;
  Quantity quantity = Quantity::kPeriod;
  std::string unavailable;  // why it cannot take part; "": it can
  int stages = 0;           // of its schedule, if known
};

struct Options {
  Collective collective = Collective::kBarrier;
  std::vector<int> members = {2};
  std::vector<int> bytes;  // empty: 8 for data, 0 for a barrier
  std::vector<Engine> engines = {Engine::kThreads};
  std::vector<Quantity> quantities = {Quantity::kPeriod};
  std::vector<std::string> rivals = {"all"};      // names of the table; "all": those without a preload
  std::vector<std::string> algorithms = {"all"};  // as in own_subjects
  std::vector<std::string> layouts;
  bool own = true;        // Fermata's subjects
  bool floors = true;     // floors and probes
  bool rotating = false;  // rotating roots
  bool pin = true;        // if there is a CPU for each member, or `cpus` names some
  // The CPUs of the ranks, in order; larger teams begin again at the first one. Empty: the usable CPUs, in
  // which case a team with more members is not pinned.
  std::vector<int> cpus;
  double skew_ns = 300;  // the spread of arrivals in latency batches
  SkewShape shape = SkewShape::kUniform;
  double seconds = 10;  // for the rounds of a group
  double limit_s = 10;  // for one batch; after it the subject counts as hung
  double window_s = 0;  // the time of a batch; 0: 2 to 20 ms, or 0.3 s under load
  Load load;
  bool counters = false;  // count events of each member (bench/counters.hpp)
  std::uint64_t seed = 1;
  std::string worker_directory;  // "": beside the tool, or its libexec
  std::string energy_root;       // a folder with another /sys for the energy; "": the machine's
  // Further plans of Fermata's: makes the file of a plan for a case, whose subject is called `name`. Throws
  // if there is none; then the subject is left out.
  struct Made {
    std::string name;
    std::function<std::string(const Case& c)> plan_file;
  };
  std::vector<Made> made;
  // The file of a preload ("pthread"); "": it is not installed.
  std::function<std::string(const std::string& name)> preload;
  // further contestants of each engine; contestants() sets their `what` and `quantity`
  std::vector<Contestant> extra;
  std::function<void(double done, const std::string& what)> progress;
};

struct Row {
  std::string subject, variant;
  Role role = Role::kRival;
  Case what;
  Quantity quantity = Quantity::kPeriod;
  std::vector<double> rounds;       // ns per episode, one per round; NaN if it did not run
  std::vector<double> references;   // what was subtracted in each round; empty: nothing was
  double cpu_ns = 0, switches = 0;  // medians over the rounds, as in Reply
  // of the whole machine in an episode: all rounds' energy by their episodes; nothing if it was not read
  std::optional<double> joules;
  Counts counts = kNotCounted;  // of an episode and member: medians over the rounds
  Summary summary;
  std::optional<double> bound;
  std::string bound_source;  // which floor, or the formula: "3 x one-way", "estimate: 1 x switch"
  std::optional<Ratio> ratio_to_plan;
  std::optional<Ratio> ratio_to_threads;  // of another engine to the same subject with threads, paired
  int stages = 0;
};

struct LeftOut {
  std::string subject, variant, reason;
  Case what;
  Quantity quantity = Quantity::kPeriod;
};

struct Outcome {
  std::vector<Row> rows;  // in the order of groups; in a group by engine and median, probes last
  std::vector<LeftOut> left_out;
  std::map<std::string, std::string> versions;  // of rivals and Fermata
  std::map<std::string, std::string> plans;     // of `planned`, by "n=2 threads 8 bytes"
  std::string quota;                            // by what means it was set
  std::string energy;                           // what the joules are of, or why there are none
  std::string counters;                         // what was counted, and why not the rest; "": not asked for
};

// Checks the names and numbers of `options`. Returns "" or what is wrong and what would be right.
std::string check(const Options& options);
// Precondition: check(options) is "", and this process has one thread.
Outcome run(const Options& options);

// Runs one group and appends it to `outcome`. `done` and `share`: the parts of the run before and in it.
// `quota`: the limit of options.load, if there is one.
void run_group(const Options& options, std::vector<Contestant> list, const std::string& title, double done,
               double share, Outcome& outcome, const Quota* quota = nullptr);

// A subject of Fermata's, in this process; the group completes `what`.
Contestant own_contestant(const std::string& name, std::function<std::unique_ptr<Subject>()> make);
// One group's contestants (bench/contestants.cpp).
std::vector<Contestant> contestants(const Options& options, int members, int bytes, Quantity quantity);
// Keeps the fastest variants of floors and probes, sets bounds and ratios, and sorts (bench/bounds.cpp).
void settle(std::vector<Row>& group);

}  // namespace fermata::bench
#endif
