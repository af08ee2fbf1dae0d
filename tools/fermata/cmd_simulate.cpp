// fermata simulate: runs a plan's program on a simulated machine, in virtual time.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "algo/algorithm.hpp"
#include "base/text.hpp"
#include "block_plans.hpp"
#include "commands.hpp"
#include "sim/clock.hpp"
#include "sim/simulate.hpp"
#include "simulated_team.hpp"

namespace fermata::tool {
namespace {

constexpr int kTraced = 4;  // calls in a timeline

struct SimulateArguments {
  PlanArguments which;
  ScheduleChoice schedule;
  MemoryParameters memory;
  std::string trace, json;
  int episodes = 1000;
  double scale = 1;
  bool all = false;
};

// ---- Timelines

const char* name_of(sim::What what) {
  constexpr const char* kNames[] = {"wait", "miss", "store", "add", "message"};
  return kNames[static_cast<int>(what)];
}

// In the format of Chrome's tracing, which Perfetto opens: a row for each member, times in us.
std::string timeline(const std::vector<sim::Deed>& deeds, const std::vector<std::int32_t>& cpus) {
  using Json = nlohmann::ordered_json;
  Json events = Json::array();
  for (std::size_t m = 0; m < cpus.size(); ++m)
    events.push_back({{"name", "thread_name"},
                      {"ph", "M"},
                      {"pid", 0},
                      {"tid", m},
                      {"args", {{"name", fmt::format("member {} on CPU {}", m, cpus[m])}}}});
  std::size_t number = 0;
  for (const sim::Deed& deed : deeds) {
    std::string name = fmt::format("{}: line {}", name_of(deed.what), deed.line);
    if (deed.by >= 0)
      name += (deed.what == sim::What::kMessage ? ", to member " : ", ended by member ") +
              std::to_string(deed.by);
    Json event = {{"name", name}, {"cat", name_of(deed.what)}, {"pid", 0}, {"tid", deed.member}};
    event["ts"] = sim::to_ns(deed.begin) / 1e3;
    // A member goes on while its stores and messages are on their way: those are not on its row.
    const bool aside = deed.what == sim::What::kStore || deed.what == sim::What::kMessage;
    event["ph"] = aside ? "b" : "X";
    if (aside) event["id"] = ++number;
    else event["dur"] = sim::to_ns(deed.end - deed.begin) / 1e3;
    events.push_back(event);
    if (!aside) continue;
    event["ph"] = "e";
    event["ts"] = sim::to_ns(deed.end) / 1e3;
    events.push_back(event);
  }
  return Json{{"traceEvents", events}, {"displayTimeUnit", "ns"}}.dump() + "\n";
}

// From the last end of a call back to the one before it: at each member the last wait, and whose signal ended
// it.
void print_critical_path(const sim::Outcome& outcome, const std::vector<sim::Deed>& deeds) {
  if (outcome.ends_ns.size() < 2) return;
  const double end = outcome.ends_ns.back(), begin = outcome.ends_ns[outcome.ends_ns.size() - 2];
  std::int32_t member = outcome.last;
  sim::Time at = sim::from_ns(end);
  fmt::print("\nthe critical path of call {}, ns since the call before it was over\n", outcome.episodes);
  fmt::print("  {:>9.1f}  member {} is the last one to leave\n", end - begin, member);
  while (sim::to_ns(at) > begin) {
    const sim::Deed* last = nullptr;
    for (const sim::Deed& deed : deeds)
      if (deed.what == sim::What::kWait && deed.member == member && deed.end < at &&
          (last == nullptr || deed.end > last->end))
        last = &deed;
    if (last == nullptr || last->by < 0) {
      fmt::print("             it has waited for nobody before that: its own accesses take the time\n");
      return;
    }
    fmt::print("  {:>9.1f}  member {} sees the signal of member {} on line {}, sent {:.1f} ns before\n",
               sim::to_ns(last->end) - begin, member, last->by, last->line,
               sim::to_ns(last->end - last->since));
    member = last->by;
    at = last->since;
  }
}

// ---- One plan

struct Simulated {
  Plan plan;
  sim::Outcome period, latency;
};

Simulated simulated(const PlanRequest& request, PlanOptions options, const sim::Options& how) {
  Simulated s;
  s.plan = take(make_plan(request.topology, request.profile, options, nullptr));
  const auto program = take(compile_lines(s.plan));
  sim::Options once = how;
  once.deeds = nullptr;
  s.period = take(sim::simulate(program, s.plan.key, request.topology, request.profile, once));
  if (how.deeds != nullptr) {  // the same again, with the deeds of its last calls
    once.deeds = how.deeds;
    once.deeds_from = std::max(0, s.period.episodes - kTraced);
    s.period = take(sim::simulate(program, s.plan.key, request.topology, request.profile, once));
    once.deeds = nullptr;
  }
  once.quantity = sim::Quantity::kLatency;
  s.latency = take(sim::simulate(program, s.plan.key, request.topology, request.profile, once));
  return s;
}

// The same schedule and layout, at another clock.
Simulated scaled(const PlanRequest& request, PlanOptions options, sim::Options how, const Plan& plan,
                 double clock) {
  PlanRequest other = request;
  other.profile = sim::at_clock(std::move(other.profile), clock, how.costs.work_ns);
  how.costs.work_ns /= clock;
  how.deeds = nullptr;
  repeat_choice(plan, options);
  return simulated(other, options, how);
}

nlohmann::ordered_json row_of(const Simulated& s) {
  return {{"members", s.plan.key.members},
          {"algorithm", s.plan.schedule.algorithm},
          {"layout", to_string(s.plan.layout)},
          {"period_ns", s.period.ns},
          {"latency_ns", s.latency.ns},
          {"predicted_period_ns", s.plan.predicted_period_ns},
          {"predicted_latency_ns", s.plan.predicted_latency_ns},
          {"steady", s.period.steady},
          {"calls", s.period.episodes},
          {"misses", s.period.misses},
          {"stores", s.period.stores},
          {"adds", s.period.adds},
          {"messages", s.period.messages}};
}

void print_times(const Simulated& s) {
  fmt::print("  {:<11}{:>9.1f} ns {:>9.1f} ns\n", "period", s.period.ns, s.plan.predicted_period_ns);
  fmt::print("  {:<11}{:>9.1f} ns {:>9.1f} ns\n", "latency", s.latency.ns, s.plan.predicted_latency_ns);
}

// What Figure 5 of remote-store-barriers counts. Messages are stores to another host's memory.
void print_accesses(const sim::Outcome& call, std::int32_t members) {
  fmt::print("  a call      {:.0f} misses, {:.0f} stores, {:.0f} adds, {:.0f} messages\n", call.misses,
             call.stores, call.adds, call.messages);
  fmt::print("  a member    {:.2f} misses, {:.2f} stores, {:.2f} adds, {:.2f} messages in the mean\n",
             call.misses / members, call.stores / members, call.adds / members, call.messages / members);
}

// Prints the times at another clock, and which part of them the clock changes. Returns them as JSON.
nlohmann::ordered_json print_scaled(const Simulated& s, const Simulated& other, double clock) {
  const sim::ClockSplit split = sim::split_of(s.period.ns, other.period.ns, clock);
  fmt::print("  with {:g} times the clock\n", clock);
  print_times(other);
  fmt::print("  clock       {:.1f} ns of the simulated period scale with it, {:.1f} ns do not\n",
             split.cycles_ns, split.fixed_ns);
  nlohmann::ordered_json out = row_of(other);
  out["clock"] = clock;
  out["cycles_ns"] = split.cycles_ns;
  out["fixed_ns"] = split.fixed_ns;
  return out;
}

void run_one(const SimulateArguments& a, const PlanRequest& request, const PlanOptions& options) {
  std::vector<sim::Deed> deeds;
  sim::Options how{.episodes = a.episodes, .costs = sim::memory_costs(request.profile, a.memory)};
  if (!a.trace.empty()) how.deeds = &deeds;
  const auto start = std::chrono::steady_clock::now();
  const Simulated s = simulated(request, options, how);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  fmt::print("{} of {} members: {} in {}\n", name_of(s.plan.key.collective), s.plan.key.members,
             s.plan.schedule.algorithm, to_string(s.plan.layout));
  fmt::print("  {:<11}{:>12} {:>12}\n", "", "simulated", "predicted");
  print_times(s);
  print_accesses(s.period, s.plan.key.members);
  fmt::print("  memory      {}\n", text_of(how.costs));
  fmt::print("  simulated   {} calls{}, {} events, {:.2f} s\n", s.period.episodes,
             s.period.steady ? ", then each takes the same time" : "", s.period.events + s.latency.events,
             seconds);
  nlohmann::ordered_json out = row_of(s);
  out["memory"] = json_of(how.costs);
  if (a.scale != 1) out["scaled"] = print_scaled(s, scaled(request, options, how, s.plan, a.scale), a.scale);
  if (!a.trace.empty()) {
    write_output(a.trace, timeline(deeds, s.plan.key.cpus));
    print_critical_path(s.period, deeds);
  }
  write_output(a.json, out.dump(1) + "\n");
}

// ---- Every algorithm

void run_all(const SimulateArguments& a, const PlanRequest& request, PlanOptions options) {
  if (!a.trace.empty()) throw CommandError("--trace: with one plan, not with --all");
  if (a.scale != 1) throw CommandError("--scale: with one plan, not with --all");
  const sim::Options how{.episodes = a.episodes, .costs = sim::memory_costs(request.profile, a.memory)};
  std::vector<Simulated> rows;
  for (const Algorithm& algorithm : algorithms())
    for (const int degree : {2, 3, 4, 5, 8, 16}) {
      if (degree > 2 && (!algorithm.has_degree || degree >= request.key.members)) continue;
      options.algorithm =
          algorithm.has_degree ? fmt::format("{}({})", algorithm.name, degree) : algorithm.name;
      const auto plan = make_plan(request.topology, request.profile, options, nullptr);
      if (plan && compile_lines(*plan)) rows.push_back(simulated(request, options, how));
    }
  if (rows.empty()) throw CommandError("no algorithm can do this");
  std::sort(rows.begin(), rows.end(),
            [](const Simulated& x, const Simulated& y) { return x.period.ns < y.period.ns; });
  std::vector<double> predicted, found;
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  fmt::print("memory: {}\n", text_of(how.costs));
  fmt::print("{:<26} {:<22} {:>10} {:>10} {:>10} {:>10}\n", "ns", "", "period", "predicted", "latency",
             "predicted");
  for (const Simulated& s : rows) {
    fmt::print("{:<26} {:<22} {:>10.1f} {:>10.1f} {:>10.1f} {:>10.1f}\n", s.plan.schedule.algorithm,
               to_string(s.plan.layout), s.period.ns, s.plan.predicted_period_ns, s.latency.ns,
               s.plan.predicted_latency_ns);
    predicted.push_back(s.plan.predicted_period_ns);
    found.push_back(s.period.ns);
    out.push_back(row_of(s));
  }
  nlohmann::json file;
  if (rows.size() > 1) file = report_agreement(predicted, found, fmt::format("{} plans", rows.size()));
  file["memory"] = json_of(how.costs);
  file["rows"] = out;
  if (!a.json.empty()) write_output(a.json, file.dump(1) + "\n");
}

void run(const SimulateArguments& a) {
  check_output(a.json);
  check_output(a.trace);
  PlanRequest request = resolve(a.which);
  if (request.blocks) throw CommandError("simulate: plans on lines only, of up to 56 bytes");
  request.key = take(seated(std::move(request.key), request.topology));
  print_notices(request, stdout);
  PlanOptions options;
  options.key = request.key;
  take_choice(a.schedule, options);
  if (!a.all) return run_one(a, request, options);
  if (!a.schedule.algorithm.empty() || options.schedule)
    throw CommandError("--all: without --algorithm and --schedule");
  run_all(a, request, options);
}

}  // namespace

void add_simulate(CLI::App& app) {
  auto a = std::make_shared<SimulateArguments>();
  CLI::App* command = app.add_subcommand(
      "simulate", "run a plan's program on a simulated machine, which need not be at hand");
  add_plan_selectors(*command, a->which);
  add_schedule_choice(*command, a->schedule);
  add_memory_costs(*command, a->memory);
  command->add_flag("--all", a->all, "every algorithm of the table, beside the planner's predictions");
  command->add_option("--episodes", a->episodes, "calls to simulate at most; fewer where times repeat")
      ->check(CLI::Range(8, 1000000))
      ->capture_default_str();
  add_clock(*command, a->scale);
  command->add_option("--trace", a->trace,
                      "also write a timeline of who waits for which line to this file, for Perfetto or "
                      "chrome://tracing, and print the critical path of the last call");
  command->add_option("--json", a->json, "also write the times to this file");
  command->callback([a] { run(*a); });
}

}  // namespace fermata::tool
