// Writes the origin of the numbers into a result file: machine, build, settings.
#include <sys/utsname.h>

#include <fstream>

#include "bench/report.hpp"
#include "commit.hpp"
#include "profile/utc.hpp"

namespace fermata::bench {
namespace {

std::string field_of(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t colon = line.find(':');
    const std::size_t text = line.find_first_not_of(" \t", colon + 1);
    if (colon != std::string::npos && text != std::string::npos) return line.substr(text);
  }
  return "unknown";
}

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  return std::getline(file, line) ? line : "unknown";
}

std::string compiler() {
#if defined(__clang__)
  return std::string("clang ") + __clang_version__;
#else
  return std::string("g++ ") + __VERSION__;
#endif
}

}  // namespace

nlohmann::json machine_json(const Options& options, const Outcome& outcome, const std::string& command_line) {
  utsname system{};
  uname(&system);
  const std::vector<int> cpus = allowed_cpus();
  return {{"cpu", field_of("/proc/cpuinfo", "model name")},
          {"cpus", cpus.size()},
          {"kernel", std::string(system.sysname) + " " + system.release + " " + system.machine},
          {"compiler", compiler()},
          {"build", FERMATA_BENCH_BUILD},
          {"flags", FERMATA_BENCH_FLAGS},
          {"commit", FERMATA_BENCH_COMMIT},
          {"affinity",
           {{"allowed", cpus},
            {"pinned", !options.pin || options.load.take_ms != 0 ? "no"
                       : options.cpus.empty()                    ? "where each member has a CPU"
                                                                 : "in turn on " + to_string(options.cpus)}}},
          {"clock_source", first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource")},
          {"load_average", first_line("/proc/loadavg")},
          {"burners", options.load.burners},
          {"burners_nice", options.load.nice},
          {"burners_session", options.load.own_session ? "their own" : "the benchmark's"},
          {"burners_pulse_ms", options.load.pulse_ms},
          {"quota_percent", options.load.quota},
          {"quota_by", outcome.quota},
          {"second_team", options.load.beside},
          {"take_cpus_ms", options.load.take_ms},
          {"energy", outcome.energy},
          {"counters", outcome.counters},
          {"seed", options.seed},
          {"seconds", options.seconds},
          {"versions", outcome.versions},
          {"plans", outcome.plans},
          {"command", command_line},
          {"date", utc_now()}};
}

}  // namespace fermata::bench
