// fermata plan: chooses a schedule and its layout for a team, times the best few if the team can run here or
// on a simulated machine, and saves the plan.
#include <fmt/core.h>
#include <unistd.h>

#include <memory>

#include "base/text.hpp"
#include "block_plans.hpp"
#include "commands.hpp"
#include "plan/cluster.hpp"
#include "plan/emit/emit.hpp"
#include "schedule/goal.hpp"
#include "simulated_team.hpp"
#include "team/measure.hpp"

namespace fermata::tool {
namespace {

constexpr int kTimedByDefault = 24;
constexpr std::size_t kRunnersUp = 6;

struct PlanningArguments {
  PlanArguments which;
  ScheduleChoice schedule;
  std::string json, goal, emit, prefix;
  MemoryParameters memory;
  bool estimate = false, simulate = false, no_save = false, declared = false;
  double sparseness = 0;
  int best = kTimedByDefault;
};

std::string ns(double value) {
  if (value <= 0) return "-";
  return value < 10000 ? fmt::format("{:.1f} ns", value) : fmt::format("{:.2f} us", value / 1e3);
}

void print_summary(const Plan& plan) {
  fmt::print("{} of {} {}: {} in {}\n", name_of(plan.key.collective), plan.key.members,
             name_of(plan.key.engine), plan.schedule.algorithm, to_string(plan.layout));
  if (!plan.levels.children.empty()) fmt::print("  levels     {}\n", shape_text(plan.levels));
  fmt::print("  predicted  {} per episode, latency {}\n", ns(plan.predicted_period_ns),
             ns(plan.predicted_latency_ns));
  if (plan.simulated_period_ns > 0)
    fmt::print("  simulated  {} {}\n", ns(plan.simulated_period_ns),
               plan.key.hosts.empty() ? "per episode" : "latency");
  if (plan.measured_period_ns > 0) fmt::print("  measured   {} per episode\n", ns(plan.measured_period_ns));
  fmt::print("  bound      {} ({})\n", ns(plan.bound_ns), counted(plan.schedule.stages.size(), "stage"));
  if (plan.credit_batch > 0)
    fmt::print("  credits    every {}\n", counted(static_cast<std::size_t>(plan.credit_batch), "episode"));
  for (std::size_t i = 1; i < std::min(plan.candidates.size(), kRunnersUp + 1); ++i) {
    const Candidate& c = plan.candidates[i];
    fmt::print("  {:<10} {} in {}: {}\n", i == 1 ? "others" : "", c.algorithm, to_string(c.layout),
               c.verdict);
  }
}

void run_blocks(const PlanningArguments& a, const PlanRequest& request) {
  if (a.simulate) throw CommandError("--simulate: plans on lines only, of up to 56 bytes");
  if (a.schedule.chosen() || !a.emit.empty() || !a.goal.empty() || a.declared || a.sparseness > 0)
    throw CommandError(
        "block operations have no layouts and always compare all algorithms: use only --best, --estimate, "
        "--json and --no-save with them");
  plan_blocks(request, {.best = a.estimate ? 0 : a.best, .json = a.json, .save = !a.no_save});
}

Measure measure_for(const PlanningArguments& a, const PlanRequest& request) {
  if (a.simulate) {
    take(seated(request.key, request.topology));
    fmt::print("note: the candidates run on a simulated machine: {}\n",
               request.profile.machine.empty() ? "this one" : request.profile.machine);
    return simulate_on(request, a.memory);
  }
  if (request.runs() && !a.estimate) return measure_on_this_machine();
  if (!a.estimate) fmt::print("note: this team can't run here: predictions only\n");
  return nullptr;
}

Plan choose(const PlanningArguments& a, const PlanRequest& request) {
  PlanOptions options;
  options.key = request.key;
  take_choice(a.schedule, options);
  options.clusters_from_topology = a.declared;
  options.sparseness = a.sparseness;
  const Measure measure = measure_for(a, request);
  options.measure_best = measure ? a.best : 0;
  options.simulated = a.simulate;
  if (isatty(STDERR_FILENO) != 0) options.progress = show_progress;
  Plan plan = take(make_plan(request.topology, request.profile, options, measure));
  print_summary(plan);
  return plan;
}

void keep(const PlanningArguments& a, const PlanRequest& request, const Plan& plan) {
  if (a.no_save) return;
  if (a.simulate && !request.here) {
    fmt::print("  not saved: the simulated machine is not this one\n");
    return;
  }
  const auto known = plan.measured_period_ns > 0 ? Result<Plan>(Error{}) : load_plan(plan.key);
  if (known && known->measured_period_ns > 0) {
    fmt::print(
        "  not saved: the saved plan ({}) was measured, and this one is {}; to replace it, delete {}\n",
        known->schedule.algorithm, a.simulate ? "simulated" : "an estimate", plan_path(plan.key));
    return;
  }
  fmt::print("  saved      {}\n", take(save_plan(plan)));
}

// A header holds the barrier and the allreduce. `plan` is one of them; the other one is searched for.
void emit(const PlanningArguments& a, const Plan& plan) {
  const bool is_barrier = plan.key.collective == Collective::kBarrier;
  PlanningArguments other = a;
  other.which.collective = name_of(is_barrier ? Collective::kAllreduce : Collective::kBarrier);
  if (!is_barrier) other.which.bytes = 0;
  other.schedule = {.algorithm = {}, .layout = {}, .file = {}, .fan_in = a.schedule.fan_in};
  const PlanRequest request = resolve(other.which);
  const Plan second = choose(other, request);
  keep(a, request, second);
  const std::string name = a.prefix.empty() ? fmt::format("team{}", plan.key.members) : a.prefix;
  write_output(a.emit, take(is_barrier ? emit_code(plan, second, name) : emit_code(second, plan, name)));
}

// The plan that a header's first collective has: its barrier carries no tags, so --bytes is the allreduce's.
PlanArguments to_plan(const PlanningArguments& a) {
  PlanArguments which = a.which;
  if (a.emit.empty()) return which;
  if (which.collective != "barrier" && which.collective != "allreduce")
    throw CommandError("--emit writes a barrier and an allreduce: --collective is one of these");
  if (which.bytes > static_cast<std::int64_t>(kLinePayload))
    throw CommandError(fmt::format("--emit writes an allreduce of up to {} bytes", kLinePayload));
  if (which.collective == "barrier") which.bytes = 0;
  return which;
}

// A signal has the 8 bytes of its slot's header, and the payload.
std::string goal_of(const Plan& plan) {
  return take(to_goal(plan.schedule, sizeof(std::uint64_t), plan.key.payload));
}

void run(const PlanningArguments& a) {
  check_output(a.json);
  check_output(a.goal);
  check_output(a.emit);
  if (a.emit.empty() && !a.prefix.empty())
    throw CommandError("--prefix is for the header that --emit writes");
  if (!a.prefix.empty() && !is_identifier(a.prefix))
    throw CommandError("--prefix: names in C cannot begin with '" + a.prefix + "'");
  const PlanRequest request = resolve(to_plan(a));
  if (request.blocks) return run_blocks(a, request);
  if (!a.emit.empty() && !request.key.hosts.empty())
    throw CommandError("--emit: for the members of one host");
  print_notices(request, stdout);
  const Plan plan = choose(a, request);
  write_output(a.json, to_json(plan));
  if (!a.goal.empty()) write_output(a.goal, goal_of(plan));
  keep(a, request, plan);
  if (!a.emit.empty()) emit(a, plan);
}

}  // namespace

void add_plan(CLI::App& app) {
  auto a = std::make_shared<PlanningArguments>();
  CLI::App* command =
      app.add_subcommand("plan", "choose, prove and time the best schedule for a team, and save it");
  add_plan_selectors(*command, a->which);
  add_schedule_choice(*command, a->schedule);
  command->add_flag("--estimate", a->estimate, "predict only, time nothing");
  command
      ->add_flag("--simulate", a->simulate,
                 "time the candidates on a simulated machine, which need not be at hand")
      ->excludes("--estimate");
  add_memory_costs(*command, a->memory);
  for (const char* cost : {"--miss-share", "--overlap", "--work", "--prefetch"})
    command->get_option(cost)->needs("--simulate");
  command->add_option("--best", a->best, "how many of the predicted best to time first; more may be timed")
      ->check(CLI::Range(1, 200))
      ->capture_default_str();
  command->add_flag("--declared-levels", a->declared, "take levels from the topology, not from the profile");
  command
      ->add_option("--sparseness", a->sparseness,
                   "sparseness of the clusters, as a share of the diameter (default: from the distances)")
      ->check(CLI::Range(0.0, 1.0));
  command->add_option("--json", a->json, "also write the plan to this file");
  command->add_option("--goal", a->goal,
                      "also write the schedule to this file in GOAL, the format of LogGOPSim");
  command->add_option("--emit", a->emit,
                      "also write this team's barrier and allreduce to this file, as a C99 header that needs "
                      "no library");
  command->add_option("--prefix", a->prefix,
                      "with --emit: what all names in the header begin with (default: teamN)");
  command->add_flag("--no-save", a->no_save, "don't save the plan in the cache");
  command->callback([a] { run(*a); });
}

}  // namespace fermata::tool
