// Teams over several hosts behind the C ABI.
#include "fermata/hosts.h"

#include <cstddef>
#include <numeric>
#include <type_traits>

#include "api/handles.hpp"
#include "net/net.hpp"
#include "plan/block_model.hpp"
#include "plan/block_plan.hpp"
#include "plan/hosts.hpp"

using namespace fermata;
using namespace fermata::api;

// The public structs are the contract's, field by field.
static_assert(sizeof(fermata_line) == sizeof(net::Line) && offsetof(fermata_line, header) == offsetof(net::Line, header) &&
              offsetof(fermata_line, to) == offsetof(net::Line, to) && offsetof(fermata_line, words) == offsetof(net::Line, words) &&
              offsetof(fermata_line, branch) == offsetof(net::Line, branch) && offsetof(fermata_line, rank) == offsetof(net::Line, rank) &&
              offsetof(fermata_line, payload) == offsetof(net::Line, payload));
static_assert(sizeof(fermata_block) == sizeof(net::Block) && offsetof(fermata_block, bytes) == offsetof(net::Block, bytes) &&
              offsetof(fermata_block, from) == offsetof(net::Block, from) && FERMATA_MOST_BLOCK == net::kMostBlock);
static_assert(sizeof(fermata_window) == sizeof(net::Window) && offsetof(fermata_window, bytes) == offsetof(net::Window, bytes) &&
              offsetof(fermata_window, land) == offsetof(net::Window, land) &&
              offsetof(fermata_window, team) == offsetof(net::Window, team));
static_assert(sizeof(fermata_port) == sizeof(net::Port) && offsetof(fermata_port, self) == offsetof(net::Port, self) &&
              offsetof(fermata_port, open) == offsetof(net::Port, open) && offsetof(fermata_port, write) == offsetof(net::Port, write) &&
              offsetof(fermata_port, progress) == offsetof(net::Port, progress) &&
              offsetof(fermata_port, is_gone) == offsetof(net::Port, is_gone) &&
              offsetof(fermata_port, flush) == offsetof(net::Port, flush) &&
              offsetof(fermata_port, close) == offsetof(net::Port, close));

namespace fermata::api {
namespace {

// A CPU for each rank, as in topology_of_hosts.
PlanKey placed(PlanKey key, const Topology& topology, const std::vector<std::int32_t>& hosts) {
  key.fingerprint = fingerprint(topology);
  key.hosts = hosts;
  key.cpus.resize(hosts.size());
  std::iota(key.cpus.begin(), key.cpus.end(), 0);
  return key;
}

}  // namespace

std::vector<std::byte> block_knowledge_over_hosts(const TeamRequest& request) {
  const Topology topology = topology_of_hosts(request.hosts);
  PlanKey wanted;
  wanted.members = request.members;
  wanted.engine = request.engine;
  const PlanKey key = placed(wanted, topology, request.hosts);
  return pack(block_costs(profile_of_hosts(topology), topology, key), known_choices(key));
}

Result<Plan> plan_over_hosts(const PlanKey& wanted, const std::vector<std::int32_t>& hosts) {
  const Topology topology = topology_of_hosts(hosts);
  PlanOptions options;
  options.key = placed(wanted, topology, hosts);
  if (auto cached = load_plan(options.key)) return cached;
  return make_plan(topology, profile_of_hosts(topology), options, nullptr);
}

}  // namespace fermata::api

extern "C" {

int fermata_team_create_hosts(const fermata_team_config* config, const int* hosts, int host, fermata_team** out) {
  if (config == nullptr || hosts == nullptr || out == nullptr) return fail(Status::kArgument, "%s", kNullHandle);
  return guarded([&] {
    TeamRequest request;
    if (const int bad = request_of(*config, request); bad != FERMATA_OK) return bad;
    request.cpus.clear();
    request.hosts.assign(hosts, hosts + config->members);
    request.host = host;
    bool here = false;
    for (const std::int32_t h : request.hosts) {
      if (h < 0 || h >= config->members) return fail(Status::kArgument, "hosts are numbers from 0 to members - 1, not %d", h);
      here = here || h == host;
    }
    if (!here) return fail(Status::kArgument, "no rank is on host %d", host);
    return make_team(request, out);
  });
}

int fermata_team_connect(fermata_team* team, const fermata_port* port) {
  if (port == nullptr) return fail(Status::kArgument, "%s", kNullHandle);
  if (const int bad = fermata_team_size(team); bad < 0) return bad;
  const char* detail = "";
  const Status status = team->team->connect(reinterpret_cast<const net::Port&>(*port), &detail);
  return status == Status::kOk ? FERMATA_OK : fail(status, "%s", detail);
}

int fermata_team_hash(const fermata_team* team, uint64_t* hash) {
  if (hash == nullptr) return fail(Status::kArgument, "%s", kNullHandle);
  if (const int bad = fermata_team_size(team); bad < 0) return bad;
  const exec::TeamHeader& header = team->team->header();
  const auto* model = reinterpret_cast<const char*>(team->team->base() + header.model);
  *hash = exec::with_plan(header.hash, hash_of({model, header.model_bytes}));
  return FERMATA_OK;
}

}  // extern "C"
