#include "team/plans.hpp"

#include <optional>
#include <utility>

#include "plan/block_knowledge.hpp"
#include "plan/block_plan.hpp"
#include "team/machine.hpp"
#include "team/refresh.hpp"

namespace fermata::team {
namespace {

// Also refuses a plan that does not fit the team and that the team would not use.
std::optional<Error> check_given(const TeamRequest& request) {
  for (const Plan* plan : request.plans) {
    if (plan->key.members != request.members)
      return Error{Status::kArgument, "a plan for " + std::to_string(plan->key.members) +
                                          " members was given to a team of " +
                                          std::to_string(request.members)};
    if (plan->key.hosts != request.hosts)
      return Error{Status::kArgument, "a plan for other hosts was given to a team"};
  }
  return std::nullopt;
}

Result<std::vector<std::byte>> program_of_slot(const TeamRequest& request, const HostPlans* over_hosts,
                                               exec::PlanSlot slot) {
  PlanKey key = wanted_plan(slot, request);
  for (const Plan* plan : request.plans)
    if (plan->key.collective == key.collective && plan->key.payload == key.payload)
      return compile_lines(*plan);
  if (over_hosts != nullptr) return over_hosts->program(key);
  const auto machine = this_machine();
  if (!machine) return machine.error();
  key.fingerprint = fingerprint(**machine);
  key.cpus = request.cpus;
  return program_for(key, **machine, nullptr, request.reproducible ? fixed_algorithm(key) : "");
}

// Packs the costs by this machine's profile for these CPUs, and the measured choices for such a team.
std::vector<std::byte> block_knowledge(const TeamRequest& request) {
  const auto machine = this_machine();
  if (!machine) return {};
  PlanKey key;
  key.fingerprint = fingerprint(**machine);
  key.members = request.members;
  key.engine = request.engine;
  key.cpus = request.cpus;
  return pack(block_costs(this_profile(request.engine), **machine, key), known_choices(key));
}

}  // namespace

TeamRequest request_like(const exec::Team& parent, std::size_t members) {
  TeamRequest request;
  request.members = static_cast<std::int32_t>(members);
  request.engine = parent.shared() ? Engine::kProcesses : Engine::kThreads;
  request.tagged = parent.layout().tagged != 0;
  request.reproducible = parent.layout().reproducible != 0;
  request.wait = parent.wait();
  request.stall_ns = parent.stall_ns();
  return request;
}

PlanKey wanted_plan(exec::PlanSlot slot, const TeamRequest& request) {
  const exec::SlotUse& wanted = exec::kSlotUses[static_cast<int>(slot)];
  PlanKey key;
  key.collective = wanted.collective;
  key.members = request.members;
  key.payload = wanted.collective == Collective::kBarrier && request.tagged ? 8 : wanted.payload;
  key.engine = request.engine;
  return key;
}

std::string fixed_algorithm(const PlanKey& key) {
  if (key.members == 1 || !folds(key.collective)) return "";
  // by name: the same bits in every release, whatever the table gains.
  return key.collective == Collective::kReduce ? "binomial" : "extended_butterfly";
}

Result<TeamPlans> plans_for(const TeamRequest& request) {
  if (request.programs != nullptr) return plans_from(request);
  if (auto unfit = check_given(request)) return *std::move(unfit);
  std::optional<HostPlans> over_hosts;
  if (!request.hosts.empty()) over_hosts.emplace(request);
  TeamPlans plans;
  plans.reproducible = request.reproducible;
  for (std::uint32_t i = 0; i < exec::kPlanSlots; ++i) {
    auto program =
        program_of_slot(request, over_hosts ? &*over_hosts : nullptr, static_cast<exec::PlanSlot>(i));
    if (!program) return program.error();
    plans.programs.push_back(std::move(*program));
  }
  plans.blocks = over_hosts ? over_hosts->block_knowledge(request) : block_knowledge(request);
  if (over_hosts && request.refresh_seconds > 0)
    plans.refresh = refresh_start(request, over_hosts->profile());
  return plans;
}

// ---- Plans for teams that lie in the file of another team (exec/places.hpp). They are stored there for the
// next team of the same shape.

namespace {

std::uint64_t key_of(const TeamRequest& request) {
  std::vector<std::int32_t> words = {request.members, request.tagged ? 1 : 0, request.reproducible ? 1 : 0};
  words.insert(words.end(), request.cpus.begin(), request.cpus.end());
  const std::uint64_t hash =
      hash_of({reinterpret_cast<const char*>(words.data()), words.size() * sizeof words[0]});
  return hash != 0 ? hash : 1;
}

}  // namespace

Result<TeamPlans> plans_within(const TeamRequest& request) {
  if (!request.plans.empty()) return plans_for(request);
  exec::Places places = request.within->segment_owner().segment().places();
  const std::uint64_t key = key_of(request);
  std::vector<std::byte> kept(places.look_up(key, nullptr, 0));
  if (!kept.empty() && places.look_up(key, kept.data(), kept.size()) == kept.size()) {
    TeamRequest like;
    like.members = request.members;
    like.programs = kept.data();
    like.programs_bytes = kept.size();
    return plans_from(like);
  }
  auto plans = plans_for(request);
  if (!plans) return plans.error();
  kept = packed(*plans);
  places.keep(key, kept.data(), kept.size());
  return plans;
}

}  // namespace fermata::team
