#include "predict_law.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "commands.hpp"
#include "profile/store.hpp"
#include "sim/clock.hpp"
#include "sim/latency_law.hpp"
#include "sim/simulate.hpp"
#include "simulated_team.hpp"

namespace fermata::tool {
namespace {

using Json = nlohmann::ordered_json;

// ---- Fits

std::string text_of(const sim::LatencyLaw& law) {
  const auto shown = [](double value) { return std::round(value * 1e4) / 1e4 + 0.0; };  // never -0.0000
  const auto term = [&](double value) {
    return fmt::format("{} {:.4f}", shown(value) < 0 ? '-' : '+', std::abs(value));
  };
  return fmt::format("t = ({:.4f} c {}) {} {} c {} us", shown(law.a1), term(law.a2),
                     law.growth == sim::Growth::kLog ? "ln n" : "n", term(law.b1), term(law.b2));
}

Json json_of(const sim::LatencyLaw& law) {
  return {{"a1", law.a1}, {"a2", law.a2}, {"b1", law.b1}, {"b2", law.b2}};
}

std::string determination(const sim::LawFit& fit) {
  std::string text = fmt::format("R2 {:.4f}", fit.r2);
  if (fit.least_r2) text += fmt::format("; at least {:.4f} for each number of cores alone", *fit.least_r2);
  return text;
}

void add_determination(Json& out, const char* growth, const sim::LawFit& fit) {
  out[growth] = {{"r2", fit.r2}};
  if (fit.least_r2) out[growth]["least_r2"] = *fit.least_r2;
}

// Prints the law that fits these points, beside a linear one.
Json print_fit(const sim::LawFit& fit, const std::vector<sim::LawPoint>& points, const std::string& what) {
  const sim::LawFit linear = take(sim::fit_law(points, sim::Growth::kLinear));
  const sim::LawPoint& worst = points[fit.worst];
  fmt::print("fit of {} {}\n", points.size(), what);
  fmt::print("  law       {}, for n hosts of c cores\n", text_of(fit.law));
  fmt::print("  with ln n {}\n", determination(fit));
  fmt::print("  with n    {}\n", determination(linear));
  fmt::print("  worst     {:+.3f} us: n = {:g}, c = {:g} takes {:.3f} us\n", fit.worst_residual, worst.hosts,
             worst.cores, worst.us);
  Json out = json_of(fit.law);
  out["points"] = points.size();
  add_determination(out, "log", fit);
  add_determination(out, "linear", linear);  // by name: no algorithm, a growth
  out["worst"] = {{"hosts", worst.hosts},
                  {"cores", worst.cores},
                  {"latency_us", worst.us},
                  {"residual_us", fit.worst_residual}};
  return out;
}

// ---- Times of H hosts of C cores

struct Times {
  std::optional<double> model_us, simulated_us;
};

struct Row {
  std::int32_t hosts = 0, cores = 0;
  double law_us = 0;
  std::string plan, why;  // why: there is no model, or no simulation
  Times times, scaled;
};

// One CPU of each of the first cores of the first hosts that have as many; empty: there are too few.
std::vector<std::int32_t> cpus_of(const Topology& topology, std::int32_t hosts, std::int32_t cores) {
  std::map<std::int32_t, std::vector<std::int32_t>> of_host;
  std::set<std::pair<std::int32_t, std::int32_t>> seen;  // {host, core}
  for (const Cpu& cpu : topology.cpus)
    if (seen.insert({cpu.host, cpu.core}).second) of_host[cpu.host].push_back(cpu.os_index);
  std::vector<std::int32_t> cpus;
  for (const auto& [host, list] : of_host) {
    if (list.size() < static_cast<std::size_t>(cores) || hosts-- <= 0) continue;
    cpus.insert(cpus.end(), list.begin(), list.begin() + cores);
  }
  return hosts <= 0 ? cpus : std::vector<std::int32_t>{};
}

// The names of a composition that such a team has levels for: hosts of one core have the first name alone, a
// single host has the others.
std::string names_for(const std::string& algorithm, std::int32_t hosts, std::int32_t cores) {
  const std::size_t slash = algorithm.find('/');
  if (slash == algorithm.npos) return algorithm;
  if (cores == 1) return algorithm.substr(0, slash);
  return hosts == 1 ? algorithm.substr(slash + 1) : algorithm;
}

class LawTable {
 public:
  LawTable(const LawArguments& a, const PlanRequest& request, const ScheduleChoice& schedule,
           const sim::MemoryCosts& memory, const sim::LatencyLaw& law)
      : a_(a), request_(request), memory_(memory), at_clock_costs_(memory), law_(law) {
    options_.key = request.key;
    take_choice(schedule, options_);
    at_clock_costs_.work_ns /= a.clock;
    if (a.clock != 1) at_clock_ = sim::at_clock(request.profile, a.clock, memory.work_ns);
  }

