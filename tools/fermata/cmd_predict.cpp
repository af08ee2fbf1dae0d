// fermata predict: compares prediction, simulation and measurement of each algorithm, layout and slot count.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "algo/algorithm.hpp"
#include "block_plans.hpp"
#include "commands.hpp"
#include "predict_law.hpp"
#include "profile/statistics.hpp"
#include "simulated_team.hpp"
#include "team/measure.hpp"

namespace fermata::tool {
namespace {

constexpr int kRepeats = 7;

struct PredictArguments {
  PlanArguments which;
  ScheduleChoice schedule;
  MemoryParameters memory;
  LawArguments law;
  std::string json;
};

struct Subject {
  Plan plan;
  std::vector<std::byte> program;
  std::vector<double> samples;
};

constexpr const char* kLayouts[] = {
    "private",       "private+2slots", "private+4slots",   "private+stride2", "packed",
    "packed+2slots", "published",      "published+2slots", "private+line128", "private+2slots+line128"};

std::vector<std::string> names_to_try(const ScheduleChoice& choice) {
  if (!choice.file.empty()) return {""};
  if (!choice.algorithm.empty()) return {choice.algorithm};
  std::vector<std::string> names;
  for (const Algorithm& algorithm : algorithms())
    names.push_back(algorithm.has_degree ? std::string(algorithm.name) + "(2)" : algorithm.name);
  return names;
}

std::vector<Subject> subjects_of(const PlanRequest& request, const ScheduleChoice& choice) {
  PlanOptions options;
  options.key = request.key;
  take_choice(choice, options);
  std::vector<std::string> layouts(std::begin(kLayouts), std::end(kLayouts));
  if (!choice.layout.empty()) {
    take(parse_layouts(choice.layout));
    layouts = {choice.layout};
  }
  std::vector<Subject> subjects;
  std::string why;
  for (const std::string& name : names_to_try(choice)) {
    options.algorithm = name;
    for (const std::string& layout : layouts) {
      options.layout = layout;
      auto plan = make_plan(request.topology, request.profile, options, nullptr);
      if (!plan && why.empty()) why = plan.error().message;
      if (!plan) continue;  // not applicable, or not proved with so few slots
      // Words have no slots, so one layout is enough.
      const bool edges = plan->schedule.words.empty();
      if (!edges && layout != layouts.front()) continue;
      auto program = compile_lines(*plan);
      if (program) subjects.push_back({std::move(*plan), std::move(*program), {}});
      else if (why.empty()) why = program.error().message;
    }
  }
  if (subjects.empty()) throw CommandError(why);
  return subjects;
}

std::string percent(double found, double measured) {
  return found > 0 ? fmt::format("{:+.0f}%", 100 * (found - measured) / measured) : "-";
}

void print_table(const PredictArguments& a, const PlanRequest& request,
                 const std::vector<Subject>& subjects) {
  const bool apart = seated(request.key, request.topology).ok();  // no two members on one CPU
  const Measure simulate = simulate_on(request, a.memory);
  std::vector<double> predicted, simulated, measured;
  const sim::MemoryCosts memory = sim::memory_costs(request.profile, a.memory);
  fmt::print("simulated memory: {}\n", text_of(memory));
  nlohmann::json rows = nlohmann::json::array();
  fmt::print("{:<24} {:<22} {:>10} {:>10} {:>10} {:>7} {:>7}\n", "period, ns", "", "predicted", "simulated",
             "measured", "error", "error");
  for (const Subject& s : subjects) {
    predicted.push_back(s.plan.predicted_period_ns);
    simulated.push_back(apart ? take(simulate(s.program, s.plan.key, 0)) : 0);
    measured.push_back(median(s.samples));
    const double p = predicted.back(), v = simulated.back(), m = measured.back();
    const std::string layout = to_string(s.plan.layout);
    const std::string& name = s.plan.schedule.algorithm;
    fmt::print("{:<24} {:<22} {:>10.1f} {:>10} {:>10.1f} {:>7} {:>7}\n", name, layout, p,
               v > 0 ? fmt::format("{:.1f}", v) : "-", m, percent(p, m), percent(v, m));
    rows.push_back({{"algorithm", name},
                    {"layout", layout},
                    {"predicted_ns", p},
                    {"measured_ns", m},
                    {"samples", s.samples}});
    if (v > 0) rows.back()["simulated_ns"] = v;
  }
  const auto what = fmt::format("{} subjects, {} members", subjects.size(), request.key.members);
  nlohmann::json out;
  if (subjects.size() > 1) out = report_agreement(predicted, measured, what);
  if (subjects.size() > 1 && simulated.front() > 0)
    out["simulated"] = report_agreement(simulated, measured, "simulated: " + what);
  if (a.json.empty()) return;
  out["members"] = request.key.members;
  out["memory"] = json_of(memory);
  out["collective"] = name_of(request.key.collective);
  out["subjects"] = rows;
  write_output(a.json, out.dump(1) + "\n");
}

void run(const PredictArguments& a) {
  check_output(a.json);
  if (a.law.wanted()) return predict_law(a.law, a.which, a.schedule, a.memory, a.json);
  const PlanRequest request = resolve(a.which);
  if (!request.runs())
    throw CommandError("this team can't run on this machine: nothing to measure predictions against");
  print_notices(request, stdout);
  if (request.blocks && a.schedule.chosen())
    throw CommandError(
        "block operations always compare all algorithms: remove --algorithm, --layout, --schedule and "
        "--fan-in");
  if (request.blocks) return predict_blocks(request, a.json);
  std::vector<Subject> subjects = subjects_of(request, a.schedule);
  const Measure measure = measure_on_this_machine();
  for (int repeat = 0; repeat < kRepeats; ++repeat)  // interleaved, so that drift affects all alike
    for (Subject& s : subjects) s.samples.push_back(take(measure(s.program, s.plan.key, repeat)));
  std::sort(subjects.begin(), subjects.end(),
            [](const Subject& x, const Subject& y) { return median(x.samples) < median(y.samples); });
  print_table(a, request, subjects);
}

}  // namespace

void add_predict(CLI::App& app) {
  auto a = std::make_shared<PredictArguments>();
  CLI::App* command = app.add_subcommand(
      "predict", "compare predictions with measurements: every algorithm, layout and slot count");
  add_plan_selectors(*command, a->which);
  add_schedule_choice(*command, a->schedule);
  add_memory_costs(*command, a->memory);
  add_law(*command, a->law);
  command->add_option("--json", a->json, "also write the table to this file");
  command->callback([a] { run(*a); });
}

}  // namespace fermata::tool
