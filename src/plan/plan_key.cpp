// What a plan is asked for, checked; and whether a plan may run at all.
#include <bit>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "exec/program.hpp"
#include "plan/line_programs.hpp"
#include "plan/line_search.hpp"
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

void take_hosts(PlanKey& key, const Topology& topology) {
  if (!key.hosts.empty() || key.cpus.size() != static_cast<std::size_t>(key.members)) return;
  std::map<std::int32_t, std::int32_t> number;  // by the topology's number of the host
  std::vector<std::int32_t> hosts;
  for (const std::int32_t cpu : key.cpus) {
    const Cpu* const found = topology.find(cpu);
    if (found == nullptr) return;
    hosts.push_back(number.try_emplace(found->host, static_cast<std::int32_t>(number.size())).first->second);
  }
  if (number.size() < 2) return;
  key.hosts = std::move(hosts);
  key.engine = Engine::kProcesses;
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
  if (collective == Collective::kBarrier) return bytes <= 0 ? 0 : 8;
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

std::string flaw_of_reuse(const Schedule& schedule, const Layouts& layouts,
                          const std::vector<Hazard>& hazards, std::int32_t credit_batch) {
  if (credit_batch > layouts.least_slots()) return "credit_batch is larger than the number of slots";
  if (credit_batch > 0 && !std::has_single_bit(static_cast<unsigned>(credit_batch)))
    return "credit_batch must be a power of two";
  for (const Hazard& h : hazards) {
    const std::string stage = "stage " + std::to_string(h.stage);
    const Transfer& x =
        schedule.stages[static_cast<std::size_t>(h.stage)].transfers[static_cast<std::size_t>(h.transfer)];
    if (schedule.is_word(x.to))
      return stage + " may signal word " + std::to_string(schedule.word_of(x.to)) +
             " before its previous episode is complete, which no credit prevents";
    if (credit_batch > 0) continue;
    const std::int32_t slots = layouts.at(static_cast<std::size_t>(h.stage)).slots;
    return stage + " overwrites a slot before it is read, with " +
           counted(static_cast<std::size_t>(slots), "slot") + " per edge";
  }
  return {};
}

std::string prove(const Plan& plan) {
  const Schedule& s = plan.schedule;
  if (std::string flaw = prove(s); !flaw.empty()) return flaw;
  if (plan.key.payload > 0 && !s.words.empty()) return "words carry no data";
  return flaw_of_reuse(s, plan.layout, reuse_hazards(s, plan.layout, plan.key.payload > 0),
                       plan.credit_batch);
}

}  // namespace fermata
