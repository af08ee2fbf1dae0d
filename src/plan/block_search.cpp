// make_block_plan: candidates, proofs, timing, choice of a plan for blocks.
#include "plan/block_plan.hpp"

#include <algorithm>
#include <bit>
#include <optional>

#include "exec/block_program.hpp"
#include "plan/choose_blocks.hpp"
#include "profile/utc.hpp"
#include "schedule/verify.hpp"

namespace fermata {
namespace {

constexpr std::size_t kListedBlocks = 16;  // proved candidates that a plan lists, if it times no more
constexpr double kNoise = 0.03;          // of measured times, relative; within it the chooser's order decides
constexpr std::size_t kCompared = 4096;  // transfers: larger schedules are not compared with each other

struct BlockTrial : Trial {
  std::string name;
  Schedule schedule;  // empty if it is not timed
};

void time_all(std::vector<BlockTrial>& trials, const BlockPlanOptions& options, std::size_t bytes,
              const BlockMeasure& measure) {
  std::vector<Runner> runners;
  for (BlockTrial& t : trials)
    if (t.schedule.chunks != 0)
      runners.push_back(
          {&t, t.name, [&](int round) { return measure(t.schedule, options.key, bytes, round); }});
  time_in_rounds(std::move(runners), {.first = options.rounds}, options.progress);
}

// Builds candidates in the chooser's order, until enough are proved to be timed or listed. Drops duplicates:
// with few members, different algorithms often build the same schedule.
std::vector<BlockTrial> trials_of(const BlockChooser& chooser, std::size_t timed) {
  std::vector<BlockTrial> trials;
  std::vector<Schedule> seen;
  std::size_t proved = 0;
  for (const BlockCandidate& c : chooser.ranked()) {
    if (proved >= std::max(timed, kListedBlocks)) break;
    BlockTrial t;
    t.name = c.name;
    t.predicted_ns = c.ns;
    t.schedule = chooser.build(c);
    if (t.schedule.transfer_count() <= kCompared) {
      const bool again = std::any_of(seen.begin(), seen.end(),
                                     [&](const Schedule& s) { return same_signals(s, t.schedule); });
      if (again) continue;
      seen.push_back(t.schedule);
    }
    if (const std::string flaw = prove(t.schedule); !flaw.empty()) t.refusal = "refused: " + flaw;
    else ++proved;
    if (proved > timed || !t.refusal.empty()) t.schedule = {};
    trials.push_back(std::move(t));
  }
  return trials;
}

// Returns the first one in the chooser's order, of those whose measured time is within the noise; null: none
// can run.
const Trial* pick(const std::vector<BlockTrial>& trials) {
  std::vector<const Trial*> left;
  for (const BlockTrial& t : trials) left.push_back(&t);
  left = standing(left);
  if (left.empty()) return nullptr;
  return left.front()->timed_ns > 0 ? within(left, kNoise).front() : left.front();
}

// Returns why there is no plan for this request; none: there is.
std::optional<Error> refusal_of(const BlockPlanOptions& options) {
  const PlanKey& key = options.key;
  if (key.members < 1 || key.members > kMostBlockMembers)
    return Error{Status::kUnsupported, "operations on blocks are for teams of 1.." +
                                           std::to_string(kMostBlockMembers) + " members, not " +
                                           std::to_string(key.members)};
  if (key.collective == Collective::kBarrier) return Error{Status::kUnsupported, "a barrier moves no blocks"};
  if (key.collective == Collective::kAlltoall && key.members > kMaxAlltoallMembers)
    return Error{Status::kUnsupported, "alltoall is for teams of at most 256 members"};
  if (const std::string flaw = placement_flaw(key); !flaw.empty()) return Error{Status::kArgument, flaw};
  if (options.bytes > SIZE_MAX / 4) return Error{Status::kArgument, "blocks are too large"};
  return std::nullopt;
}

}  // namespace

Result<BlockPlan> make_block_plan(const Topology& topology, const Profile& profile,
                                  const BlockPlanOptions& options, const BlockMeasure& measure) {
  if (auto error = refusal_of(options)) return *error;
  const PlanKey& key = options.key;
  BlockPlan plan;
  plan.collective = key.collective;
  plan.bytes = std::bit_ceil(std::max<std::size_t>(1, options.bytes));
  plan.date = utc_now();
  // Packing rounds the costs. Members choose by the unpacked costs, so this function also uses those.
  BlockKnowledge known;
  if (!unpack(pack(block_costs(profile, topology, key), {}), key.members, &known))
    return Error{Status::kArgument, "the profile's costs are invalid: run `fermata profile` again"};
  known.model.hosts = key.hosts;
  const BlockCase wanted{.collective = key.collective,
                         .members = key.members,
                         .root = 0,
                         .bytes = plan.bytes,
                         .irregular = false,
                         .op = algebra_of(key.collective)};
  const BlockChooser chooser(wanted, &known.model);
  const bool timed = measure && options.measure_best > 0;
  std::vector<BlockTrial> trials =
      trials_of(chooser, timed ? static_cast<std::size_t>(options.measure_best) : 0);
  if (timed) time_all(trials, options, plan.bytes, measure);
  const Trial* const best = pick(trials);
  if (best == nullptr) return Error{Status::kVerify, "no candidate can be proved and run"};
  plan.origin = origin_of(*best, profile.origin == "measured" && knows_bytes(profile));
  for (const BlockTrial& t : trials) {
    Candidate c{t.name, t.predicted_ns, t.measured_ns(), verdict(t, *best)};
    plan.candidates.insert(&t == best ? plan.candidates.begin() : plan.candidates.end(), std::move(c));
  }
  return plan;
}

}  // namespace fermata
