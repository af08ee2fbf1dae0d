// fermata profile: measures the cost of a signal between each pair of CPUs, shows it and saves it.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "commands.hpp"
#include "mpi_job.hpp"
#include "profile/pairs.hpp"
#include "profile/profile.hpp"
#include "profile/store.hpp"

namespace fermata::tool {

namespace {

struct ProfileArguments {
  std::string cpus, json_path, file;
  double seconds = 0;
  bool processes = false, sample = false, no_save = false, table = false, heat = false, estimate = false,
       mpi = false;
};

// A terminal shows a bar; any other output gets one line per tenth.
void show(double done, const std::string& what) {
  static const bool terminal = isatty(STDERR_FILENO) != 0;
  static int last = -1;
  const int percent = static_cast<int>(std::lround(done * 100));
  if (terminal) {
    constexpr int kWidth = 40;
    const auto filled = static_cast<std::size_t>(done * kWidth);
    fmt::print(stderr, "\r[{}{}] {:3d} %  {:<32.32}", std::string(filled, '#'),
               std::string(kWidth - filled, ' '), percent, what);
    if (what == "done") fmt::print(stderr, "\r{:90}\r", "");
  } else if (percent / 10 > last / 10 || (percent == 100 && last < 100)) {
    fmt::print(stderr, "profile: {:3d} %  {}\n", percent, what);
  }
  last = percent;
  std::fflush(stderr);
}

// Seconds for each pair: 1 for few CPUs, 0.3 for many.
double default_share(std::size_t cpus) {
  const auto n = static_cast<double>(cpus);
  return std::clamp(20 / std::max(1.0, n * (n - 1)), 0.3, 1.0);
}

Profile measured(const ProfileArguments& o) {
  const Topology topology = take(discover_topology());
  if (o.estimate) return estimate_profile(topology);
  ProfileOptions options;
  if (!o.cpus.empty()) options.cpus = take(parse_cpu_list(o.cpus));
  options.processes = o.processes;
  options.sample = o.sample;
  const std::size_t count = options.cpus.empty() ? topology.cpus.size() : options.cpus.size();
  options.seconds_per_pair =
      o.seconds > 0 ? share_of_pair(o.seconds, o.sample ? 4 : count) : default_share(count);
  options.seconds = o.seconds;
  options.progress = show;
  return take(measure_profile(topology, options));
}

Profile measured_job(const ProfileArguments& o, const Job& job) {
  JobOptions options;
  options.sample = o.sample;
  options.seconds = o.seconds;
  if (job.rank == 0) options.progress = show;
  return take(measure_job(job, take(discover_topology()), options, measure_profile));
}

void report(const ProfileArguments& o, const Profile& profile) {
  const bool both = o.table == o.heat;
  if (both || o.table) fmt::print("{}", to_table(profile));
  if (both) fmt::print("\n");
  if (both || o.heat) fmt::print("{}", heat_map(profile));
  const std::string bytes = byte_heat_map(profile);
  if ((both || o.heat) && !bytes.empty()) fmt::print("\n{}", bytes);
  if (!o.json_path.empty()) {
    write_output(o.json_path, to_json(profile));
    fmt::print("written to {}\n", o.json_path);
  }
  if (o.no_save || profile.origin != "measured" || !o.file.empty()) return;
  // The planner needs the whole machine, so a profile of fewer CPUs does not replace one of more.
  const auto old = load_profile(profile.fingerprint, profile.engine);
  std::vector<std::int32_t> lost;
  if (old && profile.hosts.empty())
    for (const Cpu& cpu : old->topology.cpus)
      if (profile.topology.find(cpu.os_index) == nullptr) lost.push_back(cpu.os_index);
  if (!lost.empty()) {
    fmt::print("not saved: the saved profile also has CPUs {} (--json FILE writes this one)\n",
               cpu_list(lost));
    return;
  }
  fmt::print("saved as {}\n", take(save_profile(profile)));
}

void run(const ProfileArguments& o) {
  check_output(o.json_path);
  if (!o.mpi) return report(o, o.file.empty() ? measured(o) : take(load_profile_file(o.file)));
  const MpiJob mpi;
  const Profile profile = measured_job(o, mpi.job());
  if (mpi.job().rank == 0) report(o, profile);
}

}  // namespace

void add_profile(CLI::App& app) {
  auto o = std::make_shared<ProfileArguments>();
  CLI::App* command =
      app.add_subcommand("profile", "Measure the cost of a signal and of a byte between CPUs");
  command->add_option("--cpus", o->cpus, "measure only these CPUs, e.g. 0-3,8");
  command->add_flag("--processes", o->processes, "measure processes that share memory, not threads");
  command->add_flag("--sample", o->sample,
                    "measure at most three pairs per level; all other pairs get their medians");
  command
      ->add_option("--seconds", o->seconds,
                   "intended total duration; with --mpi a short one means that fewer pairs are measured")
      ->check(CLI::Range(0.1, 3600.0));
  command->add_option("--json", o->json_path, "also write the profile to this file");
  command->add_option("--file", o->file, "show this profile instead of measuring");
  command->add_flag("--estimate", o->estimate, "don't measure: default costs per level of the topology");
  command
      ->add_flag("--mpi", o->mpi,
                 "measure the processes of the MPI job that starts this: mpirun ... fermata profile --mpi")
      ->excludes("--processes")
      ->excludes("--cpus")
      ->excludes("--file")
      ->excludes("--estimate");
  command->add_flag("--no-save", o->no_save, "don't save it in the planner's cache directory");
  command->add_flag("--table", o->table, "print the table only");
  command->add_flag("--heatmap", o->heat, "print the heat map only");
  command->callback([o] { run(*o); });
}

}  // namespace fermata::tool
