#include "team/team.hpp"

#include <memory>

#include "os/os.hpp"
#include "plan/block_knowledge.hpp"
#include "team/refresh.hpp"

namespace fermata::team {

int check_team(const fermata_team* team) {
  if (team == nullptr) return null_handle();
  return serial_of(team) != 0 ? FERMATA_OK : fail(Status::kArgument, "the team was destroyed");
}

namespace {

// Writes a handle on the team that make(&team, &detail) makes.
template <class Make>
int make_handle(Make&& make, fermata_team** out) {
  auto handle = std::make_unique<fermata_team>();
  const char* detail = "";
  const Status status = make(&handle->team, &detail);
  if (status != Status::kOk) return fail(status, "%s", detail);
  *out = handle.release();
  return FERMATA_OK;
}

}  // namespace

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
  return make_handle(
      [&](exec::Team** team, const char** detail) { return exec::Team::create(options, team, detail); }, out);
}

int serve(const fermata_team& team, const char* name, int count, std::int64_t within_ns) {
  const Status status = os::serve_fd(name, team.team->segment().memory().fd(), count, within_ns);
  switch (status) {
    case Status::kOk: return FERMATA_OK;
    case Status::kTimeout:
      return fail(status, "the team '%s' was attached fewer than %d times in %.1f s", name, count,
                  static_cast<double>(within_ns) * 1e-9);
    case Status::kBusy:
      return fail(status, "the name '%s' is taken: serve the team under another name", name);
    default: return fail(status, "serving the team as '%s': %s", name, text_of(status));
  }
}

int attach(const char* name, std::int64_t within_ns, const WaitKind* wait, std::int64_t stall_ns,
           fermata_team** out) {
  std::int32_t fd = -1;
  const char* why = "";
  const Status status = os::receive_fd(name, within_ns, &fd, &why);
  if (status == Status::kTimeout)
    return fail(status, "no team was offered as '%s' in %.1f s: %s", name,
                static_cast<double>(within_ns) * 1e-9, why);
  if (status != Status::kOk) return fail(status, "the team '%s' cannot be attached to: %s", name, why);
  return make_handle(
      [&](exec::Team** team, const char** detail) {
        return exec::Team::attach(fd, wait, stall_ns, team, detail);
      },
      out);
}

int attach_within(exec::Team& neighbour, std::uint64_t place, const WaitKind* wait, std::int64_t stall_ns,
                  fermata_team** out) {
  return make_handle(
      [&](exec::Team** team, const char** detail) {
        return exec::Team::attach_within(neighbour, place, wait, stall_ns, team, detail);
      },
      out);
}

void destroy(fermata_team* team) {
  if (serial_of(team) == 0) return;
  exec::Team* moved = moved_to<RealAtomics>(team->moved);
  if (moved != nullptr) moved->release();
  for (exec::Team* const before : team->moved_before) before->release();
  team->team->release();
  delete team;
}

std::vector<std::int32_t> cpus_of(const exec::Team& team) {
  constexpr std::uint32_t kMostCpu = 65536;
  std::vector<std::int32_t> cpus;
  for (std::uint32_t r = 0; r < team.members(); ++r) {
    const std::uint32_t cpu = team.status(r).cpu;
    if (cpu == 0 || cpu > kMostCpu) return {};
    cpus.push_back(static_cast<std::int32_t>(cpu) - 1);
  }
  return cpus;
}

std::uint64_t hash_of_team(const exec::Team& team) {
  const exec::TeamLayout& layout = team.layout();
  const auto* model = reinterpret_cast<const char*>(team.base() + layout.model);
  return exec::with_plan(layout.hash, hash_of({model, layout.model_bytes}));
}

namespace {

// Joins as the lowest rank of this host that no member has joined yet.
Status join_any(exec::Team* team, exec::Member** out, const char** detail) {
  *detail = "all ranks of the team are taken";
  Status status = Status::kBusy;
  for (std::uint32_t r = 0; r < team->members() && status == Status::kBusy; ++r)
    if (!team->hosts().is_away(r) && team->is_free(r)) status = exec::Member::join(team, r, out, detail);
  return status;
}

}  // namespace

int join(fermata_team* team, int rank, bool owns, fermata_member** out) {
  auto handle = std::make_unique<fermata_member>();
  const bool reviewed = is_reviewed(*team->team);
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
  if (reviewed) handle->member->log().set_review(kFirstReview);
  if (refreshes(handle.get())) handle->member->log().set_review(kFirstRefresh);
  // The plans have the poll interval that was best when they were timed. CPUs of a virtual machine move
  // together and apart.
  joined->find_poll_interval();
  *out = handle.release();
  return FERMATA_OK;
}

void leave(fermata_member* member) {
  if (member == nullptr) return;
  member->member->leave();
  destroy(member->team);
  delete member;
}

}  // namespace fermata::team
