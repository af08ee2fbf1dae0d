// Teams and members behind the C ABI.
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "api/calls.hpp"
#include "api/values.hpp"
#include "exec/report.hpp"
#include "os/os.hpp"
#include "sync/wait_wanted.hpp"
#include "team/refresh.hpp"

using namespace fermata;
using namespace fermata::api;
using namespace fermata::team;

namespace fermata::api {

namespace {

std::int64_t to_ns(double seconds) {
  if (!(seconds > 0)) return 0;
  return seconds > 9e9 ? INT64_MAX / 2 : static_cast<std::int64_t>(seconds * 1e9);
}

std::int64_t stall_ns(double configured) { return configured > 0 ? to_ns(configured) : os::stall_ns(); }

// The environment wins, so that a user can try a policy on a program that chose another.
WaitKind wait_kind(int configured) { return wait_kind_or(static_cast<WaitKind>(configured)); }

int check(const fermata_team_config& c) {
  if (c.size != sizeof c) return fail(Status::kArgument, "config.size: use FERMATA_TEAM_CONFIG_INIT");
  if (c.members < 1 || c.members > static_cast<int>(kMaxTeamMembers))
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

void fermata_team_destroy(fermata_team* team) { destroy(team); }

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
  if (team->team->segment().memory().is_place())
    return fail(Status::kArgument, "this team is within another: serve that one, and attach by its place");
  return serve(*team, name, count, to_ns(seconds));
}

int fermata_team_create_within(fermata_team* neighbour, const fermata_team_config* config, uint64_t* place,
                               fermata_team** out) {
  if (config == nullptr || place == nullptr || out == nullptr) return null_handle();
  if (const int bad = check_team(neighbour); bad != FERMATA_OK) return bad;
  return guarded([&] {
    TeamRequest request;
    if (const int bad = request_of(*config, request); bad != FERMATA_OK) return bad;
    if (request.engine != Engine::kProcesses || !neighbour->team->shared())
      return fail(Status::kArgument,
                  "only teams of processes share memory in this way: use FERMATA_PROCESSES for both teams");
    request.within = neighbour->team;
    const int made = make_team(request, out);
    if (made == FERMATA_OK) *place = (*out)->team->segment().memory().place();
    return made;
  });
}

int fermata_team_attach_within(fermata_team* neighbour, uint64_t place, fermata_team** out) {
  if (out == nullptr) return null_handle();
  if (const int bad = check_team(neighbour); bad != FERMATA_OK) return bad;
  if (!neighbour->team->shared()) return fail(Status::kArgument, "a team of threads holds no other teams");
  return guarded([&] { return attach_within(*neighbour->team, place, wanted_wait(), os::stall_ns(), out); });
}

int fermata_team_attach(const char* name, double seconds, fermata_team** out) {
  if (name == nullptr || out == nullptr) return null_handle();
  return guarded([&] { return attach(name, to_ns(seconds), wanted_wait(), os::stall_ns(), out); });
}

int fermata_team_join(fermata_team* team, int rank, fermata_member** out) {
  if (out == nullptr) return null_handle();
  if (const int bad = check_team(team); bad != FERMATA_OK) return bad;
  if (rank < 0 && rank != FERMATA_ANY_RANK) return fail(Status::kArgument, "rank %d is negative", rank);
  return guarded([&] { return join(team, rank, false, out); });
}

int fermata_team_split(fermata_member* member, int colour, int key, fermata_member** out) {
  if (member == nullptr || out == nullptr) return null_handle();
  return guarded([&] { return split(member, colour, key, out); });
}

void fermata_member_leave(fermata_member* member) { leave(member); }

void fermata_team_abort(fermata_team* team) {
  if (serial_of(team) == 0) return;
  // After a refresh the members still check the team that they joined. This team stays, whereas a refresh may
  // free the current one.
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
  member->member->waiter().settings.timeout_ns = to_ns(seconds);
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
  member->member->waiter().settings.idle_sleep_ns = to_ns(seconds);
  return FERMATA_OK;
}

int fermata_member_set_bounded(fermata_member* member, int on) {
  if (member == nullptr) return null_handle();
  member->member->log().set_bounded(on != 0);
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

int fermata_team_refreshes(const fermata_team* team, uint64_t* refreshes, uint64_t* changes, char* buffer,
                           size_t* length) {
  if (const int bad = check_team(team); bad != FERMATA_OK) return bad;
  return guarded([&] {
    const RefreshLog log = log_of(*team);
    if (refreshes != nullptr) *refreshes = log.refreshes;
    if (changes != nullptr) *changes = log.changes;
    if (length == nullptr) return static_cast<int>(FERMATA_OK);
    char first[96] = "";
    if (log.refreshes != 0)
      std::snprintf(first, sizeof first, "%llu refreshes, %llu changes, %.3g ms in all\n",
                    static_cast<unsigned long long>(log.refreshes),
                    static_cast<unsigned long long>(log.changes), static_cast<double>(log.took_ns) * 1e-6);
    return copy_text(first + log.text, buffer, length);
  });
}

int fermata_pin(int cpu) {
  const Status status = os::pin_thread(cpu);
  if (status == Status::kSystem)
    return fail(status, "the system does not let this thread be pinned to CPU %d: %s", cpu,
                std::strerror(errno));
  return status == Status::kOk ? FERMATA_OK
                               : fail(status, "CPU %d is not among those that this process may use", cpu);
}

}  // extern "C"
