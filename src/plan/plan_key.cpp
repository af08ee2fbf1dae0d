// What a plan is asked for, checked; and whether a plan may run at all.
#include <string>

#include "exec/program.hpp"
#include "plan/line_search.hpp"
#include "plan/reuse.hpp"
#include "schedule/verify.hpp"

namespace fermata {
namespace {

Error argument(const std::string& why) { return Error{Status::kArgument, why}; }

}  // namespace

Result<PlanKey> normalised(PlanKey key, const Topology& topology) {
  if (key.members < 1 || key.members > static_cast<std::int32_t>(kMaxMembers))
    return argument("members must be 1.." + std::to_string(kMaxMembers) + ", not " +
                    std::to_string(key.members));
  if (const std::string flaw = placement_flaw(key); !flaw.empty()) return argument(flaw);
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

std::string placement_flaw(const PlanKey& key) {
  const auto wrong = [&](const std::vector<std::int32_t>& list) {
    return !list.empty() && list.size() != static_cast<std::size_t>(key.members);
  };
  const std::string members = " for " + std::to_string(key.members) + " members";
  if (wrong(key.cpus)) return std::to_string(key.cpus.size()) + " CPUs" + members;
  if (wrong(key.hosts)) return std::to_string(key.hosts.size()) + " hosts" + members;
  return {};
}

std::int32_t payload_class(Collective collective, std::int32_t bytes) {
  if (bytes <= 0 && collective == Collective::kBarrier) return 0;
  return bytes <= 8 ? 8 : static_cast<std::int32_t>(kLinePayload);
}

OpTraits algebra_of(Collective collective) {
  return folds(collective) ? OpTraits{.associative = false, .commutative = true, .idempotent = false}
                           : OpTraits{};
}

std::string prove(const Schedule& schedule) {
  const auto proof = verify(schedule, algebra_of(schedule.collective));
  return proof ? "" : proof.error().message;
}

std::string prove(const Plan& plan) {
  const Schedule& s = plan.schedule;
  if (std::string flaw = prove(s); !flaw.empty()) return flaw;
  if (plan.key.payload > 0 && !s.words.empty()) return "words carry no data";
  return flaw_of_reuse(s, plan.layout, reuse_hazards(s, plan.layout, plan.key.payload > 0),
                       plan.credit_batch);
}

}  // namespace fermata
