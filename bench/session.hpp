// A whole run: who competes, in which groups, and the interleaved rounds.
//
// All contestants of a group (one n, payload and quantity; all engines) take turns in short batches, in a new
// random order each round, each in a process that is stopped outside its turn. So they share whatever the
// machine does in those seconds, and a ratio pairs two batches of the same round.
#ifndef FERMATA_BENCH_SESSION_HPP
#define FERMATA_BENCH_SESSION_HPP

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

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
  std::string unavailable;  // not "": why it cannot take part
  int stages = 0;           // of its schedule, if known
};

struct Options {
  Kind collective = Kind::kBarrier;
  std::vector<int> members = {2};
  std::vector<int> bytes;  // empty: 8 for data, 0 for a barrier
  std::vector<Engine> engines = {Engine::kThreads};
  std::vector<Quantity> quantities = {Quantity::kPeriod};
  std::vector<std::string> rivals = {"all"};      // names of the table, "all", or empty
  std::vector<std::string> algorithms = {"all"};  // as in own_subjects
  std::vector<std::string> layouts;
  bool own = true;        // Fermata's subjects
  bool floors = true;     // and probes
  bool rotating = false;  // roots
  bool pin = true;        // as long as there is a CPU for each member
  double seconds = 10;    // of rounds, per group
  double limit_s = 10;    // of one batch; then the subject counts as hung
  int burners = 0;
  std::uint64_t seed = 1;
  std::string worker_directory;   // "": beside the tool, or its libexec
  std::vector<Contestant> extra;  // further ones; `what` is completed by the group
  std::function<void(double done, const std::string& what)> progress;
};

struct Row {
  std::string subject, variant;
  Role role = Role::kRival;
  Case what;
  Quantity quantity = Quantity::kPeriod;
  std::vector<double> rounds;      // ns per episode, one per round; NaN where it did not run
  std::vector<double> references;  // likewise, what was subtracted; empty where nothing is
  Summary summary;
  std::optional<double> bound;
  std::string bound_source;  // which floor, or "estimate: ..."
  std::optional<Ratio> ratio_to_plan;
  std::optional<Ratio> ratio_to_threads;  // of processes: to the same subject among threads, paired
  int stages = 0;
};

struct LeftOut {
  std::string subject, variant, reason;
  Case what;
  Quantity quantity = Quantity::kPeriod;
};

struct Outcome {
  std::vector<Row> rows;  // in the order of groups; within one by engine and median
  std::vector<LeftOut> left_out;
  std::map<std::string, std::string> versions;  // of rivals
  std::map<std::string, std::string> plans;     // of `planned`, by "n=2 threads 8 bytes"
};

// Names and counts of `options` checked. "" or what is wrong and what would be right.
std::string check(const Options& options);
// Precondition: check(options) is "", and this process has no threads.
Outcome run(const Options& options);

// One group, appended to `outcome`: `done` of the whole run is over before it, `share` of it is this group's.
void run_group(const Options& options, std::vector<Contestant> list, const std::string& title, double done,
               double share, Outcome& outcome);

// One group's contestants (bench/contestants.cpp) and bounds (bench/bounds.cpp).
std::vector<Contestant> contestants(const Options& options, int members, int bytes, Quantity quantity);
void settle(std::vector<Row>& group);

}  // namespace fermata::bench
#endif