  void print() {
    print_header();
    for (const std::int32_t cores : a_.cores)
      for (const std::int32_t hosts : a_.hosts) {
        rows_.push_back(row_of(hosts, cores));
        print(rows_.back());
      }
    std::set<std::string> reasons;
    for (const Row& row : rows_)
      if (!row.why.empty() && reasons.insert(row.why).second)
        fmt::print("note: hosts {}, cores {}: {}\n", row.hosts, row.cores, row.why);
  }

  // Of the model's or of the simulated times.
  std::vector<sim::LawPoint> points(std::optional<double> Times::* us) const {
    std::vector<sim::LawPoint> points;
    for (const Row& row : rows_)
      if (row.times.*us)
        points.push_back({static_cast<double>(row.hosts), static_cast<double>(row.cores), *(row.times.*us)});
    return points;
  }

  Json rows() const {
    Json out = Json::array();
    for (const Row& row : rows_) {
      Json one = {{"hosts", row.hosts}, {"cores", row.cores}, {"law_us", row.law_us}};
      if (!row.plan.empty()) one["plan"] = row.plan;
      add(one, "", row.times);
      add(one, "scaled_", row.scaled);
      if (!row.why.empty()) one["why"] = row.why;
      out.push_back(std::move(one));
    }
    return out;
  }

 private:
  static void add(Json& out, const std::string& prefix, const Times& times) {
    if (times.model_us) out[prefix + "model_us"] = *times.model_us;
    if (times.simulated_us) out[prefix + "simulated_us"] = *times.simulated_us;
  }

  void print_header() const {
    fmt::print("{} of a barrier, us\n", a_.quantity);
    fmt::print("{:>7}{:>6}{:>9}{:>9}{:>7}{:>11}{:>7}", "hosts", "cores", "law", "model", "", "simulated", "");
    if (a_.clock != 1)
      fmt::print("{:>9}{:>11}", fmt::format("model x{:g}", a_.clock), fmt::format("sim. x{:g}", a_.clock));
    fmt::print("  plan\n");
  }

  void print(const Row& row) const {
    const auto us = [](std::optional<double> value) { return value ? fmt::format("{:.2f}", *value) : "-"; };
    const auto error = [&](std::optional<double> value) {
      return value && row.law_us > 0 ? fmt::format("{:+.0f}%", 100 * (*value / row.law_us - 1)) : "";
    };
    std::string line = fmt::format("{:>7}{:>6}{:>9.2f}{:>9}{:>7}{:>11}{:>7}", row.hosts, row.cores,
                                   row.law_us, us(row.times.model_us), error(row.times.model_us),
                                   us(row.times.simulated_us), error(row.times.simulated_us));
    if (a_.clock != 1)
      line += fmt::format("{:>9}{:>11}", us(row.scaled.model_us), us(row.scaled.simulated_us));
    line += "  " + row.plan;
    line.erase(line.find_last_not_of(' ') + 1);
    fmt::print("{}\n", line);
    std::fflush(stdout);
  }

  Row row_of(std::int32_t hosts, std::int32_t cores) {
    Row row;
    row.hosts = hosts;
    row.cores = cores;
    row.law_us = law_.us(hosts, cores);
    PlanOptions options = options_;
    options.algorithm = names_for(options_.algorithm, hosts, cores);
    options.key.cpus = cpus_of(request_.topology, hosts, cores);
    options.key.members = static_cast<std::int32_t>(options.key.cpus.size());
    options.key.hosts.clear();
    if (options.key.cpus.empty()) row.why = "the machine has fewer: the law alone";
    else if (options.key.members == 1) row.why = "one member waits for nobody: the law alone";
    if (!row.why.empty()) return row;
    take_hosts(options.key, request_.topology);
    const auto plan = make_plan(request_.topology, request_.profile, options, nullptr);
    if (!plan) {
      row.why = plan.error().message;
      return row;
    }
    row.plan = plan->schedule.algorithm;
    row.times = times_of(*plan, request_.profile, memory_, row.why);
    if (a_.clock == 1) return row;
    repeat_choice(*plan, options);
    const Plan other = take(make_plan(request_.topology, at_clock_, options, nullptr));
    row.scaled = times_of(other, at_clock_, at_clock_costs_, row.why);
    return row;
  }

