// fermata bench: times Fermata, its rivals and hand-written floors, interleaved in one run.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>

#include "commands.hpp"

#ifdef FERMATA_HAVE_BENCH
#include "bench/guidelines.hpp"
#include "bench/overlap.hpp"
#include "bench/planning.hpp"
#include "bench/report.hpp"
#include "bench/session.hpp"
#include "bench/teams.hpp"
#include "plan_request.hpp"

namespace fermata::tool {
namespace {

// These names stand in place of a collective.
constexpr const char* kOverlap = "overlap";    // bench/overlap.hpp
constexpr const char* kPlanning = "planning";  // bench/planning.hpp
constexpr const char* kTeams = "teams";        // bench/teams.hpp

struct BenchArguments {
  std::string collective, members = "2", engine = "threads", algorithm = "all", layout, rivals = "all", bytes;
  std::string quantity = "period", roots = "fixed", json, cpus, place, skew;
  ScheduleChoice schedule;  // its file and its fan-in alone
  bool no_pin = false, no_floors = false, guidelines = false, counters = false;
  double seconds = 10, limit = 10, window = 0;
  bench::Load load;
  std::uint64_t seed = 1;
};

std::vector<int> numbers(const std::string& option, const std::string& list) {
  const auto parsed = bench::numbers_from(list);
  if (!parsed) throw CommandError(option + ": a list like 2,4,8, not '" + list + "'");
  return *parsed;
}

std::vector<std::string> names(const std::string& list) {
  return list == "none" ? std::vector<std::string>{} : bench::split(list);
}

// "500", "2us", "1ms:exponential"
void take_skew(const std::string& text, bench::Options& o) {
  const std::string wrong = "--skew: a time and a shape, like 500ns, 2us or 1ms:late, not '" + text +
                            "'; shapes: uniform, "
                            "exponential, late";
  std::size_t end = 0;
  double value = 0;
  try {
    value = std::stod(text, &end);
  } catch (const std::exception&) {
    throw CommandError(wrong);
  }
  const std::size_t colon = text.find(':');
  const std::string unit = text.substr(end, colon == std::string::npos ? colon : colon - end);
  const std::string shape = colon == std::string::npos ? "uniform" : text.substr(colon + 1);
  const std::map<std::string, double> units = {{"", 1}, {"ns", 1}, {"us", 1e3}, {"ms", 1e6}};
  const std::map<std::string, bench::SkewShape> shapes = {{"uniform", bench::SkewShape::kUniform},
                                                          {"exponential", bench::SkewShape::kExponential},
                                                          {"late", bench::SkewShape::kOneLate}};
  if (!units.contains(unit) || !shapes.contains(shape)) throw CommandError(wrong);
  o.skew_ns = value * units.at(unit);
  o.shape = shapes.at(shape);
}

// The CPUs of the ranks; empty: the usable ones, if there is one for each.
std::vector<int> cpus_from(const BenchArguments& a) {
  if (a.cpus.empty() && a.place.empty()) return {};
  if (a.no_pin) throw CommandError("--no-pin: without --cpus and --place");
  const Topology here = take(discover_topology());
  if (!a.place.empty()) return place(here, here.usable_cpus(), *placement_from(a.place), a.seed);
  return listed_cpus(a.cpus, here, 0);
}

// Plan files for one run.
class PlanFiles {
 public:
  PlanFiles() : folder_(std::filesystem::temp_directory_path() / "fermata-bench-XXXXXX") {
    if (mkdtemp(folder_.data()) == nullptr) throw CommandError("cannot make " + folder_);
  }
  ~PlanFiles() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  PlanFiles(const PlanFiles&) = delete;
  PlanFiles& operator=(const PlanFiles&) = delete;

  std::string make(const ScheduleChoice& choice, const bench::Case& c) {
    PlanArguments which;
    which.members = c.members;
    which.collective = name_of(c.collective);
    which.engine = c.engine == bench::Engine::kThreads ? "threads" : "processes";
    which.bytes = c.bytes;
    PlanRequest request = resolve(which);
    if (request.blocks) throw CommandError("--schedule and --fan-in are for plans on lines");
    request.key.cpus.assign(c.cpus.begin(), c.cpus.end());
    PlanOptions options;
    options.key = request.key;
    take_choice(choice, options);
    const std::string path = fmt::format("{}/{}.json", folder_, ++made_);
    write_output(path, to_json(take(make_plan(request.topology, request.profile, options, nullptr))));
    return path;
  }

