// Teams and members behind the C ABI.
#include "api/handles.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

using namespace fermata;
using namespace fermata::api;

namespace fermata::api {
namespace {

std::int64_t to_ns(double seconds) {
  if (!(seconds > 0)) return 0;
  return seconds > 9e9 ? INT64_MAX / 2 : static_cast<std::int64_t>(seconds * 1e9);
}

std::int64_t stall_ns(double configured) {
  if (configured > 0) return to_ns(configured);
  const char* text = std::getenv("FERMATA_STALL_SECONDS");
  return text != nullptr ? to_ns(std::strtod(text, nullptr)) : 0;
}

// The environment wins, so that a user can try a policy on a program that chose another.
WaitKind wait_kind(int configured) {
  const char* text = std::getenv("FERMATA_WAIT");
  if (text != nullptr) {
    const char* const names[] = {"auto", "spin", "yield", "park"};
    for (int i = 0; i < 4; ++i)
      if (std::strcmp(text, names[i]) == 0) return static_cast<WaitKind>(i);
  }
  return static_cast<WaitKind>(configured);
}

struct Wanted {
  exec::PlanSlot slot;
  Kind kind;
  std::int32_t payload;
};

constexpr Wanted kWanted[exec::kPlanSlots] = {
    {exec::PlanSlot::kBarrier, Kind::kBarrier, 0},        {exec::PlanSlot::kBroadcast8, Kind::kBroadcast, 8},
    {exec::PlanSlot::kBroadcast56, Kind::kBroadcast, 56}, {exec::PlanSlot::kReduce8, Kind::kReduce, 8},
    {exec::PlanSlot::kReduce56, Kind::kReduce, 56},       {exec::PlanSlot::kAllreduce8, Kind::kAllreduce, 8},
    {exec::PlanSlot::kAllreduce56, Kind::kAllreduce, 56},
};

Result<std::vector<std::byte>> program_for(const TeamRequest& request, Wanted wanted) {
  if (wanted.kind == Kind::kBarrier && request.tagged) wanted.payload = 8;
  for (const Plan* plan : request.plans) {
    if (plan->key.kind == wanted.kind && plan->key.payload == wanted.payload) {
      if (plan->key.members == request.members) return compile(*plan);
      return Error{Status::kArgument, "a plan for " + std::to_string(plan->key.members) + " members was given to a team of " +
                                          std::to_string(request.members)};
    }
  }
  const auto machine = this_machine();
  if (!machine) return machine.error();
  PlanKey key;
  key.fingerprint = fingerprint(**machine);
  key.kind = wanted.kind;
  key.members = request.members;
  key.payload = wanted.payload;
  key.engine = request.engine;
  key.cpus = request.cpus;
  const auto plan = plan_for(key, **machine, nullptr, "", "");
  if (!plan) return plan.error();
  return compile(*plan);
}

}  // namespace

int make_team(const TeamRequest& request, fermata_team** out) {
  exec::TeamOptions options;
  options.members = static_cast<std::uint32_t>(request.members);
  options.shared = request.engine == Engine::kProcesses;
  options.tagged = request.tagged;
  options.wait = request.wait;
  options.stall_ns = request.stall_ns;
  std::vector<std::vector<std::byte>> blobs;
  for (const Wanted& wanted : kWanted) {
    auto blob = program_for(request, wanted);
    if (!blob) return fail(blob.error());
    blobs.push_back(std::move(*blob));
    options.programs[static_cast<int>(wanted.slot)] = blobs.back().data();
  }
  auto handle = std::make_unique<fermata_team>();
  handle->cpus = request.cpus;
  handle->engine = request.engine;
  const char* detail = "";
  const Status status = exec::Team::create(options, &handle->team, &detail);
  if (status != Status::kOk) return fail(status, "%s", detail);
  *out = handle.release();
  return FERMATA_OK;
}

namespace {

int join(fermata_team* team, int rank, bool owns, fermata_member** out) {
  auto handle = std::make_unique<fermata_member>();
  const char* detail = "";
  const Status status = exec::Member::join(team->team, static_cast<std::uint32_t>(rank), &handle->member, &detail);
  if (status != Status::kOk) return fail(status, "rank %d: %s", rank, detail);
  handle->origin = team;
  handle->team = owns ? team : nullptr;
  *out = handle.release();
  return FERMATA_OK;
}

// One member's part of a split, as it stands in its status line.
struct Part {
  std::int32_t colour;
  std::int32_t key;
  std::uint32_t rank;
};

std::uint64_t pack(std::int32_t colour, std::int32_t key) {
  return std::uint64_t{static_cast<std::uint32_t>(colour)} << 32 | static_cast<std::uint32_t>(key);
}

// The members of my colour in the order of the new ranks. Reads all status lines between two barriers.
std::vector<Part> parts_of(const exec::Team& team, std::int32_t colour) {
  std::vector<Part> parts;
  for (std::uint32_t r = 0; r < team.members(); ++r) {
    // order: relaxed: the barrier between writing and reading orders it
    const std::uint64_t v = team.status(r).scratch.load(std::memory_order_relaxed);
    const Part part{static_cast<std::int32_t>(v >> 32), static_cast<std::int32_t>(v & 0xffffffffu), r};
    if (part.colour == colour) parts.push_back(part);
  }
  std::sort(parts.begin(), parts.end(),
            [](const Part& a, const Part& b) { return a.key != b.key ? a.key < b.key : a.rank < b.rank; });
  return parts;
}

// Threads: the leader publishes the handle in its status line, and all hold a reference of it.
int share_between_threads(fermata_member* member, const TeamRequest& request, const std::vector<Part>& parts, std::uint32_t mine,
                          fermata_team** team) {
  exec::Team& parent = member->member->team();
  fermata_team* made = nullptr;
  int rc = FERMATA_OK;
  if (mine == 0) {
    rc = make_team(request, &made);
    // order: relaxed: the barrier that follows orders it; 1 says that it failed
    parent.status(parts[0].rank).handoff.store(rc == FERMATA_OK ? reinterpret_cast<std::uint64_t>(made) : 1,
                                               std::memory_order_relaxed);
  }
  const int met = fermata_barrier(member);
  if (met != FERMATA_OK) return met;
  // order: relaxed: after the barrier
  const std::uint64_t offered = parent.status(parts[0].rank).handoff.load(std::memory_order_relaxed);
  if (offered == 1) return rc != FERMATA_OK ? rc : fail(Status::kMemory, "the leader could not make the sub-team");
  const auto* original = reinterpret_cast<const fermata_team*>(offered);
  if (mine == 0) {
    *team = made;
    return FERMATA_OK;
  }
  *team = new fermata_team(*original);
  (*team)->team->retain();
  return FERMATA_OK;
}

// Processes: the leader passes the segment's descriptor through an abstract socket whose name nobody else has.
int share_between_processes(fermata_member* member, const TeamRequest& request, const std::vector<Part>& parts,
                            std::uint32_t mine, fermata_team** team) {
  char name[80];
  std::snprintf(name, sizeof name, "split.%u.%u.%d.%llu",
                member->member->team().status(parts[0].rank).process.load(std::memory_order_relaxed),  // order: set at join
                member->splits, parts[0].colour,
                static_cast<unsigned long long>(member->member->team().header().hash));
  constexpr double kSeconds = 30;
  if (mine != 0) return fermata_team_attach(name, kSeconds, team);
  const int rc = make_team(request, team);
  if (rc != FERMATA_OK || parts.size() == 1) return rc;
  return fermata_team_serve(*team, name, static_cast<int>(parts.size()) - 1, kSeconds);
}

int split(fermata_member* member, int colour, int key, fermata_member** out) {
  exec::Member& m = *member->member;
  exec::Team& parent = m.team();
  // order: relaxed: the barrier orders it
  parent.status(m.rank()).scratch.store(pack(colour < 0 ? -1 : colour, key), std::memory_order_relaxed);
  ++member->splits;
  int rc = fermata_barrier(member);
  if (rc != FERMATA_OK) return rc;
  fermata_member* made = nullptr;
  const auto parts = parts_of(parent, colour);
  std::uint32_t mine = 0;
  while (mine < parts.size() && parts[mine].rank != m.rank()) ++mine;
  fermata_team* team = nullptr;
  TeamRequest request;
  request.members = static_cast<std::int32_t>(parts.size());
  request.engine = parent.shared() ? Engine::kProcesses : Engine::kThreads;
  request.tagged = parent.header().tagged != 0;
  request.wait = parent.wait();
  request.stall_ns = parent.stall_ns();
  if (!member->origin->cpus.empty())
    for (const Part& p : parts) request.cpus.push_back(member->origin->cpus[p.rank]);
  int shared = FERMATA_OK;
  if (colour < 0) {
    if (!parent.shared()) rc = fermata_barrier(member);
  } else if (parent.shared()) {
    shared = share_between_processes(member, request, parts, mine, &team);
  } else {
    shared = share_between_threads(member, request, parts, mine, &team);
  }
  if (shared == FERMATA_OK && team != nullptr) {
    team->cpus = request.cpus;
    shared = join(team, static_cast<int>(mine), true, &made);
    if (shared != FERMATA_OK) fermata_team_destroy(team);
  }
  // Nobody goes on before all have read the status lines and taken the hand-off.
  rc = fermata_barrier(member);
  if (rc != FERMATA_OK || shared != FERMATA_OK) return rc != FERMATA_OK ? rc : shared;
  *out = made;
  return FERMATA_OK;
}

int check(const fermata_team_config& c) {
  if (c.size != sizeof c) return fail(Status::kArgument, "config.size: use FERMATA_TEAM_CONFIG_INIT");
  if (c.members < 1 || c.members > static_cast<int>(kMaxMembers))
    return fail(Status::kArgument, "members must be 1..4096, not %d", c.members);
  if (c.engine != FERMATA_THREADS && c.engine != FERMATA_PROCESSES)
    return fail(Status::kArgument, "engine %d is none of fermata_engine", c.engine);
  if (c.wait < FERMATA_WAIT_AUTO || c.wait > FERMATA_WAIT_PARK)
    return fail(Status::kArgument, "wait %d is none of fermata_wait", c.wait);
  if (c.plan_count > 0 && c.plans == nullptr) return fail(Status::kArgument, "plans is NULL but plan_count is not 0");
  return FERMATA_OK;
}

int call_hook(void* context) {
  auto* member = static_cast<fermata_member*>(context);
  return member->hook(member, member->hook_user);
}

}  // namespace
}  // namespace fermata::api

