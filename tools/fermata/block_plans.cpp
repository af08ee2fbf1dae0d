#include "block_plans.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <vector>

#include "commands.hpp"
#include "plan/agreement.hpp"
#include "plan/block_plan.hpp"
#include "team/measure.hpp"

namespace fermata::tool {
namespace {

constexpr int kAll = 1000;
constexpr double kNoise = 0.05;  // measurements within this relative distance are ties

BlockPlan made(const PlanRequest& request, int best) {
  BlockPlanOptions options;
  options.key = request.key;
  options.bytes = request.bytes;
  options.measure_best = best;
  if (isatty(STDERR_FILENO) != 0) options.progress = show_progress;
  return take(make_block_plan(request.topology, request.profile, options,
                              best > 0 ? measure_blocks_on_this_machine() : nullptr));
}

BlockPlans file_of(const PlanKey& key, const BlockPlan& plan) { return {key, {plan}}; }

void note_line(const PlanRequest& request) {
  const std::size_t all =
      bytes_together(request.key.collective, static_cast<std::size_t>(request.key.members), request.bytes);
  if (all == 0) return;
  fmt::print(stderr,
             "note: {} of {} bytes carries all these small blocks on one line; only requests and wide types "
             "use this plan\n",
             request.key.collective == Collective::kScatter  ? "a broadcast"
             : request.key.collective == Collective::kGather ? "a reduce"
                                                             : "an allreduce",
             all);
}

bool is_measured(const BlockPlan& plan) { return plan.origin == "measured"; }

// Whether the cache has a measured plan for the same operation.
bool has_measured(const PlanKey& key, const BlockPlan& like) {
  const auto known = load_block_plans(key);
  for (const BlockPlan& plan : known ? known->plans : std::vector<BlockPlan>{})
    if (plan.collective == like.collective && plan.bytes == like.bytes && is_measured(plan)) return true;
  return false;
}

}  // namespace

void plan_blocks(const PlanRequest& request, const BlockPlanning& how) {
  print_notices(request, stdout);
  note_line(request);
  if (!request.here && how.best > 0) fmt::print("note: this team can't run here: predictions only\n");
  const BlockPlan plan = made(request, request.here ? how.best : 0);
  fmt::print("{}", explain(plan, request.key));
  write_output(how.json, to_json(file_of(request.key, plan)));
  if (!how.save) return;
  if (!is_measured(plan) && has_measured(request.key, plan)) {
    fmt::print("not saved: the saved plan for this size was measured, and this one is an estimate\n");
    return;
  }
  fmt::print("saved in   {}\n", take(save_block_plan(request.key, plan)));
}

void explain_blocks(const PlanRequest& request, bool json) {
  const auto show = [&](const BlockPlan& plan) {
    fmt::print("{}", json ? to_json(file_of(request.key, plan)) : explain(plan, request.key));
  };
  note_line(request);
  print_notices(request, stderr);
  if (!request.chosen_profile) {
    const auto known = load_block_plans(request.key);
    if (!known && known.error().status != Status::kNotFound) throw CommandError(known.error().message);
    const std::size_t bytes = std::bit_ceil(std::max<std::size_t>(1, request.bytes));
    for (const BlockPlan& plan : known ? known->plans : std::vector<BlockPlan>{})
      if (plan.collective == request.key.collective && plan.bytes == bytes) return show(plan);
  }
  fmt::print(
      stderr,
      "note: no such plan in the cache: this is what would be chosen; `fermata plan` times the best few\n");
  show(made(request, 0));
}

void predict_blocks(const PlanRequest& request, const std::string& json) {
  BlockPlan plan = made(request, kAll);
  std::erase_if(plan.candidates, [](const Candidate& e) { return e.measured_ns <= 0; });
  std::stable_sort(plan.candidates.begin(), plan.candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.measured_ns < b.measured_ns; });
  std::vector<double> predicted, measured;
  nlohmann::json rows = nlohmann::json::array();
  fmt::print("{:<48} {:>14} {:>14} {:>8}\n", "algorithm", "predicted ns", "measured ns", "error");
  for (const Candidate& e : plan.candidates) {
    predicted.push_back(e.predicted_ns);
    measured.push_back(e.measured_ns);
    fmt::print("{:<48} {:>14.0f} {:>14.0f} {:>+7.0f}%\n", e.algorithm, e.predicted_ns, e.measured_ns,
               100 * (e.predicted_ns - e.measured_ns) / e.measured_ns);
    rows.push_back(
        {{"algorithm", e.algorithm}, {"predicted_ns", e.predicted_ns}, {"measured_ns", e.measured_ns}});
  }
  nlohmann::json out = report_agreement(
      predicted, measured,
      fmt::format("{} of {} members, blocks of {} bytes: {} schedules", name_of(plan.collective),
                  request.key.members, plan.bytes, plan.candidates.size()));
  // This factor is the cost of choosing by prediction alone.
  const auto first = std::min_element(predicted.begin(), predicted.end()) - predicted.begin();
  fmt::print("the predicted best takes {:.2f} times the measured best\n",
             measured[static_cast<std::size_t>(first)] / measured.front());
  if (json.empty()) return;
  out["members"] = request.key.members;
  out["collective"] = name_of(plan.collective);
  out["bytes"] = plan.bytes;
  out["subjects"] = rows;
  write_output(json, out.dump(1) + "\n");
}

nlohmann::json report_agreement(const std::vector<double>& predicted, const std::vector<double>& measured,
                                const std::string& subjects) {
  if (measured.size() < 2) throw CommandError("fewer than two candidates can run: no order to compare");
  const Agreement found = agreement(predicted, measured, kNoise);
  fmt::print("\n{}; ties within {:.0f} %\n", subjects, 100 * kNoise);
  fmt::print("rank correlation {:.2f}; {:.0f} % of the pairs that differ are predicted in order\n",
             found.rank_correlation, 100 * found.pairs_in_order);
  fmt::print("error of the prediction: median {:.0f} %, worst {:.0f} %\n", 100 * found.median_error,
             100 * found.worst_error);
  return {{"rank_correlation", found.rank_correlation},
          {"pairs_in_order", found.pairs_in_order},
          {"median_error", found.median_error},
          {"worst_error", found.worst_error}};
}

}  // namespace fermata::tool
