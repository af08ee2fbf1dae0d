#include "plan_request.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "commands.hpp"
#include "exec/program.hpp"
#include "plan/hosts.hpp"
#include "profile/measure.hpp"
#include "profile/store.hpp"
#include "schedule/print.hpp"

namespace fermata::tool {

std::string collectives() {
  std::string list;
  for (int collective = 0; collective < kCollectiveCount; ++collective) {
    list += (list.empty()                         ? ""
             : collective + 1 == kCollectiveCount ? " or "
                                                  : ", ") +
            std::string(name_of(static_cast<Collective>(collective)));
  }
  return list;
}

Collective collective_of(const std::string& name) {
  if (const auto known = collective_from(name)) return *known;
  throw CommandError("no collective is called '" + name + "'; choose " + collectives());
}

namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;

std::vector<std::int32_t> placement(const PlanArguments& a, const PlanRequest& r) {
  if (!a.cpus.empty()) return listed_cpus(a.cpus, r.topology, r.key.members);
  // A machine that is only described has no scheduler that could place the ranks.
  const std::string place_name = a.place.empty() && !r.here ? "core" : a.place;
  if (place_name.empty()) return {};
  return place(r.topology, r.key.members, *placement_from(place_name), a.place_seed);
}

// A plan for processes of the profile's MPI job, as fermata_team_create_mpi would ask for it.
void take_allocation(PlanRequest& r) {
  Allocation team;
  for (const std::int32_t row : r.key.cpus) {
    const Cpu& cpu = *r.topology.find(row);
    const std::string& name = r.profile.hosts[static_cast<std::size_t>(cpu.host)];
    const auto known = std::find(team.names.begin(), team.names.end(), name);
    team.hosts.push_back(static_cast<std::int32_t>(known - team.names.begin()));
    if (known == team.names.end()) team.names.push_back(name);
    team.pinned.push_back(r.profile.pinned[static_cast<std::size_t>(row)]);
  }
  r.topology = topology_of(team);
  r.profile = take(profile_of(team, r.topology, r.profile));
  r.contradictions.clear();
  r.key.fingerprint = fingerprint(r.topology);
  r.key.engine = Engine::kProcesses;
  if (team.names.size() > 1) r.key.hosts = team.hosts;  // on one host they share memory
  std::iota(r.key.cpus.begin(), r.key.cpus.end(), 0);
  r.hosts = std::move(team.names);
}

void find_machine(const PlanArguments& a, PlanRequest& r) {
  if (!a.profile.empty()) {
    r.profile = take(load_profile_file(a.profile));
    r.chosen_profile = true;
  }
  auto machine = discover_topology();
  if (!a.topology.empty()) r.topology = take(topology_from_file(a.topology));
  else if (machine && (a.profile.empty() || r.profile.fingerprint == fingerprint(*machine)))
    r.topology = *machine;
  else if (!a.profile.empty()) r.topology = r.profile.topology;
  else throw CommandError(machine.error().message);
  r.here = machine && fingerprint(*machine) == fingerprint(r.topology);
  if (r.chosen_profile) return;
  if (r.here) {
    auto stored = load_profile(fingerprint(r.topology), a.engine);
    if (!stored && a.engine != "threads") {
      stored = load_profile(fingerprint(r.topology), "threads");
      if (stored) r.notice = "no profile of processes yet: using the profile of threads";
    }
    if (stored) {
      r.profile = std::move(stored.value());
      return;
    }
    if (stored.error().status != Status::kNotFound) throw CommandError(stored.error().message);
  }
  r.profile = estimate_profile(r.topology);
  r.notice = std::string("no profile of this machine: using default costs per level of its topology") +
             (r.here ? "; `fermata profile` measures them" : "");
}

}  // namespace

bool PlanRequest::runs() const { return here && key.members <= static_cast<std::int32_t>(kMaxTeamMembers); }

void show_progress(double done, const std::string& what) {
  constexpr int kWidth = 30;
  std::string bar(static_cast<std::size_t>(done * kWidth), '#');
  bar.resize(kWidth, '.');
  fmt::print(stderr, "\r[{}] {:3.0f} % {:<44.44}", bar, 100 * done, what);
  if (done >= 1) fmt::print(stderr, "\r{:80}\r", "");
  std::fflush(stderr);
}

std::vector<std::int32_t> listed_cpus(const std::string& list, const Topology& topology,
                                      std::int32_t members) {
  const std::vector<std::int32_t> given = take(parse_cpu_list(list));
  if (given.empty()) throw CommandError("--cpus: the list is empty");
  const std::size_t count = members > 0 ? static_cast<std::size_t>(members) : given.size();
  std::vector<std::int32_t> cpus;
  for (std::size_t m = 0; m < count; ++m) {
    cpus.push_back(given[m % given.size()]);
    if (topology.find(cpus.back()) == nullptr)
      throw CommandError("--cpus: this process may not use CPU " + std::to_string(cpus.back()));
  }
  return cpus;
}

