// The contestants of a group: floors and probes, rivals, Fermata.
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <filesystem>

#include "bench/own.hpp"
#include "bench/session.hpp"

namespace fermata::bench {
namespace {

constexpr std::size_t kMostBuffers = std::size_t{4} << 30;  // for all members together

// The worker is beside the tool in a build, and in libexec after an installation.
std::string find_worker(const std::string& name, const std::string& directory) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path tool = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  std::vector<fs::path> places = {tool, tool / "../libexec/fermata"};
  if (!directory.empty()) places = {directory};
  for (const fs::path& place : places) {
    if (access((place / name).c_str(), X_OK) == 0) return (place / name).string();
  }
  return {};
}

bool wanted(const Options& options, const Entry& entry) {
  if (entry.role != Role::kRival) return options.floors;
  return std::any_of(options.rivals.begin(), options.rivals.end(), [&](const std::string& name) {
    return name == entry.name || (name == "all" && *entry.preload == '\0');
  });
}

Contestant from_entry(const Options& options, const Entry& entry, Case what) {
  Contestant c;
  c.name = entry.name;
  c.variant = entry.variant;
  c.role = entry.role;
  c.what = std::move(what);
  if (entry.role == Role::kFloor && c.what.bytes != 0) c.name += std::to_string(c.what.bytes);
  c.launch.name = entry.name;
  if (entry.worker != nullptr) {
    c.launch.executable = find_worker(entry.worker, options.worker_directory);
    c.launch.environment = split(entry.environment, ' ');
    if (c.launch.executable.empty()) c.unavailable = std::string("not available: needs ") + entry.needs;
    if (const std::string name = entry.preload; !name.empty()) {
      const std::string file = options.preload ? options.preload(name) : "";
      if (file.empty()) c.unavailable = "not available: needs libfermata-" + name + ".so beside the tool";
      c.launch.environment.push_back("LD_PRELOAD=" + file);
    }
  } else if (entry.make != nullptr) {
    c.launch.make = entry.make;
  } else {
    c.unavailable = std::string("not available: needs ") + entry.needs;
  }
  return c;
}

Contestant from_plan(const Options::Made& made, const Case& what) {
  OwnSubject own{.name = made.name};
  std::string unavailable;
  try {
    own.plan_file = made.plan_file(what);
  } catch (const std::exception& e) {
    unavailable = std::string("not available: ") + e.what();
  }
  Contestant c = own_contestant(own.name, [own] { return make_own(own); });
  c.what = what;
  c.unavailable = unavailable;
  return c;
}

}  // namespace

Contestant own_contestant(const std::string& name, std::function<std::unique_ptr<Subject>()> make) {
  Contestant c;
  c.name = c.launch.name = name;
  c.role = Role::kOwn;
  c.launch.make = std::move(make);
  return c;
}

namespace {

// The CPU of each rank; empty: no member is pinned. Taking CPUs away would unpin members.
std::vector<int> places_of(const Options& options, const std::vector<int>& cpus, int members) {
  if (!options.pin || options.load.take_ms != 0) return {};
  std::vector<int> places;
  if (options.cpus.empty() && members <= static_cast<int>(cpus.size()))
    places.assign(cpus.begin(), cpus.begin() + members);
  for (int r = 0; r < members && !options.cpus.empty(); ++r)
    places.push_back(options.cpus[static_cast<std::size_t>(r) % options.cpus.size()]);
  return places;
}

// Probes always measure the period of their two members: a round trip, a switch on one CPU. Where --cpus or
// --place say so, that is on the first two CPUs of the team.
void add_probes(const Options& options, const std::vector<int>& cpus, std::vector<Contestant>& list) {
  std::vector<int> probed;
  for (const int cpu : options.cpus.empty() ? cpus : options.cpus)
    if (std::find(probed.begin(), probed.end(), cpu) == probed.end()) probed.push_back(cpu);
  for (const Entry& entry : table()) {
    if (entry.role != Role::kProbe || !wanted(options, entry)) continue;
    const bool same_cpu = std::string_view(entry.name) == "probe_switch";
    if (!same_cpu && probed.size() < 2) continue;
    for (const Engine engine : {Engine::kThreads, Engine::kProcesses}) {
      const bool asked = std::any_of(options.engines.begin(), options.engines.end(), [&](Engine e) {
        return (e == Engine::kThreads) == (engine == Engine::kThreads);
      });
      if ((entry.engines & bit(engine)) == 0 || !(asked || engine == Engine::kThreads)) continue;
      Case two;
      two.engine = engine;
      two.cpus = {probed[0], same_cpu ? probed[0] : probed[1]};
      list.push_back(from_entry(options, entry, two));
    }
  }
}

}  // namespace

