// Teams over several hosts in the C ABI.
#include "fermata/hosts.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <type_traits>

#include "api/handles.hpp"
#include "exec/program.hpp"
#include "net/net.hpp"
#include "os/os.hpp"
#include "plan/block_model.hpp"
#include "plan/block_plan.hpp"
#include "plan/hosts.hpp"

using namespace fermata;
using namespace fermata::api;

// The public structs have the same fields as those of net/net.hpp.
static_assert(sizeof(fermata_line) == sizeof(net::Line) &&
              offsetof(fermata_line, header) == offsetof(net::Line, header) &&
              offsetof(fermata_line, to) == offsetof(net::Line, to) &&
              offsetof(fermata_line, words) == offsetof(net::Line, words) &&
              offsetof(fermata_line, from) == offsetof(net::Line, from) &&
              offsetof(fermata_line, sent_ns) == offsetof(net::Line, sent_ns) &&
              offsetof(fermata_line, branch) == offsetof(net::Line, branch) &&
              offsetof(fermata_line, rank) == offsetof(net::Line, rank) &&
              offsetof(fermata_line, payload) == offsetof(net::Line, payload));
static_assert(sizeof(fermata_block) == sizeof(net::Block) &&
              offsetof(fermata_block, bytes) == offsetof(net::Block, bytes) &&
              offsetof(fermata_block, from) == offsetof(net::Block, from) &&
              FERMATA_MOST_BLOCK == net::kMostBlock);
static_assert(sizeof(fermata_window) == sizeof(net::Window) &&
              offsetof(fermata_window, bytes) == offsetof(net::Window, bytes) &&
              offsetof(fermata_window, land) == offsetof(net::Window, land) &&
              offsetof(fermata_window, team) == offsetof(net::Window, team));
static_assert(sizeof(fermata_port) == sizeof(net::Port) &&
              offsetof(fermata_port, self) == offsetof(net::Port, self) &&
              offsetof(fermata_port, open) == offsetof(net::Port, open) &&
              offsetof(fermata_port, write) == offsetof(net::Port, write) &&
              offsetof(fermata_port, progress) == offsetof(net::Port, progress) &&
              offsetof(fermata_port, is_gone) == offsetof(net::Port, is_gone) &&
              offsetof(fermata_port, flush) == offsetof(net::Port, flush) &&
              offsetof(fermata_port, close) == offsetof(net::Port, close));

