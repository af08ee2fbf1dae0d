// Plans for collectives on blocks: which candidate of BlockChooser (choose_blocks.hpp) runs a collective for
// a block size, and what was measured. One file holds the plans for one machine, engine, number of members
// and list of CPUs.
#ifndef FERMATA_PLAN_BLOCK_PLAN_HPP
#define FERMATA_PLAN_BLOCK_PLAN_HPP

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/block_knowledge.hpp"
#include "plan/plan.hpp"
#include "schedule/schedule.hpp"

namespace fermata {

struct BlockPlan {
  Collective collective = Collective::kBroadcast;
  std::size_t bytes = 1;  // of one block: a power of two, for all sizes that round up to it
  // "measured"; "predicted", from a measured profile that has costs per byte; "estimated", from any other
  std::string origin;
  std::string date;
  std::vector<Candidate> candidates;  // the chosen one first
  bool operator==(const BlockPlan&) const = default;
};

struct BlockPlans : TeamKey {
  std::vector<BlockPlan> plans;  // one for each collective and block size
  bool operator==(const BlockPlans&) const = default;
};

// Measures one call with root 0: time in ns from the last arrival to the last departure. A collective that
// folds works on doubles if the size is a multiple of 8, else on bytes. repeat: the index of the round.
using BlockMeasure = std::function<Result<double>(const Schedule& schedule, const PlanKey& key,
                                                  std::size_t bytes, int repeat)>;

struct BlockPlanOptions {
  PlanKey key;            // the team and the collective; its payload is ignored
  std::size_t bytes = 1;  // rounded up to a power of two
  int measure_best = 0;   // how many proved candidates to time, in BlockChooser's order; 0: predict only
  int rounds = 7;         // how often each of them is timed
  Progress progress;      // called meanwhile
};

// Plans for sums of floating-point numbers, like the plans for payloads on a line. If the plan is measured,
// calls with another operator use the chosen candidate too, if it is proved for that operator. Otherwise they
// use BlockChooser's first proved one. Errors: kArgument (a list of CPUs or hosts that is not empty and has
// not one entry for each member, too large blocks, or invalid costs in the profile); kUnsupported for a
// barrier, or for a number of members that collectives on blocks do not allow; kVerify if no candidate can be
// proved and run.
Result<BlockPlan> make_block_plan(const Topology& topology, const Profile& profile,
                                  const BlockPlanOptions& options, const BlockMeasure& measure);
std::string explain(const BlockPlan& plan, const PlanKey& key);  // key: the team

std::string to_json(const BlockPlans& plans);
// Rejects an invalid file as a whole. The error names the line and the reason.
Result<BlockPlans> block_plans_from_json(std::string_view text);

// blocks-<hash>.json in the cache directory (profile/store.hpp). The hash is of the key's fingerprint, number
// of members, engine and CPUs. Empty: there is no cache directory.
std::string block_plans_path(const PlanKey& key);
Result<BlockPlans> load_block_plans(const PlanKey& key);  // reads that file
// Adds the plan to the file, or replaces the file's plan for the same collective and size. Returns the path
// written. An error, also if the file is invalid, leaves the file as it was.
Result<std::string> save_block_plan(const PlanKey& key, const BlockPlan& plan);
// Returns the choices of the plans with origin "measured"; none if there is no file or it cannot be read.
std::vector<KnownChoice> known_choices(const PlanKey& key);

}  // namespace fermata
#endif
