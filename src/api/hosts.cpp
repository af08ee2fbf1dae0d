// Teams over several hosts behind the C ABI.
#include "fermata/hosts.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "api/calls.hpp"
#include "net/net.hpp"
#include "os/os.hpp"

using namespace fermata;
using namespace fermata::api;
using namespace fermata::team;

// The public structs have the same fields as those of net/net.hpp.
static_assert(sizeof(fermata_line) == sizeof(net::Line) &&
              offsetof(fermata_line, header) == offsetof(net::Line, header) &&
              offsetof(fermata_line, to) == offsetof(net::Line, to) &&
              offsetof(fermata_line, words) == offsetof(net::Line, words) &&
              offsetof(fermata_line, from) == offsetof(net::Line, from) &&
              offsetof(fermata_line, sent_ns) == offsetof(net::Line, sent_ns) &&
              offsetof(fermata_line, subteam) == offsetof(net::Line, subteam) &&
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
              offsetof(fermata_port, close) == offsetof(net::Port, close) &&
              offsetof(fermata_port, send_long) == offsetof(net::Port, send_long) &&
              offsetof(fermata_port, receive_long) == offsetof(net::Port, receive_long) &&
              offsetof(fermata_port, is_over) == offsetof(net::Port, is_over) &&
              offsetof(fermata_port, end_long) == offsetof(net::Port, end_long));

namespace fermata::api {
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
  if (cpus != nullptr) request.cpus.assign(cpus, cpus + config.members);
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
  if (const int bad = check_team(team); bad != FERMATA_OK) return bad;
  const char* detail = "";
  const Status status = team->team->port().connect(reinterpret_cast<const net::Port&>(*port), &detail);
  return status == Status::kOk ? FERMATA_OK : fail(status, "%s", detail);
}

int fermata_team_hash(const fermata_team* team, uint64_t* hash) {
  if (hash == nullptr) return null_handle();
  if (const int bad = check_team(team); bad != FERMATA_OK) return bad;
  *hash = hash_of_team(*team->team);
  return FERMATA_OK;
}

}  // extern "C"
