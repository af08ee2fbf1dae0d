#include "plan_request.hpp"

#include <algorithm>

#include "commands.hpp"
#include "profile/store.hpp"

namespace fermata::tool {
namespace {

template <class T>
T take(Result<T> result) {
  if (!result) throw CommandError(result.error().message);
  return std::move(result.value());
}

Kind kind_of(const std::string& name) {
  for (int k = 0; k < kLineKindCount; ++k)
    if (name == name_of(static_cast<Kind>(k))) return static_cast<Kind>(k);
  throw CommandError("no collective is called '" + name + "'");
}

std::vector<std::int32_t> placement(const PlanArguments& a, const PlanRequest& r) {
  if (!a.cpus.empty()) {
    const std::vector<std::int32_t> list = take(parse_cpu_list(a.cpus));
    if (list.empty()) throw CommandError("--cpus: the list is empty");
    std::vector<std::int32_t> cpus;
    for (std::int32_t m = 0; m < r.key.members; ++m) cpus.push_back(list[static_cast<std::size_t>(m) % list.size()]);
    for (const std::int32_t cpu : cpus)
      if (r.topology.find(cpu) == nullptr) throw CommandError("--cpus: this process may not use CPU " + std::to_string(cpu));
    return cpus;
  }
  // A machine that isn't at hand has no scheduler to leave the placement to.
  const std::string place_name = a.place.empty() && !r.here ? "core" : a.place;
  if (place_name.empty()) return {};
  const Placement how = place_name == "core"  ? Placement::kCore
                        : place_name == "cpu" ? Placement::kCpu
                                              : Placement::kRoundRobin;
  return place(r.topology, r.key.members, how);
}

void find_machine(const PlanArguments& a, PlanRequest& r) {
  if (!a.profile.empty()) {
    r.profile = take(load_profile_file(a.profile));
    r.chosen_profile = true;
  }
  auto machine = discover_topology();
  if (!a.topology.empty()) r.topology = take(topology_from_file(a.topology));
  else if (machine && (a.profile.empty() || r.profile.fingerprint == fingerprint(*machine))) r.topology = *machine;
  else if (!a.profile.empty()) r.topology = r.profile.topology;
  else throw CommandError(machine.error().message);
  r.here = machine && fingerprint(*machine) == fingerprint(r.topology);
  if (r.chosen_profile) return;
  if (r.here) {
    auto stored = load_profile(fingerprint(r.topology), a.engine);
    if (!stored && a.engine != "threads") {
      stored = load_profile(fingerprint(r.topology), "threads");
      if (stored) r.notice = "no profile of processes yet: the threads' one is used";
    }
    if (stored) {
      r.profile = std::move(stored.value());
      return;
    }
    if (stored.error().status != Status::kNotFound) throw CommandError(stored.error().message);
  }
  r.profile = estimate_profile(r.topology);
  r.notice = std::string("no profile of this machine: default costs per level of its topology") +
             (r.here ? "; `fermata profile` measures them" : "");
}

}  // namespace

void add_plan_selectors(CLI::App& command, PlanArguments& a) {
  command.add_option("-n,--members", a.members, "members of the team (default: CPUs that may be used)")
      ->check(CLI::Range(1, 4096));
  command.add_option("--cpus", a.cpus, "CPU of each rank, e.g. 0-3,8; repeated when shorter than the team");
  command.add_option("--place", a.place, "place the ranks: one per core first, on all CPUs, or across packages")
      ->check(CLI::IsMember({"core", "cpu", "round-robin"}))
      ->excludes("--cpus");
  command.add_option("--collective", a.collective, "what the members do together")
      ->check(CLI::IsMember({"barrier", "broadcast", "reduce", "allreduce"}))
      ->capture_default_str();
  command.add_option("--bytes", a.bytes, "payload, up to 56 (default 8; a barrier: 0, or 8 to carry tags)")
      ->check(CLI::Range(0, 56));
  command.add_option("--engine", a.engine, "what the members are")
      ->check(CLI::IsMember({"threads", "processes"}))
      ->capture_default_str();
  command.add_option("--profile", a.profile, "a profile's file (default: this machine's from the cache)");
  command.add_option("--topology", a.topology, "a topology's file: text of `fermata topo`, or hwloc XML");
}

PlanRequest resolve(const PlanArguments& a) {
  PlanRequest r;
  find_machine(a, r);
  r.key.members = a.members;
  if (a.members == 0 && !a.cpus.empty()) r.key.members = static_cast<std::int32_t>(take(parse_cpu_list(a.cpus)).size());
  if (r.key.members == 0) r.key.members = r.topology.usable_cpus();
  r.key.kind = kind_of(a.collective);
  r.key.engine = a.engine == "threads" ? Engine::kThreads : Engine::kProcesses;
  r.key.payload = payload_class(r.key.kind, a.bytes);
  r.key.fingerprint = fingerprint(r.topology);
  r.key.cpus = placement(a, r);
  return r;
}

}  // namespace fermata::tool
