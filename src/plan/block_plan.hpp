// Plans for collectives on blocks: which candidate of BlockChooser runs a collective for a block size, and
// what was measured. One file holds the plans for one machine, engine, number of members and list of CPUs.
#ifndef FERMATA_PLAN_BLOCK_PLAN_HPP
#define FERMATA_PLAN_BLOCK_PLAN_HPP

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/block_model.hpp"
#include "plan/plan.hpp"
#include "schedule/schedule.hpp"

namespace fermata {

struct BlockEntry {  // a candidate, with the reason why it was chosen or not
  std::string name;  // BlockCandidate::name
  double predicted_ns = 0;
  double measured_ns = 0;  // 0: not measured
  std::string verdict;     // "chosen", "predicted 1.8x slower", "measured 12% slower", "refused: ..."
  bool operator==(const BlockEntry&) const = default;
};

struct BlockPlan {
  Collective collective = Collective::kBroadcast;
  std::size_t bytes = 1;  // of one block: a power of two, for all sizes that round up to it
  std::string origin;     // "estimated", "predicted" (from a measured profile with G), "measured"
  std::string date;
  std::vector<BlockEntry> entries;  // the chosen one first
  bool operator==(const BlockPlan&) const = default;
};

struct BlockPlans {
  std::string fingerprint;
  Engine engine = Engine::kThreads;
  std::int32_t members = 1;
  std::vector<std::int32_t> cpus;  // by rank; empty: members are not pinned
  std::vector<BlockPlan> plans;    // one for each collective and block size
  bool operator==(const BlockPlans&) const = default;
};

// Returns the costs between the key's members, by which schedules of blocks are chosen. If bytes were never
// measured, all pairs cost the same and the team is on one host, it returns flat_model: the profile has no
// better estimate. Between hosts, the profile's estimate includes the cost of a message.
CostModel block_costs(const Profile& profile, const Topology& topology, const PlanKey& key);

// Measures one call with root 0: time in ns from the last arrival to the last departure. A collective that
// folds works on doubles.
using BlockMeasure = std::function<Result<double>(const Schedule& schedule, const PlanKey& key,
                                                  std::size_t bytes, int repeat)>;

struct BlockPlanOptions {
  PlanKey key;            // its payload is ignored
  std::size_t bytes = 1;  // rounded up to a power of two
  int measure_best = 0;   // how many of the best predicted candidates to time; 0: predict only
  int rounds = 7;
  std::function<void(double done, const std::string& what)> progress;
};

// Plans for sums of floating-point numbers, like the plans for payloads on a line. Errors: kArgument;
// kUnsupported for a barrier, or for more members than collectives on blocks allow.
Result<BlockPlan> make_block_plan(const Topology& topology, const Profile& profile,
                                  const BlockPlanOptions& options, const BlockMeasure& measure);
std::string explain(const BlockPlan& plan, const PlanKey& key);

std::string to_json(const BlockPlans& plans);
// Rejects an invalid file as a whole. The error names the line and the reason.
Result<BlockPlans> block_plans_from_json(std::string_view text);

// $XDG_CACHE_HOME/fermata/blocks-<hash>.json; the hash is of the key's fingerprint, number of members, engine
// and CPUs.
std::string block_plans_path(const PlanKey& key);
Result<BlockPlans> load_block_plans(const PlanKey& key);
// Adds the plan to the file, or replaces the file's plan for the same collective and size. Returns the path
// written.
Result<std::string> save_block_plan(const PlanKey& key, const BlockPlan& plan);
// Returns the measured choices for such a team; none if there is no file or it cannot be read.
std::vector<KnownChoice> known_choices(const PlanKey& key);

}  // namespace fermata
#endif
