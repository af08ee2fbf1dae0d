#include "bench/planning.hpp"

#include <algorithm>
#include <ctime>

#include "base/text.hpp"
#include "bench/report.hpp"
#include "bench/stats.hpp"
#include "plan/plan.hpp"
#include "profile/profile.hpp"
#include "topo/topology.hpp"

namespace fermata::bench {
namespace {

constexpr int kLeastRepeats = 3;
constexpr int kMostRepeats = 50;
constexpr int kDomains = 32;  // 8 packages x 4 caches
// by name: a table of planning times that is compared over releases needs the same rows.
constexpr const char* kGiven[] = {"kary(4)", "extended_butterfly", "binomial"};

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

Result<Topology> machine_of(int members) {
  const int cores = (members + kDomains - 1) / kDomains;
  return topology_from_regular({.packages = 8, .l3 = 4, .cores = cores});
}

Result<PlanningRow> time_one(const Topology& topology, const Profile& profile, const PlanOptions& options,
                             double seconds) {
  PlanningRow row{options.key.collective, options.key.members, options.algorithm, "", {}};
  const double end = cpu_seconds() + seconds;
  while (row.ms.size() < kLeastRepeats || (row.ms.size() < kMostRepeats && cpu_seconds() < end)) {
    const double begin = cpu_seconds();
    const auto plan = make_plan(topology, profile, options, nullptr);
    if (!plan) return plan.error();
    const auto program = compile_lines(*plan);
    if (!program) return program.error();
    row.ms.push_back((cpu_seconds() - begin) * 1e3);
    row.chosen = plan->schedule.algorithm;
  }
  return row;
}

}  // namespace

Result<std::vector<PlanningRow>> run_planning(const std::vector<int>& members, double seconds,
                                              const Progress& progress) {
  std::vector<PlanningRow> rows;
  constexpr Collective kCollectives[] = {Collective::kBarrier, Collective::kAllreduce};
  const std::size_t cases = members.size() * std::size(kCollectives) * (std::size(kGiven) + 1);
  for (const int n : members) {
    const auto topology = machine_of(n);
    if (!topology) return topology.error();
    const Profile profile = estimate_profile(*topology);
    for (const Collective collective : kCollectives)
      for (std::size_t g = 0; g <= std::size(kGiven); ++g) {
        PlanOptions options;
        options.key.collective = collective;
        options.key.members = n;
        options.key.payload = collective == Collective::kBarrier ? 0 : 8;
        options.key.cpus = place(*topology, n, Placement::kCore);
        if (g < std::size(kGiven)) {
          options.algorithm = kGiven[g];
          options.layout = "private+2slots";
        }
        if (progress)
          progress(static_cast<double>(rows.size()) / static_cast<double>(cases),
                   std::to_string(n) + " members");
        auto row = time_one(*topology, profile, options, seconds / static_cast<double>(cases));
        if (!row) return row.error();
        rows.push_back(std::move(row.value()));
      }
  }
  return rows;
}

std::string planning_table(const std::vector<PlanningRow>& rows) {
  std::string text = format("%-10s %6s  %-44s %8s %8s %8s\n", "collective", "n",
                            "one schedule, or the search and its choice", "ms", "p10", "p90");
  for (const PlanningRow& row : rows) {
    const Summary s = summarize(row.ms);
    const std::string what = row.algorithm.empty() ? "search: " + row.chosen : row.algorithm;
    text += format("%-10s %6d  %-44.44s %8.2f %8.2f %8.2f\n", name_of(row.collective), row.members,
                   what.c_str(), s.median, s.p10, s.p90);
  }
  return text +
         "\nCPU time of one core to build, prove, cost and compile. A search does this for all candidates; "
         "it times nothing.\n";
}

nlohmann::json planning_json(const std::vector<PlanningRow>& rows) {
  nlohmann::json list = nlohmann::json::array();
  for (const PlanningRow& row : rows) {
    nlohmann::json json = samples_json(row.ms, "ms");
    json["collective"] = name_of(row.collective);
    json["n"] = row.members;
    json["algorithm"] = row.algorithm.empty() ? nlohmann::json(nullptr) : nlohmann::json(row.algorithm);
    json["chosen"] = row.chosen;
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace fermata::bench