  Times times_of(const Plan& plan, const Profile& profile, const sim::MemoryCosts& costs,
                 std::string& why) const {
    const bool period = a_.quantity == "period";
    Times times;
    times.model_us = (period ? plan.predicted_period_ns : plan.predicted_latency_ns) / 1e3;
    const auto program = take(compile_lines(plan));
    const auto outcome = sim::simulate(
        program, plan.key, request_.topology, profile,
        {.quantity = period ? sim::Quantity::kPeriod : sim::Quantity::kLatency, .costs = costs});
    if (outcome) times.simulated_us = outcome->ns / 1e3;
    else why = outcome.error().message;
    return times;
  }

  const LawArguments& a_;
  const PlanRequest& request_;
  const sim::MemoryCosts memory_;
  sim::MemoryCosts at_clock_costs_;
  const sim::LatencyLaw law_;
  PlanOptions options_;
  Profile at_clock_;
  std::vector<Row> rows_;
};

PlanRequest machine_of(const PlanArguments& machine) {
  if (machine.members > 0 || !machine.cpus.empty() || !machine.place.empty())
    throw CommandError(
        "--hosts and --cores say which CPUs the members have: remove --members, --cpus and --place");
  if (collective_of(machine.collective) != Collective::kBarrier)
    throw CommandError("--hosts: the law is one of barriers: remove --collective");
  return resolve(machine);
}

}  // namespace

void add_law(CLI::App& command, LawArguments& law) {
  constexpr std::int32_t kMost = 1'000'000'000;
  CLI::Option* const hosts = command.add_option(
      "--hosts", law.hosts,
      "without a measurement: a barrier over so many hosts, by law, model and simulation; a list, e.g. 8,64");
  hosts->delimiter(',')->check(CLI::Range(1, kMost));
  CLI::Option* const cores = command.add_option("--cores", law.cores, "with so many cores each; a list");
  cores->delimiter(',')->check(CLI::Range(1, kMost))->needs(hosts);
  hosts->needs(cores);
  command.add_option(
      "--fit", law.fit,
      "fit the law to the points of this file: a line \"hosts,cores,latency_us\", then numbers");
  command
      .add_option("--points", law.points, "also write the simulated times to this file, as --fit reads them")
      ->needs(hosts);
  command.add_option("--quantity", law.quantity, "of the model and the simulation: latency or period")
      ->check(CLI::IsMember({"latency", "period"}))
      ->capture_default_str()
      ->needs(hosts);
  add_clock(command, law.clock)->needs(hosts);
}

void predict_law(const LawArguments& a, const PlanArguments& machine, const ScheduleChoice& schedule,
                 const MemoryParameters& memory, const std::string& json) {
  check_output(a.points);
  sim::LatencyLaw law = sim::kPaperLaw;
  Json out;
  if (!a.fit.empty()) {
    const auto points = take(load_file(a.fit, sim::points_from_csv));
    const sim::LawFit fit = take(sim::fit_law(points, sim::Growth::kLog));
    out["fit"] = print_fit(fit, points, "points in " + a.fit);
    law = fit.law;
  }
  if (!a.hosts.empty()) {
    const PlanRequest request = machine_of(machine);
    print_notices(request, stdout);
    fmt::print("{}\n  {}, for n hosts of c cores\n",
               a.fit.empty() ? "law: equation 2 of remote-store-barriers" : "law: the fit", text_of(law));
    fmt::print("machine: {}\n", request.profile.machine);
    const sim::MemoryCosts costs = sim::memory_costs(request.profile, memory);
    fmt::print("simulated memory: {}\n", text_of(costs));
    LawTable table(a, request, schedule, costs, law);
    table.print();
    out["machine"] = request.profile.machine;
    out["law"] = json_of(law);
    out["quantity"] = a.quantity;
    out["memory"] = json_of(costs);
    if (a.clock != 1) out["clock"] = a.clock;
    out["rows"] = table.rows();
    const auto model = table.points(&Times::model_us), simulated = table.points(&Times::simulated_us);
    if (const auto fit = sim::fit_law(model, sim::Growth::kLog))
      out["fits"]["model"] = print_fit(*fit, model, "times of the model");
    if (const auto fit = sim::fit_law(simulated, sim::Growth::kLog))
      out["fits"]["simulated"] = print_fit(*fit, simulated, "simulated times");
    if (!a.points.empty() && simulated.empty()) throw CommandError("--points: nothing could be simulated");
    write_output(a.points, simulated.empty() ? "" : sim::to_csv(simulated));
  }
  if (!json.empty()) write_output(json, out.dump(1) + "\n");
}

}  // namespace fermata::tool