extern "C" {

int fermata_team_create(const fermata_team_config* config, fermata_team** out) {
  if (config == nullptr || out == nullptr) return fail(Status::kArgument, "%s", kNullHandle);
  const int checked = check(*config);
  if (checked != FERMATA_OK) return checked;
  return guarded([&] {
    TeamRequest request;
    request.members = config->members;
    request.engine = static_cast<Engine>(config->engine);
    request.tagged = config->tagged != 0;
    request.wait = wait_kind(config->wait);
    request.stall_ns = stall_ns(config->stall_seconds);
    if (config->cpus != nullptr) request.cpus.assign(config->cpus, config->cpus + config->members);
    for (size_t i = 0; i < config->plan_count; ++i) {
      if (config->plans[i] == nullptr) return fail(Status::kArgument, "%s", kNullHandle);
      request.plans.push_back(&config->plans[i]->value);
    }
    return make_team(request, out);
  });
}

void fermata_team_destroy(fermata_team* team) {
  if (team == nullptr) return;
  team->team->release();
  delete team;
}

int fermata_team_size(const fermata_team* team) {
  if (team == nullptr) return fail(Status::kArgument, "%s", kNullHandle);
  return static_cast<int>(team->team->members());
}

int fermata_team_serve(fermata_team* team, const char* name, int count, double seconds) {
  if (team == nullptr || name == nullptr) return fail(Status::kArgument, "%s", kNullHandle);
  if (count < 1) return fail(Status::kArgument, "count must be at least 1");
  if (!team->team->shared()) return fail(Status::kArgument, "a team of threads cannot be served: use FERMATA_PROCESSES");
  const Status status = os::serve_fd(name, team->team->fd(), count, to_ns(seconds));
  return status == Status::kOk ? FERMATA_OK
                               : fail(status, "serving the team as '%s': %s", name,
                                      fermata_status_string(static_cast<int>(status)));
}

int fermata_team_attach(const char* name, double seconds, fermata_team** out) {
  if (name == nullptr || out == nullptr) return fail(Status::kArgument, "%s", kNullHandle);
  return guarded([&] {
    std::int32_t fd = -1;
    Status status = os::receive_fd(name, to_ns(seconds), &fd);
    if (status != Status::kOk) return fail(status, "no team was offered as '%s' in %.1f s", name, seconds);
    auto handle = std::make_unique<fermata_team>();
    handle->engine = Engine::kProcesses;
    const char* detail = "";
    status = exec::Team::attach(fd, wait_kind(FERMATA_WAIT_AUTO), stall_ns(0), &handle->team, &detail);
    if (status != Status::kOk) return fail(status, "%s", detail);
    *out = handle.release();
    return static_cast<int>(FERMATA_OK);
  });
}

int fermata_team_join(fermata_team* team, int rank, fermata_member** out) {
  if (team == nullptr || out == nullptr) return fail(Status::kArgument, "%s", kNullHandle);
  if (rank < 0) return fail(Status::kArgument, "rank %d is negative", rank);
  return guarded([&] { return join(team, rank, false, out); });
}

void fermata_member_leave(fermata_member* member) {
  if (member == nullptr) return;
  member->member->leave();
  fermata_team_destroy(member->team);
  delete member;
}

void fermata_team_abort(fermata_team* team) {
  if (team != nullptr) team->team->break_with(Status::kBroken, UINT32_MAX);
}

int fermata_team_split(fermata_member* member, int colour, int key, fermata_member** out) {
  if (member == nullptr || out == nullptr) return fail(Status::kArgument, "%s", kNullHandle);
  return guarded([&] { return split(member, colour, key, out); });
}

int fermata_member_rank(const fermata_member* member) {
  if (member == nullptr) return fail(Status::kArgument, "%s", kNullHandle);
  return static_cast<int>(member->member->rank());
}

int fermata_member_count(const fermata_member* member) {
  if (member == nullptr) return fail(Status::kArgument, "%s", kNullHandle);
  return static_cast<int>(member->member->team().members());
}

int fermata_member_set_timeout(fermata_member* member, double seconds) {
  if (member == nullptr) return fail(Status::kArgument, "%s", kNullHandle);
  if (std::isnan(seconds)) return fail(Status::kArgument, "seconds is not a number");
  member->member->set_timeout(to_ns(seconds));
  return FERMATA_OK;
}

int fermata_member_set_idle_hook(fermata_member* member, fermata_idle_hook hook, void* user) {
  if (member == nullptr) return fail(Status::kArgument, "%s", kNullHandle);
  member->hook = hook;
  member->hook_user = user;
  member->member->set_idle_hook(hook != nullptr ? call_hook : nullptr, member);
  return FERMATA_OK;
}

int fermata_team_report(const fermata_team* team, char* buffer, size_t* length) {
  if (team == nullptr || length == nullptr) return fail(Status::kArgument, "%s", kNullHandle);
  *length = exec::report(*team->team, buffer, buffer != nullptr ? *length : 0);
  return FERMATA_OK;
}

int fermata_pin(int cpu) {
  const Status status = os::pin_thread(cpu);
  return status == Status::kOk ? FERMATA_OK : fail(status, "CPU %d is not among those that this process may use", cpu);
}

}  // extern "C"
