// Plan: a schedule laid out on a topology, with its predicted (and, where it was timed, measured) cost. A file, and a
// compiled form (src/exec/program.hpp).
#ifndef FERMATA_PLAN_PLAN_HPP
#define FERMATA_PLAN_PLAN_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/kind.hpp"
#include "base/result.hpp"
#include "profile/profile.hpp"
#include "schedule/cost.hpp"
#include "schedule/layout.hpp"
#include "schedule/schedule.hpp"
#include "topo/topology.hpp"

namespace fermata {

enum class Engine : std::uint8_t { kThreads = 0, kProcesses = 1 };

struct PlanKey {
  std::string fingerprint;  // of the topology
  Kind kind = Kind::kBarrier;
  std::int32_t members = 1;
  std::int32_t payload = 0;  // class: 0, 8 or 56 bytes
  Engine engine = Engine::kThreads;
  std::vector<std::int32_t> cpus;   // OS index per rank; empty: placement-free
  std::vector<std::int32_t> hosts;  // of each rank, in a team over several; empty: all share memory, or the topology says
  bool operator==(const PlanKey&) const = default;
};

// The tree that clustering found: a leaf has members only, an inner node has children; first rank of a node leads it.
struct Cluster {
  std::vector<std::int32_t> ranks;
  std::vector<Cluster> children;
  double diameter_ns = 0;
  bool operator==(const Cluster&) const = default;
};

struct Candidate {  // what else was considered, and why it lost
  std::string algorithm;
  Layouts layout;
  double predicted_ns = 0;  // period per episode
  double measured_ns = 0;   // 0: not measured
  std::string verdict;      // "chosen", "predicted 1.8x slower", "measured 1.2x slower", "refused: ..."
  bool operator==(const Candidate&) const = default;
};

struct Plan {
  PlanKey key;
  std::string origin;  // "estimated", "predicted" (from a measured profile), "measured"
  Cluster levels;
  Schedule schedule;
  Layouts layout;
  std::int32_t credit_batch = 0;  // 0: no credits needed; else receivers give credits every so many episodes, a power of two
  double predicted_latency_ns = 0;
  double predicted_period_ns = 0;
  double measured_period_ns = 0;  // 0: not measured
  double bound_ns = 0;            // stages x one-way
  std::vector<Candidate> candidates;
  std::string date;
  bool operator==(const Plan&) const = default;
};

// Slots and words mapped to addresses, one program per member. Verifies first (schedule, reuse with the layout's slots and
// credits), and proves the program that comes out (exec/proof/proof.hpp): an unproved plan is never compiled. Errors: kVerify, kArgument,
// kUnsupported (beyond the format's limits).
Result<std::vector<std::byte>> compile(const Plan& plan);

// The callback through which the planner reaches execution: period in ns per episode of a compiled program with the
// plan's members placed as key.cpus says. Robust centre of interleaved repeats is the planner's job.
using Measure = std::function<Result<double>(const std::vector<std::byte>& program, const PlanKey& key, int repeat)>;

struct PlanOptions {
  PlanKey key;                          // fingerprint may be empty: filled from the topology
  std::string algorithm;                // empty: search; else one of the table's spellings
  std::string layout;                   // empty: search; else e.g. "packed+2slots", "packed:published"
  bool clusters_from_topology = false;  // hwloc tree instead of SSS clustering of the profile
  double sparseness = 0;                // 0: from the largest relative gap, 0.35 as fallback
  int measure_best = 0;                 // how many of the predicted best to time; 0: estimate only
  std::function<void(double done, const std::string& what)> progress;
};

Result<Plan> make_plan(const Topology& topology, const Profile& profile, const PlanOptions& options, const Measure& measure);

// Why this plan may not run, from its schedule, slots and credits; empty: proved.
std::string prove(const Plan& plan);

// The classes that plans are kept for: 0, 8 or 56. A barrier has 8 where it carries tags; other kinds have 8 at least.
std::int32_t payload_class(Kind kind, std::int32_t bytes);

// Cost model of a placement out of a profile (rows by OS index; repeats where members share CPUs).
CostModel cost_model(const Profile& profile, const Topology& topology, const PlanKey& key);
// Costs of members that have a CPU each become those of model.members_per_cpu to a CPU.
void crowd(CostModel& model);

std::string to_json(const Plan& plan);                 // versioned, with fingerprint
Result<Plan> plan_from_json(std::string_view text);    // verified again; refuses a bad file whole
std::string explain(const Plan& plan, bool matrices);  // the stages as matrices: up to 8 members, if asked for up to 16

// $XDG_CACHE_HOME/fermata/plan-<hash of key>.json, and the compiled form beside it (.bin).
std::string plan_path(const PlanKey& key);
Result<Plan> load_plan(const PlanKey& key);
Result<Plan> load_plan_file(const std::string& path);
Result<std::string> save_plan(const Plan& plan);  // path written

}  // namespace fermata
#endif
