// Plans of operations on blocks: which candidate of BlockChooser does a collective on blocks of a size, and what was measured. One file
// for each machine, engine, number of members and their CPUs.
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

struct BlockEntry {  // a candidate, and why it lost
  std::string name;  // BlockCandidate's
  double predicted_ns = 0;
  double measured_ns = 0;  // 0: not measured
  std::string verdict;     // "chosen", "predicted 1.8x slower", "measured 12% slower", "refused: ..."
  bool operator==(const BlockEntry&) const = default;
};

struct BlockPlan {
  Kind kind = Kind::kBroadcast;
  std::size_t bytes = 1;  // of one block, a power of two: it stands for all that round up to it
  std::string origin;     // "estimated", "predicted" (from a measured profile with G), "measured"
  std::string date;
  std::vector<BlockEntry> entries;  // the chosen one first
  bool operator==(const BlockPlan&) const = default;
};

struct BlockPlans {
  std::string fingerprint;
  Engine engine = Engine::kThreads;
  std::int32_t members = 1;
  std::vector<std::int32_t> cpus;  // by rank; empty: placement-free
  std::vector<BlockPlan> plans;    // one for each kind and size
  bool operator==(const BlockPlans&) const = default;
};

// What schedules of blocks are chosen by: the costs between the key's members; flat_model where bytes were never measured and no pair is
// nearer than another, since then an estimate knows no more. (Between hosts it knows what a message is.)
CostModel block_costs(const Profile& profile, const Topology& topology, const PlanKey& key);

// Time in ns from the last arrival to the last departure of one operation with root 0, on doubles where it folds.
using BlockMeasure = std::function<Result<double>(const Schedule& schedule, const PlanKey& key, std::size_t bytes, int repeat)>;

struct BlockPlanOptions {
  PlanKey key;            // its payload is not looked at
  std::size_t bytes = 1;  // rounded up to a power of two
  int measure_best = 0;   // how many of the predicted best to time, interleaved; 0: predictions alone
  int rounds = 7;
  std::function<void(double done, const std::string& what)> progress;
};

// For sums of floating-point numbers, as the plans on lines. Errors: kArgument; kUnsupported: barriers, more members than blocks have.
Result<BlockPlan> make_block_plan(const Topology& topology, const Profile& profile, const BlockPlanOptions& options,
                                  const BlockMeasure& measure);
std::string explain(const BlockPlan& plan, const PlanKey& key);

std::string to_json(const BlockPlans& plans);
Result<BlockPlans> block_plans_from_json(std::string_view text);  // refuses a bad file whole, with line and reason

// $XDG_CACHE_HOME/fermata/blocks-<hash>.json, by what the key says of machine, engine and members.
std::string block_plans_path(const PlanKey& key);
Result<BlockPlans> load_block_plans(const PlanKey& key);
// Puts it beside the others of the file, or in the place of that of its kind and size. Returns the path written.
Result<std::string> save_block_plan(const PlanKey& key, const BlockPlan& plan);
// What was measured of such a team; none if there is no file, or none that can be read.
std::vector<KnownChoice> known_choices(const PlanKey& key);

}  // namespace fermata
#endif