void add_places(CLI::App& command, std::string& cpus, std::string& place) {
  command.add_option("--cpus", cpus, "CPU of each rank, e.g. 0-3,8; repeated if shorter than the team");
  command
      .add_option("--place", place,
                  "place the ranks: one per core first, on all CPUs, across NUMA nodes, across packages, or "
                  "at random")
      ->check(CLI::IsMember({"core", "cpu", "numa", "round-robin", "random"}))
      ->excludes("--cpus");
}

void add_plan_selectors(CLI::App& command, PlanArguments& a) {
  command.add_option("-n,--members", a.members, "members of the team (default: one for each usable CPU)")
      ->check(CLI::Range(1, 16384));
  add_places(command, a.cpus, a.place);
  command.add_option("--place-seed", a.place_seed, "the seed of --place random")->capture_default_str();
  command.add_option("--collective", a.collective, "what the members do together")
      ->check(CLI::IsMember({"barrier", "broadcast", "reduce", "allreduce", "gather", "scatter", "allgather",
                             "reduce_scatter", "alltoall", "scan", "exscan"}))
      ->capture_default_str();
  command
      .add_option("--bytes", a.bytes,
                  "bytes that a member contributes or gets (default 8; a barrier: 0, or 8 to carry tags)")
      ->check(CLI::Range(std::int64_t{0}, kMostBytes));
  command.add_option("--engine", a.engine, "what the members are")
      ->check(CLI::IsMember({"threads", "processes"}))
      ->capture_default_str();
  command.add_option(
      "--profile,--machine", a.profile,
      "a profile file, of this machine or another one (default: this machine's from the cache)");
  command.add_option(
      "--topology", a.topology,
      "a topology file: printed by `fermata topo` as text or JSON, hwloc XML, or a machine file");
}

void add_schedule_choice(CLI::App& command, ScheduleChoice& choice) {
  command.add_option("--algorithm", choice.algorithm,
                     "this algorithm instead of a search: 'kary(4)', or one for each level of clusters, "
                     "outermost first, as plans print them: 'kary(8)/linear/linear'; "
                     "'kary(3)@neighbours': with hosts in an order that puts neighbours first");
  command.add_option("--layout", choice.layout, "this layout instead of a search, e.g. packed+2slots");
  command
      .add_option("--schedule", choice.file,
                  "a schedule in a file, as `fermata verify` prints it, instead of a search; proved first")
      ->excludes("--algorithm");
  command
      .add_option("--fan-in", choice.fan_in,
                  "only schedules in which at most so many signals come to a member in one stage, and so "
                  "many from other hosts to one host")
      ->check(CLI::Range(1, 16384));
}

void take_choice(const ScheduleChoice& choice, PlanOptions& options) {
  options.algorithm = choice.algorithm;
  options.layout = choice.layout;
  options.fan_in = choice.fan_in;
  if (!choice.file.empty()) options.schedule = schedule_from_file(choice.file);
}

void repeat_choice(const Plan& plan, PlanOptions& options) {
  options.schedule = plan.schedule;
  options.layout = to_string(plan.layout);
  options.algorithm.clear();
  options.fan_in = 0;
}

Schedule schedule_from_file(const std::string& path) {
  return take(load_file<Schedule>(path, [](std::string_view text) {
    // `fermata verify` prints more after the schedule.
    constexpr std::string_view kEnd = "\nend\n";
    if (const std::size_t end = text.find(kEnd); end != std::string_view::npos)
      text = text.substr(0, end + kEnd.size());
    return parse_schedule(text);
  }));
}

void print_contradictions(const PlanRequest& request, std::FILE* to) {
  for (const std::string& text : request.contradictions) fmt::print(to, "note: {}\n", text);
}

void print_notices(const PlanRequest& request, std::FILE* to) {
  if (!request.notice.empty()) fmt::print(to, "note: {}\n", request.notice);
  print_contradictions(request, to);
}

PlanRequest resolve(const PlanArguments& a) {
  PlanRequest r;
  find_machine(a, r);
  r.contradictions = contradictions(r.profile);
  r.key.members = a.members;
  if (a.members == 0 && !a.cpus.empty())
    r.key.members = static_cast<std::int32_t>(take(parse_cpu_list(a.cpus)).size());
  if (r.key.members == 0) r.key.members = r.topology.usable_cpus();
  r.key.collective = collective_of(a.collective);
  r.key.engine = a.engine == "threads" ? Engine::kThreads : Engine::kProcesses;
  r.bytes = a.bytes < 0 ? 8 : static_cast<std::size_t>(a.bytes);
  r.blocks = !rides_on_a_line(r.key.collective) || r.bytes > kLinePayload;
  if (r.bytes > 8 && r.key.collective == Collective::kBarrier)
    throw CommandError("a barrier carries 8 bytes at most");
  r.key.payload = r.blocks ? 0 : payload_class(r.key.collective, static_cast<std::int32_t>(a.bytes));
  r.key.fingerprint = fingerprint(r.topology);
  r.key.cpus = placement(a, r);
  if (!r.profile.hosts.empty()) take_allocation(r);
  else take_hosts(r.key, r.topology);
  return r;
}

}  // namespace fermata::tool
