// fermata explain: prints the plan that the cache holds for a team, or what would be estimated.
#include <fmt/core.h>

#include <memory>

#include "block_plans.hpp"
#include "commands.hpp"
#include "plan_request.hpp"

namespace fermata::tool {
namespace {

struct Arguments {
  PlanArguments which;
  std::string file;
  bool matrices = false, json = false;
};

Plan load(const std::string& file) {
  auto plan = load_plan_file(file);
  if (!plan) throw CommandError(plan.error().message);
  return std::move(plan.value());
}

Plan find(const PlanRequest& request) {
  if (!request.chosen_profile) {
    auto cached = load_plan(request.key);
    if (cached) {
      print_contradictions(request, stderr);
      return std::move(cached.value());
    }
    if (cached.error().status != Status::kNotFound) throw CommandError(cached.error().message);
  }
  print_notices(request, stderr);
  fmt::print(stderr, "note: no such plan in the cache: this is an estimate; `fermata plan` makes one\n");
  PlanOptions options;
  options.key = request.key;
  auto plan = make_plan(request.topology, request.profile, options, nullptr);
  if (!plan) throw CommandError(plan.error().message);
  return std::move(plan.value());
}

}  // namespace

void add_explain(CLI::App& app) {
  auto a = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("explain", "show a plan: levels, stages, matrices, layout, costs, and why others lost");
  add_plan_selectors(*command, a->which);
  command->add_option("--plan", a->file, "a plan's file instead of the cache");
  command->add_flag("--matrices", a->matrices, "print the stages as boolean matrices up to 16 members, not only up to 8");
  command->add_flag("--json", a->json, "print the plan's file");
  command->callback([a] {
    PlanRequest request;
    if (a->file.empty()) request = resolve(a->which);
    if (request.blocks) return explain_blocks(request, a->json);
    const Plan plan = a->file.empty() ? find(request) : load(a->file);
    fmt::print("{}", a->json ? to_json(plan) : explain(plan, a->matrices));
  });
}

}  // namespace fermata::tool
