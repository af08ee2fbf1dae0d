// make_block_plan: candidates, proofs, timing, choice.
#include "plan/block_plan.hpp"

#include <algorithm>
#include <bit>

#include "plan/blocks.hpp"
#include "plan/search.hpp"
#include "plan/text.hpp"
#include "profile/statistics.hpp"
#include "profile/utc.hpp"
#include "schedule/verify.hpp"

namespace fermata {
namespace {

constexpr std::size_t kListed = 16;  // runners-up that a plan records
constexpr double kNoise = 0.03;      // of measured times, relative; within the noise, the prediction decides
constexpr std::int32_t kMostMembers = 1024;
constexpr std::size_t kCompared = 4096;  // transfers: larger schedules are not compared with each other

struct Trial {
  BlockEntry entry;
  Schedule schedule;  // empty if it is not timed
  std::vector<double> samples;
};

std::string times_slower(const char* how, double ratio) {
  if (ratio < 0.97) return format("%s %.1fx faster, but in more steps", how, 1 / ratio);
  return ratio < 1.005 ? std::string(how) + " equal" : slower_by(how, ratio);
}

// Interleaves the candidates, so that drift of the machine affects all of them alike.
void time_all(std::vector<Trial>& trials, const BlockPlanOptions& options, std::size_t bytes,
              const BlockMeasure& measure) {
  for (int round = 0; round < options.rounds; ++round) {
    for (Trial& d : trials) {
      if (d.schedule.chunks == 0 || !d.entry.verdict.empty()) continue;
      if (options.progress) options.progress(static_cast<double>(round) / options.rounds, d.entry.name);
      const Result<double> ns = measure(d.schedule, options.key, bytes, round);
      if (ns) d.samples.push_back(*ns);
      else d.entry.verdict = "not timed: " + ns.error().message;
    }
  }
  for (Trial& d : trials)
    if (d.entry.verdict.empty() && !d.samples.empty()) d.entry.measured_ns = median(d.samples);
  if (options.progress) options.progress(1, "timed");
}

// Builds candidates in the order of prediction, until enough are proved to be timed or listed. Drops
// duplicates: with few members, different algorithms often build the same schedule.
std::vector<Trial> trials_of(const BlockChooser& chooser, OpTraits op, std::size_t timed) {
  std::vector<Trial> trials;
  std::vector<Schedule> seen;
  std::size_t proved = 0;
  for (const BlockCandidate& c : chooser.ranked()) {
    if (proved >= std::max(timed, kListed)) break;
    Trial d{{c.name, c.ns, 0, {}}, chooser.build(c), {}};
    if (d.schedule.transfer_count() <= kCompared) {
      const bool again = std::any_of(seen.begin(), seen.end(),
                                     [&](const Schedule& s) { return s.stages == d.schedule.stages; });
      if (again) continue;
      seen.push_back(d.schedule);
    }
    if (const auto proof = verify(d.schedule, op); !proof)
      d.entry.verdict = "refused: " + proof.error().message;
    else ++proved;
    if (proved > timed || !d.entry.verdict.empty()) d.schedule = {};
    trials.push_back(std::move(d));
  }
  return trials;
}

std::size_t pick(const std::vector<Trial>& trials) {
  double best = 0;
  for (const Trial& d : trials)
    if (d.entry.measured_ns > 0 && (best <= 0 || d.entry.measured_ns < best)) best = d.entry.measured_ns;
  const auto stands = [&](const Trial& d) {
    return d.entry.verdict.empty() &&
           (best <= 0 || (d.entry.measured_ns > 0 && d.entry.measured_ns <= best * (1 + kNoise)));
  };
  const auto at = std::find_if(trials.begin(), trials.end(), stands);
  return static_cast<std::size_t>(at - trials.begin());
}

bool knows_bytes(const Profile& profile) { return profile.g.n > 0; }

bool all_alike(const CostModel& m) {
  for (std::int32_t i = 0; i < m.members; ++i)
    for (std::int32_t j = 0; j < m.members; ++j)
      if (i != j &&
          (m.o_at(i, j) != m.o_at(0, 1) || m.l_at(i, j) != m.l_at(0, 1) || m.g_at(i, j) != m.g_at(0, 1)))
        return false;
  return true;
}

}  // namespace

CostModel block_costs(const Profile& profile, const Topology& topology, const PlanKey& key) {
  CostModel model = cost_model(profile, topology, key);
  if (knows_bytes(profile) || !key.hosts.empty() || !all_alike(model)) return model;
  CostModel flat = flat_model(key.members);
  flat.switch_ns = model.switch_ns;
  flat.members_per_cpu = model.members_per_cpu;
  crowd(flat);
  return flat;
}

Result<BlockPlan> make_block_plan(const Topology& topology, const Profile& profile,
                                  const BlockPlanOptions& options, const BlockMeasure& measure) {
  const PlanKey& key = options.key;
  if (key.members < 1 || key.members > kMostMembers)
    return Error{Status::kUnsupported,
                 "operations on blocks are for teams of 1..1024 members, not " + std::to_string(key.members)};
  if (key.collective == Collective::kBarrier) return Error{Status::kUnsupported, "a barrier moves no blocks"};
  if (key.collective == Collective::kAlltoall && key.members > kMaxAlltoallMembers)
    return Error{Status::kUnsupported, "alltoall is for teams of at most 256 members"};
  if (!key.cpus.empty() && key.cpus.size() != static_cast<std::size_t>(key.members))
    return Error{Status::kArgument,
                 std::to_string(key.cpus.size()) + " CPUs for " + std::to_string(key.members) + " members"};
  if (options.bytes > SIZE_MAX / 4) return Error{Status::kArgument, "blocks are too large"};
  BlockPlan plan;
  plan.collective = key.collective;
  plan.bytes = std::bit_ceil(std::max<std::size_t>(1, options.bytes));
  plan.date = utc_now();
  const OpTraits op = algebra_of(key.collective);
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
                         .op = op};
  const BlockChooser chooser(wanted, &known.model);
  const bool timed = measure && options.measure_best > 0;
  std::vector<Trial> trials =
      trials_of(chooser, op, timed ? static_cast<std::size_t>(options.measure_best) : 0);
  if (timed) time_all(trials, options, plan.bytes, measure);
  const std::size_t best = pick(trials);
  if (best == trials.size()) return Error{Status::kVerify, "no candidate can be proved and run"};
  const BlockEntry chosen = trials[best].entry;
  plan.origin = chosen.measured_ns > 0                                 ? "measured"
                : profile.origin == "measured" && knows_bytes(profile) ? "predicted"
                                                                       : "estimated";
  for (Trial& d : trials) {
    BlockEntry& e = d.entry;
    if (!e.verdict.empty()) continue;
    e.verdict = e.measured_ns > 0
                    ? times_slower("measured", e.measured_ns / chosen.measured_ns)
                    : times_slower("predicted", e.predicted_ns / std::max(1e-9, chosen.predicted_ns));
  }
  trials[best].entry.verdict = "chosen";
  std::rotate(trials.begin(), trials.begin() + static_cast<std::ptrdiff_t>(best),
              trials.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  for (Trial& d : trials) plan.entries.push_back(std::move(d.entry));
  return plan;
}

}  // namespace fermata