namespace fermata::api {
namespace {

// Each rank has a CPU of its own, as in topology_of_hosts().
PlanKey placed(PlanKey key, const Topology& topology, const std::vector<std::int32_t>& hosts) {
  key.fingerprint = fingerprint(topology);
  key.hosts = hosts;
  key.cpus.resize(hosts.size());
  std::iota(key.cpus.begin(), key.cpus.end(), 0);
  return key;
}

}  // namespace

HostPlans::HostPlans(const TeamRequest& request)
    : hosts_(request.hosts), reproducible_(request.reproducible) {
  const Allocation team = {request.hosts, request.names, request.pinned};
  topology_ = topology_of(team);
  Profile profile = profile_of(team, topology_);
  if (request.refresh_seconds > 0) {
    // A refresh reads the profile as JSON from the segment (api/refresh.hpp). This profile must equal the one
    // that is read there, so that both give the same plans.
    profile.hosts = request.names;
    profile.pinned.assign(request.names.empty() ? 0 : request.hosts.size(), -1);
    if (auto again = profile_from_json(to_json(profile))) profile = std::move(*again);
  }
  profile_ = std::make_shared<const Profile>(std::move(profile));
}

HostPlans::HostPlans(const TeamRequest& request, Profile profile)
    : hosts_(request.hosts),
      reproducible_(request.reproducible),
      topology_(profile.topology),
      profile_(std::make_shared<const Profile>(std::move(profile))) {}

Result<Plan> HostPlans::plan(const PlanKey& wanted) const {
  PlanOptions options;
  options.key = placed(wanted, topology_, hosts_);
  if (reproducible_) options.algorithm = fixed_algorithm(wanted);
  if (options.algorithm.empty())
    if (auto cached = load_plan(options.key)) return cached;
  return make_plan(topology_, *profile_, options, nullptr);
}

Result<std::vector<std::byte>> HostPlans::program(const PlanKey& wanted) const {
  return program_for(placed(wanted, topology_, hosts_), topology_, profile_,
                     reproducible_ ? fixed_algorithm(wanted) : "");
}

std::vector<std::byte> HostPlans::block_knowledge(const TeamRequest& request) const {
  PlanKey wanted;
  wanted.members = request.members;
  wanted.engine = request.engine;
  const PlanKey key = placed(wanted, topology_, hosts_);
  return pack(block_costs(*profile_, topology_, key), known_choices(key));
}

namespace {

// The host that plans sends this header to the others. The programs follow, then the costs for blocks, then
// the data with which refreshes start.
struct PlansHeader {
  std::array<std::uint64_t, exec::kPlanSlots + 2> lengths;  // of each part
  // 1: members fold in fixed orders, whatever their environment is.
  std::uint64_t reproducible;
  std::uint64_t rest;  // hash of the other parts; programs have their own
};

std::uint64_t hash_of_rest(const std::vector<std::byte>& blocks, const std::vector<std::byte>& refresh) {
  const auto text = [](const std::vector<std::byte>& v) {
    return std::string_view(reinterpret_cast<const char*>(v.data()), v.size());
  };
  return exec::with_plan(hash_of(text(blocks)), hash_of(text(refresh)));
}

}  // namespace

Result<TeamPlans> plans_from(const TeamRequest& request) {
  const Error bad{Status::kArgument, "the plans are damaged, or were made for another team"};
  PlansHeader header;
  const auto* bytes = static_cast<const std::byte*>(request.programs);
  if (request.programs_bytes < sizeof header) return bad;
  std::memcpy(&header, bytes, sizeof header);
  if (header.reproducible > 1) return bad;
  std::size_t at = sizeof header;
  TeamPlans plans;
  plans.reproducible = header.reproducible == 1;
  for (std::size_t i = 0; i < header.lengths.size(); ++i) {
    const std::uint64_t length = header.lengths[i];
    if (length > request.programs_bytes - at) return bad;
    std::vector<std::byte> part(bytes + at, bytes + at + length);  // a copy, so that it is aligned
    at += length;
    if (i >= exec::kPlanSlots) {
      (i == exec::kPlanSlots ? plans.blocks : plans.refresh) = std::move(part);
      continue;
    }
    if (length < sizeof(ProgramHeader) || !program_is_sound(part.data(), length)) return bad;
    const auto& program = *reinterpret_cast<const ProgramHeader*>(part.data());
    if (program.members != static_cast<std::uint32_t>(request.members) ||
        program.hash != program_hash(program))
      return bad;
    plans.programs.push_back(std::move(part));
  }
  BlockKnowledge known;
  const bool whole = at == request.programs_bytes && hash_of_rest(plans.blocks, plans.refresh) == header.rest;
  if (!whole || !unpack(plans.blocks, request.members, &known)) return bad;
  return plans;
}

std::vector<std::byte> packed(const TeamPlans& plans) {
  PlansHeader header{};
  std::vector<std::byte> out(sizeof header);
  std::size_t parts = 0;
  const auto add = [&](const std::vector<std::byte>& part) {
    header.lengths[parts++] = part.size();
    out.insert(out.end(), part.begin(), part.end());
  };
  for (const std::vector<std::byte>& program : plans.programs) add(program);
  add(plans.blocks);
  add(plans.refresh);
  header.reproducible = plans.reproducible ? 1 : 0;
  header.rest = hash_of_rest(plans.blocks, plans.refresh);
  std::memcpy(out.data(), &header, sizeof header);
  return out;
}

namespace {

// Checks what the calls for teams over hosts have in common, and fills the request.
int hosts_of_team(const fermata_team_config& config, const int* hosts, TeamRequest& request) {
  if (const int bad = request_of(config, request); bad != FERMATA_OK) return bad;
  request.cpus.clear();
  request.hosts.assign(hosts, hosts + config.members);
  for (const std::int32_t h : request.hosts)
    if (h < 0 || h >= config.members)
      return fail(Status::kArgument, "a host's number is 0 to members - 1, not %d", h);
  const auto is_first = [&](std::int32_t h) { return h == request.hosts.front(); };
  // On one host there are no links to refresh.
  if (std::all_of(request.hosts.begin(), request.hosts.end(), is_first)) request.refresh_seconds = 0;
  return FERMATA_OK;
}

int create(const fermata_team_config& config, const int* hosts, int host, const void* plans, size_t bytes,
           fermata_team** out) {
  TeamRequest request;
  if (const int bad = hosts_of_team(config, hosts, request); bad != FERMATA_OK) return bad;
  request.host = host;
  request.programs = plans;
  request.programs_bytes = bytes;
  if (std::find(request.hosts.begin(), request.hosts.end(), host) == request.hosts.end())
    return fail(Status::kArgument, "no rank is on host %d", host);
  return make_team(request, out);
}

int plan(const fermata_team_config& config, const int* hosts, const char* const* names, const int* cpus,
         void* buffer, size_t* length) {
  TeamRequest request;
  if (const int bad = hosts_of_team(config, hosts, request); bad != FERMATA_OK) return bad;
  const std::int32_t last = *std::max_element(request.hosts.begin(), request.hosts.end());
  for (std::int32_t h = 0; names != nullptr && h <= last; ++h) {
    if (names[h] == nullptr) return null_handle();
    request.names.emplace_back(names[h]);
  }
  if (cpus != nullptr) request.pinned.assign(cpus, cpus + config.members);
  const auto plans = plans_for(request);
  if (!plans) return fail(plans.error());
  const std::vector<std::byte> bytes = packed(*plans);
  const size_t room = buffer != nullptr ? *length : 0;
  *length = bytes.size();
  if (room >= bytes.size()) std::memcpy(buffer, bytes.data(), bytes.size());
  return FERMATA_OK;
}

}  // namespace
}  // namespace fermata::api