std::vector<Contestant> contestants(const Options& options, int members, int bytes, Quantity quantity) {
  std::vector<Contestant> list;
  const std::vector<int> cpus = allowed_cpus();
  Case base;
  base.collective = options.collective;
  base.members = members;
  base.bytes = bytes;
  base.rotating = options.rotating;
  base.cpus = places_of(options, cpus, members);

  for (const Engine engine : options.engines) {
    base.engine = engine;
    for (const Entry& entry : table()) {
      const bool fits = (entry.collectives & bit(options.collective)) != 0 &&
                        (entry.engines & bit(engine)) != 0 &&
                        (entry.members == 0 || entry.members == members) && bytes >= entry.bytes.least &&
                        bytes <= entry.bytes.most;
      if (!fits || entry.role == Role::kProbe || !wanted(options, entry)) continue;
      if ((quantity == Quantity::kOverlap || options.rotating) && !entry.library) continue;
      list.push_back(from_entry(options, entry, base));
    }
    for (const OwnSubject& own :
         options.own ? own_subjects(options.collective, members, bytes, options.algorithms, options.layouts)
                     : std::vector<OwnSubject>{}) {
      Contestant c = own_contestant(own.name, [own] { return make_own(own); });
      c.what = base;
      c.stages = own.stages;
      list.push_back(std::move(c));
    }
    for (const Options::Made& made : options.made) {
      list.push_back(from_plan(made, base));
    }
    for (Contestant extra : options.extra) {
      extra.what = base;
      list.push_back(std::move(extra));
    }
  }
  for (Contestant& c : list) c.quantity = quantity;

  add_probes(options, cpus, list);
  return list;
}

std::string check(const Options& options) {
  if (options.members.empty()) return "-n: give at least one number of members";
  for (const int n : options.members) {
    if (n < 1 || n > 1024) return "-n: members must be from 1 to 1024, not " + std::to_string(n);
  }
  if (options.collective == Collective::kBarrier && !options.bytes.empty())
    return "--bytes: a barrier carries no payload";
  if (options.rotating && !has_root(options.collective))
    return "--roots: only broadcast, reduce, gather and scatter have one";
  for (const int bytes : options.bytes) {
    if (bytes < 8 || bytes > kMaxBytes || bytes % 8 != 0)
      return "--bytes: multiples of 8 (doubles) up to 8 MiB, not " + std::to_string(bytes);
    for (const int n : options.members) {
      Case c;
      c.collective = options.collective;
      c.members = n;
      c.bytes = bytes;
      if (Turn::buffer_bytes(c) > kMostBuffers)
        return "--bytes: " + std::to_string(bytes) + " among " + std::to_string(n) +
               " members takes more than 4 GiB of buffers";
    }
  }
  for (const std::string& name : options.rivals) {
    std::string names;
    bool known = name == "all";
    for (const Entry& entry : table()) {
      if (entry.role != Role::kRival) continue;
      known = known || name == entry.name;
      names += std::string(" ") + entry.name;
    }
    if (!known) return "--rivals: no rival '" + name + "'; there are all, none," + names;
  }
  if (options.engines.empty() || options.quantities.empty())
    return "--engine and --quantity must not be empty";
  if (!(options.seconds > 0)) return "--seconds must be positive";
  if (options.window_s < 0) return "--window must not be negative";
  if (!(options.skew_ns >= 0 && options.skew_ns <= 2e7)) return "--skew: from 0 to 20 ms";
  if (!options.made.empty() && options.load.beside > 0)
    return "--schedule and --fan-in: not with --beside, since the second team would need a plan of its own";
  return check(options.load);
}

}  // namespace fermata::bench
