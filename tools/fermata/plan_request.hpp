// Options of `fermata plan`, `explain` and `predict`: which plan, on which machine, by which profile.
#ifndef FERMATA_TOOLS_PLAN_REQUEST_HPP
#define FERMATA_TOOLS_PLAN_REQUEST_HPP

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "plan/plan.hpp"

namespace fermata::tool {

std::string collectives();                          // "barrier, broadcast, ... or exscan"
Collective collective_of(const std::string& name);  // throws CommandError

struct PlanArguments {
  int members = 0;
  std::string cpus, collective = "barrier", engine = "threads", place, profile, topology;
  std::int64_t bytes = -1;
  std::uint64_t place_seed = 1;
};

// Which schedule, instead of the planner's choice.
struct ScheduleChoice {
  std::string algorithm, layout, file;
  int fan_in = 0;
  bool chosen() const { return !algorithm.empty() || !layout.empty() || !file.empty() || fan_in > 0; }
};

void add_schedule_choice(CLI::App& command, ScheduleChoice& choice);
Schedule schedule_from_file(const std::string& path);  // as `fermata verify` prints it; throws CommandError
// Puts the choice into the options. Reads the file. Throws CommandError.
void take_choice(const ScheduleChoice& choice, PlanOptions& options);
// From now on the options ask for this plan's schedule and layout.
void repeat_choice(const Plan& plan, PlanOptions& options);

void add_plan_selectors(CLI::App& command, PlanArguments& arguments);
void add_places(CLI::App& command, std::string& cpus, std::string& place);  // --cpus and --place
// The CPUs of a list, one for each member: a short list is repeated. 0 members: each CPU of the list once.
// Throws CommandError for a list that is empty or malformed, or a CPU that the topology lacks.
std::vector<std::int32_t> listed_cpus(const std::string& list, const Topology& topology,
                                      std::int32_t members);

struct PlanRequest {
  Topology topology;
  Profile profile;
  PlanKey key;
  bool blocks = false;                      // an operation on blocks, not on lines
  std::size_t bytes = 0;                    // the size of a block, as the user gave it, or 8
  std::vector<std::string> hosts;           // their names, if the profile is from an MPI job
  bool here = false;                        // the topology is this machine's
  bool runs() const;                        // the team can run here: no more than kMaxTeamMembers members
  bool chosen_profile = false;              // the user named the profile: no plan of the cache is shown
  std::string notice;                       // what had to be assumed; empty: nothing
  std::vector<std::string> contradictions;  // where the profile's costs contradict its own topology
};

void print_contradictions(const PlanRequest& request, std::FILE* to);
void print_notices(const PlanRequest& request, std::FILE* to);  // contradictions and assumptions

void show_progress(double done, const std::string& what);  // a bar on stderr

// Throws CommandError.
PlanRequest resolve(const PlanArguments& arguments);

}  // namespace fermata::tool
#endif
