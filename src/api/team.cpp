// Teams and members behind the C ABI.
#include "api/handles.hpp"

#include "api/refresh.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "exec/report.hpp"
#include "os/os.hpp"
#include "plan/block_model.hpp"
#include "plan/block_plan.hpp"
#include "sync/wait_wanted.hpp"

using namespace fermata;
using namespace fermata::api;

namespace fermata::api {
namespace {

std::int64_t to_ns(double seconds) {
  if (!(seconds > 0)) return 0;
  return seconds > 9e9 ? INT64_MAX / 2 : static_cast<std::int64_t>(seconds * 1e9);
}

std::int64_t stall_ns(double configured) { return configured > 0 ? to_ns(configured) : os::stall_ns(); }

}  // namespace

// The environment wins, so that a user can try a policy on a program that chose another.
WaitKind wait_kind(int configured) { return wait_kind_or(static_cast<WaitKind>(configured)); }

namespace {

Result<std::vector<std::byte>> program_of_slot(const TeamRequest& request, const HostPlans* over_hosts,
                                               exec::PlanSlot slot) {
  PlanKey key = wanted_plan(slot, request);
  for (const Plan* plan : request.plans) {
    if (plan->key.kind == key.kind && plan->key.payload == key.payload) {
      if (plan->key.hosts != request.hosts)
        return Error{Status::kArgument, "a plan for other hosts was given to a team"};
      if (plan->key.members == request.members) return compile(*plan);
      return Error{Status::kArgument, "a plan for " + std::to_string(plan->key.members) +
                                          " members was given to a team of " +
                                          std::to_string(request.members)};
    }
  }
  if (over_hosts != nullptr) return over_hosts->program(key);
  const auto machine = this_machine();
  if (!machine) return machine.error();
  key.fingerprint = fingerprint(**machine);
  key.cpus = request.cpus;
  return program_for(key, **machine, nullptr, request.reproducible ? fixed_algorithm(key) : "");
}

// Packs the costs by this machine's profile for these CPUs, and what was measured for such a team.
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

PlanKey wanted_plan(exec::PlanSlot slot, const TeamRequest& request) {
  const exec::SlotUse& wanted = exec::kSlotUses[static_cast<int>(slot)];
  PlanKey key;
  key.kind = wanted.kind;
  key.members = request.members;
  key.payload = wanted.kind == Kind::kBarrier && request.tagged ? 8 : wanted.payload;
  key.engine = request.engine;
  return key;
}

std::string fixed_algorithm(const PlanKey& key) {
  if (key.members == 1 || !folds(key.kind)) return "";
  // by name: the same bits in every release, whatever the table gains.
  return key.kind == Kind::kReduce ? "binomial" : "extended_butterfly";
}

Result<TeamPlans> plans_for(const TeamRequest& request) {
  if (request.programs != nullptr) return plans_from(request);
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

int make_team(const TeamRequest& request, fermata_team** out) {
  exec::TeamOptions options;
  options.members = static_cast<std::uint32_t>(request.members);
  options.shared = request.engine == Engine::kProcesses;
  options.tagged = request.tagged;
  options.blocks = true;
  options.wait = request.wait;
  options.stall_ns = request.stall_ns;
  options.within = request.within;
  const auto plans = request.within != nullptr ? plans_within(request) : plans_for(request);
  if (!plans) return fail(plans.error());
  options.reproducible = plans->reproducible;
  for (std::size_t i = 0; i < exec::kPlanSlots; ++i) options.programs[i] = plans->programs[i].data();
  options.refresh = plans->refresh.data();
  options.refresh_bytes = plans->refresh.size();
  const std::vector<std::uint32_t> hosts(request.hosts.begin(), request.hosts.end());
  if (!hosts.empty()) options.hosts = hosts.data();
  options.host = static_cast<std::uint32_t>(request.host);
  if (!request.cpus.empty()) options.cpus = request.cpus.data();
  options.model = plans->blocks.data();
  options.model_bytes = plans->blocks.size();
  auto handle = std::make_unique<fermata_team>();
  handle->cpus = request.cpus;
  const char* detail = "";
  const Status status = exec::Team::create(options, &handle->team, &detail);
  if (status != Status::kOk) return fail(status, "%s", detail);
  *out = handle.release();
  return FERMATA_OK;
}

void read_planned_cpus(fermata_team& handle) {
  constexpr std::uint32_t kMostCpu = 65536;
  const exec::Team& team = *handle.team;
  for (std::uint32_t r = 0; r < team.members(); ++r) {
    const std::uint32_t planned = team.status(r).planned_cpu;
    if (planned == 0 || planned > kMostCpu) return handle.cpus.clear();  // none, or overwritten
    handle.cpus.push_back(static_cast<std::int32_t>(planned) - 1);
  }
}

int attach(const char* name, std::int64_t within_ns, WaitKind wait, std::int64_t stall_ns,
           fermata_team** out) {
  std::int32_t fd = -1;
  const char* why = "";
  Status status = os::receive_fd(name, within_ns, &fd, &why);
  if (status == Status::kTimeout)
    return fail(status, "no team was offered as '%s' in %.1f s: %s", name,
                static_cast<double>(within_ns) * 1e-9, why);
  if (status != Status::kOk) return fail(status, "the team '%s' cannot be attached to: %s", name, why);
  auto handle = std::make_unique<fermata_team>();
  const char* detail = "";
  status = exec::Team::attach(fd, wait, stall_ns, &handle->team, &detail);
  if (status != Status::kOk) return fail(status, "%s", detail);
  read_planned_cpus(*handle);
  *out = handle.release();
  return FERMATA_OK;
}

namespace {

// Joins as the lowest rank that no member has or has had.
Status join_any(exec::Team* team, exec::Member** out, const char** detail) {
  *detail = "all ranks of the team are taken";
  Status status = Status::kBusy;
  for (std::uint32_t r = 0; r < team->members() && status == Status::kBusy; ++r)
    if (team->is_free(r)) status = exec::Member::join(team, r, out, detail);
  return status;
}

}  // namespace

int join(fermata_team* team, int rank, bool owns, fermata_member** out) {
  auto handle = std::make_unique<fermata_member>();
  exec::Member* joined = nullptr;
  const char* detail = "";
  const Status status =
      rank == FERMATA_ANY_RANK
          ? join_any(team->team, &joined, &detail)
          : exec::Member::join(team->team, static_cast<std::uint32_t>(rank), &joined, &detail);
  if (status != Status::kOk)
    return rank == FERMATA_ANY_RANK ? fail(status, "%s", detail) : fail(status, "rank %d: %s", rank, detail);
  handle->hold(joined);
  handle->origin = team;
  handle->team = owns ? team : nullptr;
  handle->planned_for = team->cpus;
  if (team->cpus.empty() && team->team->members() > 1 && team->team->port() == nullptr)
    handle->member->set_review(kFirstReview);
  if (refreshes(handle.get())) handle->member->set_review(kFirstRefresh);
  *out = handle.release();
  return FERMATA_OK;
}

namespace {

int check(const fermata_team_config& c) {
  if (c.size != sizeof c) return fail(Status::kArgument, "config.size: use FERMATA_TEAM_CONFIG_INIT");
  if (c.members < 1 || c.members > static_cast<int>(kMaxMembers))
    return fail(Status::kArgument, "members must be 1..4096, not %d", c.members);
  if (c.engine != FERMATA_THREADS && c.engine != FERMATA_PROCESSES)
    return fail(Status::kArgument, "engine %d is none of fermata_engine", c.engine);
  if (c.wait < FERMATA_WAIT_AUTO || c.wait > FERMATA_WAIT_PARK)
    return fail(Status::kArgument, "wait %d is none of fermata_wait", c.wait);
  if (c.plan_count > 0 && c.plans == nullptr)
    return fail(Status::kArgument, "plans is NULL but plan_count is not 0");
  if (std::isnan(c.stall_seconds)) return fail(Status::kArgument, "stall_seconds is not a number");
  if (std::isnan(c.refresh_seconds)) return fail(Status::kArgument, "refresh_seconds is not a number");
  for (int r = 0; c.cpus != nullptr && r < c.members; ++r)
    if (c.cpus[r] < 0) return fail(Status::kArgument, "cpus[%d] is negative", r);
  return FERMATA_OK;
}

// An error if the handle is null, or the team was destroyed.
int check_team(const fermata_team* team) {
  if (team == nullptr) return null_handle();
  return serial_of(team) != 0 ? FERMATA_OK : fail(Status::kArgument, "the team was destroyed");
}

int call_hook(void* context) {
  auto* member = static_cast<fermata_member*>(context);
  return member->hook(member, member->hook_user);
}

}  // namespace

int request_of(const fermata_team_config& config, TeamRequest& out) {
  const int checked = check(config);
  if (checked != FERMATA_OK) return checked;
  out.members = config.members;
  out.engine = static_cast<Engine>(config.engine);
  out.tagged = config.tagged != 0;
  out.reproducible = os::wants_reproducible();
  out.wait = wait_kind(config.wait);
  out.stall_ns = stall_ns(config.stall_seconds);
  ask_for_refreshes(config.refresh_seconds, out);
  if (config.cpus != nullptr) out.cpus.assign(config.cpus, config.cpus + config.members);
  for (size_t i = 0; i < config.plan_count; ++i) {
    if (config.plans[i] == nullptr) return null_handle();
    out.plans.push_back(&config.plans[i]->value);
  }
  return FERMATA_OK;
}

}  // namespace fermata::api

extern "C" {

int fermata_team_create(const fermata_team_config* config, fermata_team** out) {
  if (config == nullptr || out == nullptr) return null_handle();
  return guarded([&] {
    TeamRequest request;
    if (const int bad = request_of(*config, request); bad != FERMATA_OK) return bad;
    return make_team(request, out);
  });
}

void fermata_team_destroy(fermata_team* team) {
  if (serial_of(team) == 0) return;
  exec::Team* moved = moved_to<RealAtomics>(team->moved);
  if (moved != nullptr) moved->release();
  team->team->release();
  delete team;
}

int fermata_team_size(const fermata_team* team) {
  if (const int bad = check_team(team); bad != FERMATA_OK) return bad;
  return static_cast<int>(team->team->members());
}

int fermata_team_serve(fermata_team* team, const char* name, int count, double seconds) {
  if (name == nullptr) return null_handle();
  if (const int bad = check_team(team); bad != FERMATA_OK) return bad;
  if (count < 1) return fail(Status::kArgument, "count must be at least 1");
  if (!team->team->shared())
    return fail(Status::kArgument, "a team of threads cannot be served: use FERMATA_PROCESSES");
  if (team->team->is_within())
    return fail(Status::kArgument, "this team lies within another: serve that one, and attach by its place");
  const Status status = os::serve_fd(name, team->team->fd(), count, to_ns(seconds));
  return status == Status::kOk ? FERMATA_OK
                               : fail(status, "serving the team as '%s': %s", name,
                                      fermata_status_string(static_cast<int>(status)));
}

int fermata_team_attach(const char* name, double seconds, fermata_team** out) {
  if (name == nullptr || out == nullptr) return null_handle();
  return guarded(
      [&] { return attach(name, to_ns(seconds), wait_kind(FERMATA_WAIT_AUTO), stall_ns(0), out); });
}

int fermata_team_join(fermata_team* team, int rank, fermata_member** out) {
  if (out == nullptr) return null_handle();
  if (const int bad = check_team(team); bad != FERMATA_OK) return bad;
  if (rank < 0 && rank != FERMATA_ANY_RANK) return fail(Status::kArgument, "rank %d is negative", rank);
  return guarded([&] { return join(team, rank, false, out); });
}

void fermata_member_leave(fermata_member* member) {
  if (member == nullptr) return;
  member->member->leave();
  fermata_team_destroy(member->team);
  delete member;
}

void fermata_team_abort(fermata_team* team) {
  if (serial_of(team) == 0) return;
  // After a refresh the members still check the team that they joined. Nobody frees it meanwhile, whereas a
  // refresh may free the current one.
  exec::Team& known = refreshes(*team->team) ? *team->team : team->current();
  known.break_with(Status::kBroken, UINT32_MAX);
}

int fermata_member_rank(const fermata_member* member) {
  if (member == nullptr) return null_handle();
  return static_cast<int>(member->member->rank());
}

int fermata_member_count(const fermata_member* member) {
  if (member == nullptr) return null_handle();
  return static_cast<int>(member->member->team().members());
}

int fermata_member_set_timeout(fermata_member* member, double seconds) {
  if (member == nullptr) return null_handle();
  if (std::isnan(seconds)) return fail(Status::kArgument, "seconds is not a number");
  member->member->set_timeout(to_ns(seconds));
  return FERMATA_OK;
}

int fermata_member_set_idle_hook(fermata_member* member, fermata_idle_hook hook, void* user) {
  if (member == nullptr) return null_handle();
  member->hook = hook;
  member->hook_user = user;
  member->member->set_idle_hook(hook != nullptr ? call_hook : nullptr, member);
  return FERMATA_OK;
}

int fermata_member_set_idle_sleep(fermata_member* member, double seconds) {
  if (member == nullptr) return null_handle();
  if (std::isnan(seconds)) return fail(Status::kArgument, "seconds is not a number");
  member->member->set_idle_sleep(to_ns(seconds));
  return FERMATA_OK;
}

int fermata_member_set_bounded(fermata_member* member, int on) {
  if (member == nullptr) return null_handle();
  member->member->set_bounded(on != 0);
  member->may_differ = member->may_differ || on != 0;
  return FERMATA_OK;
}

int fermata_team_report(const fermata_team* team, char* buffer, size_t* length) {
  if (length == nullptr) return null_handle();
  if (const int bad = check_team(team); bad != FERMATA_OK) return bad;
  exec::Team* now = nullptr;
  {
    const os::ProcessLock lock;  // a refresh may free the team
    now = &team->current();
    now->retain();
  }
  *length = exec::report(*now, buffer, buffer != nullptr ? *length : 0);
  now->release();
  return FERMATA_OK;
}

int fermata_pin(int cpu) {
  const Status status = os::pin_thread(cpu);
  return status == Status::kOk ? FERMATA_OK
                               : fail(status, "CPU %d is not among those that this process may use", cpu);
}

}  // extern "C"
