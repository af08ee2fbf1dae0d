// Plans over several hosts, and plans as bytes.
#include <array>
#include <cstring>
#include <numeric>
#include <string_view>
#include <utility>

#include "exec/program.hpp"
#include "plan/block_knowledge.hpp"
#include "plan/block_plan.hpp"
#include "plan/hosts.hpp"
#include "team/machine.hpp"
#include "team/plans.hpp"

namespace fermata::team {
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
  const Allocation team = {request.hosts, request.names, request.cpus};
  topology_ = topology_of(team);
  Profile profile = profile_of(team, topology_);
  if (request.refresh_seconds > 0) {
    // A refresh reads the profile as JSON from the segment (team/refresh.hpp). This profile must equal the
    // one that is read there, so that both give the same plans.
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
    const auto& program = program_header(part.data());
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

}  // namespace fermata::team
