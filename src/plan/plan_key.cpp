// What a plan is asked for, checked; and whether a plan may run at all.
#include <string>

#include "exec/program.hpp"
#include "plan/reuse.hpp"
#include "plan/search.hpp"
#include "schedule/verify.hpp"

namespace fermata {
namespace {

Error argument(const std::string& why) { return Error{Status::kArgument, why}; }

}  // namespace

Result<PlanKey> normalised(PlanKey key, const Topology& topology) {
  if (key.members < 1 || key.members > static_cast<std::int32_t>(kMaxMembers))
    return argument("members must be 1.." + std::to_string(kMaxMembers) + ", not " +
                    std::to_string(key.members));
  if (!key.cpus.empty() && key.cpus.size() != static_cast<std::size_t>(key.members))
    return argument(std::to_string(key.cpus.size()) + " CPUs for " + std::to_string(key.members) +
                    " members");
  if (!key.hosts.empty() && key.hosts.size() != static_cast<std::size_t>(key.members))
    return argument(std::to_string(key.hosts.size()) + " hosts for " + std::to_string(key.members) +
                    " members");
  if (!rides_on_a_line(key.collective))
    return Error{Status::kUnsupported,
                 std::string("there are schedules for ") + name_of(key.collective) + ", but no plans"};
  if (key.payload < 0 || key.payload > static_cast<std::int32_t>(kLinePayload))
    return argument("payload must be 0.." + std::to_string(kLinePayload) + " bytes");
  const std::string own = fingerprint(topology);
  if (key.fingerprint.empty()) key.fingerprint = own;
  if (key.fingerprint != own) return argument("the key's fingerprint belongs to another machine");
  key.payload = payload_class(key.collective, key.payload);
  return key;
}

std::int32_t payload_class(Collective collective, std::int32_t bytes) {
  if (bytes <= 0 && collective == Collective::kBarrier) return 0;
  return bytes <= 8 ? 8 : static_cast<std::int32_t>(kLinePayload);
}

std::string prove(const Plan& plan) {
  const Schedule& s = plan.schedule;
  if (const auto proof = verify(s, algebra_of(s.collective)); !proof) return proof.error().message;
  if (plan.key.payload > 0 && !s.words.empty()) return "words carry no data";
  return flaw_of_reuse(s, plan.layout, reuse_hazards(s, plan.layout, plan.key.payload > 0),
                       plan.credit_batch);
}

}  // namespace fermata