extern "C" {

uint64_t fermata_host_id(void) { return os::host_id(); }

int fermata_team_create_hosts(const fermata_team_config* config, const int* hosts, int host,
                              fermata_team** out) {
  if (config == nullptr || hosts == nullptr || out == nullptr) return null_handle();
  return guarded([&] { return create(*config, hosts, host, nullptr, 0, out); });
}

int fermata_hosts_plan(const fermata_team_config* config, const int* hosts, const char* const* names,
                       const int* cpus, void* plans, size_t* length) {
  if (config == nullptr || hosts == nullptr || length == nullptr) return null_handle();
  return guarded([&] { return plan(*config, hosts, names, cpus, plans, length); });
}

int fermata_team_create_planned(const fermata_team_config* config, const int* hosts, int host,
                                const void* plans, size_t length, fermata_team** out) {
  if (config == nullptr || hosts == nullptr || plans == nullptr || out == nullptr) return null_handle();
  return guarded([&] { return create(*config, hosts, host, plans, length, out); });
}

int fermata_team_connect(fermata_team* team, const fermata_port* port) {
  if (port == nullptr) return null_handle();
  if (const int bad = fermata_team_size(team); bad < 0) return bad;
  const char* detail = "";
  const Status status = team->team->connect(reinterpret_cast<const net::Port&>(*port), &detail);
  return status == Status::kOk ? FERMATA_OK : fail(status, "%s", detail);
}

int fermata_team_hash(const fermata_team* team, uint64_t* hash) {
  if (hash == nullptr) return null_handle();
  if (const int bad = fermata_team_size(team); bad < 0) return bad;
  const exec::TeamLayout& layout = team->team->layout();
  const auto* model = reinterpret_cast<const char*>(team->team->base() + layout.model);
  *hash = exec::with_plan(layout.hash, hash_of({model, layout.model_bytes}));
  return FERMATA_OK;
}

}  // extern "C"
