// Teams on a simulated machine, for `fermata simulate`, `predict` and `plan --simulate`.
#ifndef FERMATA_TOOLS_SIMULATED_TEAM_HPP
#define FERMATA_TOOLS_SIMULATED_TEAM_HPP

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "plan_request.hpp"
#include "sim/machine.hpp"

namespace fermata::tool {

void add_memory_costs(CLI::App& command, MemoryParameters& wanted);  // options of a simulated machine
std::string text_of(const sim::MemoryCosts& costs);
nlohmann::ordered_json json_of(const sim::MemoryCosts& costs);
CLI::Option* add_clock(CLI::App& command, double& clock);  // --scale (sim/clock.hpp)

// The key with a CPU for each member: without CPUs, each member gets a core. Error: kUnsupported if members
// share CPUs, or there are more than kMaxTeamMembers.
Result<PlanKey> seated(PlanKey key, const Topology& topology);

// Runs each program on the machine of the request, and returns the period, or over hosts the latency.
// `request` must outlive the callback.
Measure simulate_on(const PlanRequest& request, const MemoryParameters& wanted);

}  // namespace fermata::tool
#endif
