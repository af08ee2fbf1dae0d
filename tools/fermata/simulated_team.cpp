#include "simulated_team.hpp"

#include <fmt/core.h>

#include <set>

#include "exec/program.hpp"
#include "sim/simulate.hpp"

namespace fermata::tool {

void add_memory_costs(CLI::App& command, MemoryParameters& wanted) {
  command
      .add_option("--miss-share", wanted.miss_share,
                  "the share of a signal that is the reader's miss (default: the profile's, else 0.5)")
      ->check(CLI::Range(0.0, 1.0));
  command
      .add_option("--overlap", wanted.overlap,
                  "a load of a stage is issued when the one before it has returned (1) or was issued (2) "
                  "(default: the profile's, else 2)")
      ->check(CLI::Range(1, 2));
  command
      .add_option("--work", wanted.work_ns,
                  "a member's own work for a store or a signal that it takes, ns (default: the profile's, "
                  "else 5)")
      ->check(CLI::Range(0.0, 1e6));
  command
      .add_option("--sibling-share", wanted.sibling_share,
                  "what each further member on the core adds to that work, as a share of it (default: the "
                  "profile's, else 1)")
      ->check(CLI::Range(0.0, 1000.0));
  command
      .add_option("--prefetch", wanted.prefetch,
                  "further lines that a miss takes, too (default: the profile's, else 0)")
      ->check(CLI::Range(0, 16));
}

std::string text_of(const sim::MemoryCosts& costs) {
  return fmt::format("miss share {:g}, overlap {}, work {:g} ns, sibling share {:g}, prefetch {}",
                     costs.miss_share, costs.overlap, costs.work_ns, costs.sibling_share, costs.prefetch);
}

nlohmann::ordered_json json_of(const sim::MemoryCosts& costs) {
  return {{"miss_share", costs.miss_share},
          {"overlap", costs.overlap},
          {"work_ns", costs.work_ns},
          {"sibling_share", costs.sibling_share},
          {"prefetch", costs.prefetch}};
}

CLI::Option* add_clock(CLI::App& command, double& clock) {
  return command
      .add_option("--scale", clock,
                  "also the times with a clock so many times as fast: own work and caches scale, memory and "
                  "links do not")
      ->check(CLI::Range(0.01, 100.0))
      ->capture_default_str();
}

Result<PlanKey> seated(PlanKey key, const Topology& topology) {
  if (const auto most = static_cast<std::int32_t>(kMaxTeamMembers); key.members > most)
    return Error{Status::kUnsupported, "a simulated team has at most " + std::to_string(most) +
                                           " members, not " + std::to_string(key.members)};
  if (key.cpus.empty()) key.cpus = place(topology, key.members, Placement::kCore);
  if (std::set<std::int32_t>(key.cpus.begin(), key.cpus.end()).size() == key.cpus.size()) return key;
  return Error{Status::kUnsupported, "members that share a CPU are not simulated"};
}

Measure simulate_on(const PlanRequest& request, const MemoryParameters& wanted) {
  return [&request, costs = sim::memory_costs(request.profile, wanted)](
             const std::vector<std::byte>& program, const PlanKey& key, int) -> Result<double> {
    const auto placed = seated(key, request.topology);
    if (!placed) return placed.error();
    const auto quantity = key.hosts.empty() ? sim::Quantity::kPeriod : sim::Quantity::kLatency;
    const auto outcome = sim::simulate(program, *placed, request.topology, request.profile,
                                       {.quantity = quantity, .costs = costs});
    if (!outcome) return outcome.error();
    return outcome->ns;
  };
}

}  // namespace fermata::tool
