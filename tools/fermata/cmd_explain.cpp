// fermata explain: prints the cached plan for a team, or an estimate.
#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "block_plans.hpp"
#include "commands.hpp"
#include "plan_request.hpp"

namespace fermata::tool {
namespace {

struct ExplainArguments {
  PlanArguments which;
  ScheduleChoice schedule;
  std::string file;
  bool matrices = false, json = false;
};

Plan find(const PlanRequest& request, const ScheduleChoice& schedule) {
  if (!request.chosen_profile && !schedule.chosen()) {
    auto cached = load_plan(request.key);
    if (cached) {
      print_contradictions(request, stderr);
      return std::move(cached.value());
    }
    if (cached.error().status != Status::kNotFound) throw CommandError(cached.error().message);
  }
  print_notices(request, stderr);
  if (!schedule.chosen())
    fmt::print(stderr, "note: no such plan in the cache: this is an estimate; `fermata plan` makes one\n");
  PlanOptions options;
  options.key = request.key;
  take_choice(schedule, options);
  return take(make_plan(request.topology, request.profile, options, nullptr));
}

// Shows why the planner joined the hosts in this way: the cost of one signal, in microseconds, between the
// first ranks of each pair of hosts.
void print_links(const PlanRequest& r) {
  constexpr std::size_t kMost = 12;
  std::vector<std::int32_t> first(r.hosts.size(), -1);
  for (std::size_t k = r.topology.cpus.size(); k-- > 0;)
    first[static_cast<std::size_t>(r.topology.cpus[k].host)] = static_cast<std::int32_t>(k);
  const std::size_t n = std::min(r.hosts.size(), kMost);
  fmt::print("\nlinks      one signal, us\n{:<14}", "");
  for (std::size_t b = 0; b < n; ++b) fmt::print(" {:>10.10}", r.hosts[b]);
  for (std::size_t a = 0; a < n; ++a) {
    fmt::print("\n  {:<12.12}", r.hosts[a]);
    for (std::size_t b = 0; b < n; ++b)
      if (a == b) fmt::print(" {:>10}", "-");
      else
        fmt::print(" {:>10.1f}",
                   (r.profile.o.at(first[a], first[b]) + r.profile.l.at(first[a], first[b])) / 1e3);
  }
  fmt::print("\n");
  if (n < r.hosts.size()) fmt::print("  ... and {} hosts more\n", r.hosts.size() - n);
}

}  // namespace

void add_explain(CLI::App& app) {
  auto a = std::make_shared<ExplainArguments>();
  CLI::App* command = app.add_subcommand(
      "explain", "show a plan: levels, stages, matrices, layout, costs, and why others lost");
  add_plan_selectors(*command, a->which);
  add_schedule_choice(*command, a->schedule);
  command->add_option("--plan", a->file, "read this plan file instead of the cache");
  command->add_flag("--matrices", a->matrices,
                    "print the stages as boolean matrices up to 16 members, not only up to 8");
  command->add_flag("--json", a->json, "print the plan file");
  command->callback([a] {
    PlanRequest request;
    if (a->file.empty()) request = resolve(a->which);
    if (a->schedule.chosen() && (request.blocks || !a->file.empty()))
      throw CommandError(
          "--algorithm, --layout, --schedule and --fan-in are for plans on lines without --plan");
    if (request.blocks) return explain_blocks(request, a->json);
    const Plan plan = a->file.empty() ? find(request, a->schedule) : take(load_plan_file(a->file));
    fmt::print("{}", a->json ? to_json(plan) : explain(plan, a->matrices));
    if (!a->json && !request.hosts.empty()) print_links(request);
  });
}

}  // namespace fermata::tool
