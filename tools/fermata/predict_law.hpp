// `fermata predict --hosts` and `--fit`: the latency of a barrier over hosts by the law of
// remote-store-barriers, by the planner's model, and simulated.
#ifndef FERMATA_TOOLS_PREDICT_LAW_HPP
#define FERMATA_TOOLS_PREDICT_LAW_HPP

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "plan_request.hpp"
#include "sim/machine.hpp"

namespace fermata::tool {

struct LawArguments {
  std::vector<std::int32_t> hosts, cores;  // each with each
  std::string fit, points, quantity = "latency";
  double clock = 1;
  bool wanted() const { return !hosts.empty() || !fit.empty(); }
};

void add_law(CLI::App& command, LawArguments& law);

// json: the file that also gets the table, or empty. Throws CommandError.
void predict_law(const LawArguments& law, const PlanArguments& machine, const ScheduleChoice& schedule,
                 const MemoryParameters& memory, const std::string& json);

}  // namespace fermata::tool
#endif
