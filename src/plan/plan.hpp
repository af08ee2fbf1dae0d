// Plan: a schedule laid out on a topology, with its predicted cost and, if it was timed, its measured cost.
// It has a file format and a compiled form (src/exec/program.hpp).
#ifndef FERMATA_PLAN_PLAN_HPP
#define FERMATA_PLAN_PLAN_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/collective.hpp"
#include "base/result.hpp"
#include "plan/candidate.hpp"
#include "profile/profile.hpp"
#include "schedule/cost.hpp"
#include "schedule/layout.hpp"
#include "schedule/schedule.hpp"
#include "topo/topology.hpp"

namespace fermata {

enum class Engine : std::uint8_t { kThreads = 0, kProcesses = 1 };

// The team that a plan is for.
struct TeamKey {
  std::string fingerprint;  // of the topology
  Engine engine = Engine::kThreads;
  std::int32_t members = 1;
  std::vector<std::int32_t> cpus;  // OS index per rank; empty: members are not pinned
  bool operator==(const TeamKey&) const = default;
};

struct PlanKey : TeamKey {
  Collective collective = Collective::kBarrier;
  std::int32_t payload = 0;         // class: 0, 8 or 56 bytes; of plans for blocks: 0
  std::vector<std::int32_t> hosts;  // of each rank, in a team over several hosts; empty: see take_hosts
  bool operator==(const PlanKey&) const = default;
};

// A node of the tree that clustering found. A leaf has no children. In plans on lines, the first rank of a
// leaf leads it, and the leader of its first child leads any other node.
struct Cluster {
  std::vector<std::int32_t> ranks;
  std::vector<Cluster> children;
  double diameter_ns = 0;
  bool operator==(const Cluster&) const = default;
};

struct Plan {
  PlanKey key;
  std::string origin;  // "estimated", "predicted" (from a measured profile), "simulated", "measured"
  Cluster levels;
  Schedule schedule;
  Layouts layout;
  std::int32_t credit_batch = 0;  // receivers give credits every so many episodes, a power of two; 0: never
  double predicted_latency_ns = 0;
  double predicted_period_ns = 0;  // over hosts: the latency, and what credits cost
  double measured_period_ns = 0;   // 0: not measured
  // On a simulated machine (fermata plan --simulate); over hosts: the latency. 0: not simulated.
  double simulated_period_ns = 0;
  // Number of stages x one-way latency of the nearest pair. An estimate: a period can be shorter.
  double bound_ns = 0;
  std::vector<Candidate> candidates;
  std::string date;
  bool operator==(const Plan&) const = default;
};

// Maps slots and words to addresses and makes one program per member (over hosts, for a rooted collective:
// per root and member). It first verifies the schedule, and the reuse of the layout's slots with the plan's
// credits. At the end it proves the compiled program (exec/proof/proof.hpp). An unproved plan is never
// compiled. Errors: kVerify, kArgument, kUnsupported (beyond the format's limits).
Result<std::vector<std::byte>> compile_lines(const Plan& plan);

// A callback. It executes a compiled program, with each member on its CPU in key.cpus, and returns the period
// in ns per episode. The planner interleaves the repeats and takes a robust mean. A callback that runs the
// program on a simulated machine is called once for each program, and returns the latency over hosts.
using Measure =
    std::function<Result<double>(const std::vector<std::byte>& program, const PlanKey& key, int repeat)>;

struct PlanOptions {
  PlanKey key;  // an empty fingerprint is filled in from the topology
  // Empty: search; else a name as in docs/algorithms.md, for all members. "kary(8)/linear" is one name for
  // each level of clusters, from the outermost. "linear-kary(4)" is the arrival by one algorithm and the
  // release by another.
  std::string algorithm;
  std::optional<Schedule> schedule;  // a schedule of the user's, instead of a search
  // At most so many signals come to a member in one stage, and so many from other hosts to one host; 0: any.
  std::int32_t fan_in = 0;
  std::string layout;                   // empty: search; else e.g. "packed+2slots", "packed:published"
  bool clusters_from_topology = false;  // the topology's domains instead of measured distances
  double sparseness = 0;                // 0: from the largest relative gap; without one, 0.35
  // About how many of the best predicted candidates to time, at least 12 (above 64 members: 4). 0: predict
  // only. Unless members share CPUs or `layout` is given, variants of the fastest ones are timed, too.
  int measure_best = 0;
  bool simulated = false;  // `measure` runs programs on a simulated machine
  Progress progress;
};

// Without `measure`, it only predicts.
Result<Plan> make_plan(const Topology& topology, const Profile& profile, const PlanOptions& options,
                       const Measure& measure);

// Returns why this plan must not run, because of its schedule, slots or credits; empty: these are proved.
// compile_lines() also checks the hosts and the compiled program.
std::string prove(const Plan& plan);
// Returns why this schedule does not serve every operator that a plan must support; empty: it does.
std::string prove(const Schedule& schedule);

// The operators that a plan of this collective must support. For collectives that fold: commutative, but
// neither associative nor idempotent. So no contribution is folded twice, and all members that get the result
// get the same bits. One plan then serves floating-point sums and all easier operators.
OpTraits algebra_of(Collective collective);

// Returns what is wrong with the number of CPUs or hosts; empty: nothing.
std::string placement_flaw(const PlanKey& key);

// For a described machine: if the CPUs of the members are on several hosts, the key gets these hosts,
// numbered in the order of the ranks, unless it has some. Such members are processes.
void take_hosts(PlanKey& key, const Topology& topology);

// Returns the payload class for which plans are stored: 0, 8 or 56. Only a barrier without tags has class 0.
std::int32_t payload_class(Collective collective, std::int32_t bytes);

// Makes the cost model of a placement from a profile. It finds rows by OS index. Members on one CPU share its
// row. The costs are crowded already.
CostModel cost_model(const Profile& profile, const Topology& topology, const PlanKey& key);
// The same without g and direct, for plans on lines. Where it can, it groups O and L (CostModel::grouped).
CostModel signal_model(const Profile& profile, const Topology& topology, const PlanKey& key);
// Returns the time from one reader of a line to the next, as a share of a signal between them; 1: unknown.
double reader_share(const Profile& profile);
// Scales costs for one member per CPU to model.members_per_cpu members per CPU. Call it once per model.
void crowd(CostModel& model);

std::string to_json(const Plan& plan);                 // versioned, with fingerprint
Result<Plan> plan_from_json(std::string_view text);    // verifies again; rejects an invalid file as a whole
std::string explain(const Plan& plan, bool matrices);  // prints matrices up to 8 members, on request up to 16

const char* name_of(Engine engine);  // "threads" or "processes"

// plan-<hash of key>.json in the cache directory (profile/store.hpp); the compiled form lies beside it
// (.bin).
std::string plan_path(const PlanKey& key);
Result<Plan> load_plan(const PlanKey& key);
Result<Plan> load_plan_file(const std::string& path);
Result<std::string> save_plan(const Plan& plan);  // returns the path

}  // namespace fermata
#endif