 private:
  std::string folder_;
  int made_ = 0;
};

bench::Options options_from(const BenchArguments& a) {
  bench::Options o;
  const bool plain = a.collective.empty() || a.collective == kPlanning || a.collective == kTeams;
  o.collective = plain                      ? Collective::kBarrier
                 : a.collective == kOverlap ? Collective::kAllreduce
                                            : collective_of(a.collective);
  o.members = numbers("-n", a.members);
  o.bytes = numbers("--bytes", a.bytes);
  o.engines.clear();
  for (const std::string& name : names(a.engine)) {
    const auto engine = bench::engine_from(name);
    if (!engine) throw CommandError("--engine: threads, processes or mixed, not '" + name + "'");
    o.engines.push_back(*engine);
  }
  o.quantities.clear();
  for (const std::string& name : names(a.quantity)) {
    const auto quantity = bench::quantity_from(name);
    if (!quantity) throw CommandError("--quantity: period, latency, epcc, not '" + name + "'");
    o.quantities.push_back(*quantity);
  }
  o.rivals = names(a.rivals);
  o.algorithms = names(a.algorithm);
  o.layouts = names(a.layout);
  if (a.roots != "fixed" && a.roots != "rotating")
    throw CommandError("--roots: fixed or rotating, not '" + a.roots + "'");
  o.rotating = a.roots == "rotating";
  o.pin = !a.no_pin;
  o.cpus = cpus_from(a);
  if (!a.skew.empty()) {
    take_skew(a.skew, o);
    if (o.quantities != std::vector{bench::Quantity::kLatency})
      throw CommandError("--skew is for --quantity latency");
  }
  if (a.schedule.chosen()) {
    const auto files = std::make_shared<PlanFiles>();
    const std::string name =
        a.schedule.file.empty() ? fmt::format("fermata:fan-in={}", a.schedule.fan_in) : "fermata:schedule";
    o.made.push_back(
        {name, [files, choice = a.schedule](const bench::Case& c) { return files->make(choice, c); }});
  }
  o.floors = !a.no_floors;
  o.seconds = a.seconds;
  o.limit_s = a.limit;
  o.window_s = a.window;
  o.load = a.load;
  o.counters = a.counters;
  o.seed = a.seed;
  return o;
}

void refuse(const std::string& wrong) {
  if (!wrong.empty()) throw CommandError(wrong);
}

// A terminal shows one line, which each call overwrites; any other output gets one line per tenth.
void show_progress(double done, const std::string& what) {
  static int tenth = -1;
  if (isatty(STDERR_FILENO) != 0) {
    fmt::print(stderr, "\r\033[K{:3.0f} % {:.80}", done * 100, what);
  } else if (static_cast<int>(done * 10) != tenth) {
    tenth = static_cast<int>(done * 10);
    fmt::print(stderr, "{:3.0f} % {:.80}\n", done * 100, what);
  }
}

std::string command_line_of_this_process() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text, argument;
  while (std::getline(file, argument, '\0')) {
    if (text.empty()) argument = argument.substr(argument.rfind('/') + 1);
    text += (text.empty() ? "" : " ") + argument;
  }
  return text;
}

void end_progress() {
  if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r\033[K");
}

void compare(bench::Options options, const BenchArguments& a) {
  refuse(bench::check(options));
  check_output(a.json);
  const bench::Outcome outcome = bench::run(options);
  end_progress();
  fmt::print("{}", bench::to_table(outcome));
  write_output(a.json, bench::file_text(bench::to_json(options, outcome, command_line_of_this_process())));
  if (outcome.rows.empty()) throw CommandError("no subject could be measured");
}

void check_guidelines(bench::Options options, const BenchArguments& a) {
  std::vector<Collective> collectives;
  for (int collective = 0; collective < kCollectiveCount && a.collective.empty(); ++collective) {
    if (bench::has_guidelines(static_cast<Collective>(collective)))
      collectives.push_back(static_cast<Collective>(collective));
  }
  if (collectives.empty()) collectives = {options.collective};
  refuse(bench::check_guidelines(options, collectives));
  check_output(a.json);
  const bench::Outcome outcome = bench::run_guidelines(options, collectives);
  end_progress();
  const std::vector<bench::Guideline> guidelines = bench::judge(outcome);
  fmt::print("{}{}", bench::guidelines_table(guidelines), bench::left_out_table(outcome));
  nlohmann::json json = bench::to_json(options, outcome, command_line_of_this_process());
  json["guidelines"] = bench::guidelines_json(guidelines);
  write_output(a.json, bench::file_text(json));
  if (guidelines.empty()) throw CommandError("no guideline could be checked");
  const auto violated = std::count_if(guidelines.begin(), guidelines.end(), [](const bench::Guideline& g) {
    return g.finding == bench::Finding::kViolated;
  });
  if (violated != 0)
    throw CommandError(fmt::format("{} of {} guidelines violated", violated, guidelines.size()));
}

void overlap(bench::Options options, const BenchArguments& a) {
  refuse(bench::check_overlap(options));
  check_output(a.json);
  const bench::Outcome outcome = bench::run_overlap(options);
  end_progress();
  fmt::print("{}{}", bench::overlap_table(outcome), bench::left_out_table(outcome));
  nlohmann::json json = bench::to_json(options, outcome, command_line_of_this_process());
  json["overlap"] = bench::overlap_json(outcome);
  write_output(a.json, bench::file_text(json));
  if (bench::overlaps_of(outcome).empty()) throw CommandError("no subject could be measured");
}

// Runs a benchmark without rivals. It prints its own rows and writes them under its own name.
template <class Run, class Table, class Json>
void rows_of(const bench::Options& options, const BenchArguments& a, Run run, Table table, Json json_of) {
  check_output(a.json);
  auto result = run();
  end_progress();
  const auto rows = take(std::move(result));
  fmt::print("{}", table(rows));
  nlohmann::json json = bench::to_json(options, {}, command_line_of_this_process());
  json[a.collective] = json_of(rows);
  write_output(a.json, bench::file_text(json));
}

void planning(const bench::Options& options, const BenchArguments& a) {
  const auto run = [&] { return bench::run_planning(options.members, options.seconds, options.progress); };
  rows_of(options, a, run, bench::planning_table, bench::planning_json);
}

void teams(const bench::Options& options, const BenchArguments& a) {
  const auto run = [&] {
    return bench::run_teams(options.engines, options.members, options.seconds, options.progress);
  };
  rows_of(options, a, run, bench::teams_table, bench::teams_json);
}

void bench_command(const BenchArguments& a) {
  bench::Options options = options_from(a);
  options.progress = show_progress;
  options.preload = [](const std::string& name) {
    return library_beside("preload/" + name.substr(0, name.find('-')), "libfermata-" + name + ".so");
  };
  const bool plain =
      !a.guidelines && a.collective != kPlanning && a.collective != kTeams && a.collective != kOverlap;
  if (!plain && (a.schedule.chosen() || !a.skew.empty() || a.counters))
    throw CommandError(
        "--schedule, --fan-in, --skew and --counters: with a collective, without --guidelines");
  if ((a.collective == kPlanning || a.collective == kTeams) && !options.cpus.empty())
    throw CommandError("--cpus and --place: not with " + a.collective);
  if (a.collective == kPlanning) return planning(options, a);
  if (a.collective == kTeams) return teams(options, a);
  if (a.guidelines) return check_guidelines(options, a);
  a.collective == kOverlap ? overlap(options, a) : compare(options, a);
}

void add_load(CLI::App& command, bench::Load& load) {
  command.add_option("--burners", load.burners, "Processes that use up CPU time during the run")
      ->capture_default_str();
  command.add_option("--nice", load.nice, "How nice they are, 0 to 19")->capture_default_str();
  command.add_flag("--session", load.own_session,
                   "They have a session of their own: Linux divides CPU time between sessions first");
  command.add_option("--pulse", load.pulse_ms,
                     "They burn and sleep in turns of so many ms; default: no sleep");
  command.add_option("--quota", load.quota,
                     "CPU time that each subject may use, in percent of one CPU; default: all");
  command.add_option("--beside", load.beside,
                     "Each subject runs beside a second team of its kind, of so many members");
  command.add_option("--take", load.take_ms,
                     "After so many ms each subject has only one CPU, after as many again all CPUs");
}

void add_variants(CLI::App& command, BenchArguments& a) {
  command.add_option("--skew", a.skew,
                     "With --quantity latency: how late members come, 500ns, 2us:exponential (by that mean) "
                     "or 1ms:late (one of them); default: 300ns:uniform");
  command
      .add_option("--schedule", a.schedule.file,
                  "Time this schedule, too: a file, as `fermata verify` prints it; proved first")
      ->check(CLI::ExistingFile);
  command
      .add_option("--fan-in", a.schedule.fan_in,
                  "Time a plan, too, in which at most so many signals come to a member in one stage")
      ->check(CLI::Range(1, 16384));
  add_places(command, a.cpus, a.place);
}

}  // namespace

void add_bench(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("bench", "Time Fermata, its rivals and hand-written floors, interleaved");
  const auto a = std::make_shared<BenchArguments>();
  command->add_option("collective", a->collective,
                      collectives() +
                          "; default: barrier, or all with --guidelines. Or overlap: an allreduce during "
                          "computation; planning: the time that planning takes; teams: the time to create "
                          "and split teams");
  command->add_option("-n,--members", a->members, "Numbers of members")->capture_default_str();
  command
      ->add_option("--engine", a->engine,
                   "a list of threads, processes, mixed (processes of two threads each)")
      ->capture_default_str();
  command
      ->add_option("--algorithm", a->algorithm, "Algorithms beside the planner's choice: a list, all or none")
      ->capture_default_str();
  command->add_option("--layout", a->layout,
                      "Layouts for --algorithm, e.g. private,packed+2slots; default: the planner's choice");
  command->add_option("--rivals", a->rivals, "A list, none, or all (which leaves out ..._preloaded)")
      ->capture_default_str();
  command->add_option(
      "--bytes", a->bytes,
      "Bytes of the vector of a broadcast, reduce, allreduce or scan, else of one member's block: "
      "multiples of 8 up to 8388608; default: 8");
  command->add_option("--quantity", a->quantity, "period, latency, epcc: a list")->capture_default_str();
  command->add_option("--roots", a->roots, "fixed: root 0; rotating: another root in each call")
      ->capture_default_str();
  command->add_option("--seconds", a->seconds, "Time for each group of subjects")->capture_default_str();
  command->add_option("--limit", a->limit, "Seconds after which a batch counts as hung")
      ->capture_default_str();
  command->add_option("--window", a->window, "Seconds of a batch; default: 2 to 20 ms, under load 0.3 s");
  add_load(*command, a->load);
  add_variants(*command, *a);
  command->add_option("--seed", a->seed, "Seed for the order of subjects in a round, and for --place random")
      ->capture_default_str();
  command->add_flag(
      "--guidelines", a->guidelines,
      "Check that each collective is as fast as other calls that do the same; exit status 1 if not");
  command->add_flag("--counters", a->counters,
                    "Count events of an episode and member: cycles, instructions, misses of caches, "
                    "prefetches, page faults; those that the machine has and the kernel allows");
  command->add_flag("--no-pin", a->no_pin, "Never pin members");
  command->add_flag("--no-floors", a->no_floors, "Skip floors and probes; the table then has no bounds");
  command->add_option("--json", a->json, "Write raw samples, statistics and the machine to this file");
  command->callback([a] { bench_command(*a); });
}

}  // namespace fermata::tool

#else

namespace fermata::tool {
void add_bench(CLI::App& app) {
  app.add_subcommand("bench", "Not in this build (FERMATA_BENCH is off)")->callback([] {
    throw CommandError("this tool was built with FERMATA_BENCH=OFF");
  });
}
}  // namespace fermata::tool
#endif
