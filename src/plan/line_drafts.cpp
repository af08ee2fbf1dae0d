// Flat candidates for plans on lines: each algorithm of the table over all members.
#include <algorithm>
#include <string>
#include <utility>

#include "algo/algorithm.hpp"
#include "plan/choices.hpp"
#include "plan/host_order.hpp"
#include "plan/level_names.hpp"
#include "plan/line_search.hpp"

namespace fermata {
namespace {

constexpr const char* kInPieces = "refused: it cuts the vector into pieces, but a line carries it whole";

Cluster everyone(std::int32_t members) {
  Cluster leaf;
  for (std::int32_t r = 0; r < members; ++r) leaf.ranks.push_back(r);
  return leaf;
}

std::string why_not(const Algorithm& algorithm, const Request& request) {
  if (!algorithm.applicable(request))
    return std::string("refused: it has no ") + name_of(request.collective) + " of this size";
  if (algorithm.cuts) return kInPieces;
  if (!serves(algorithm, request, algebra_of(request.collective)))
    return algorithm.folding(request) == Folding::kRepeated ? "refused: contributions arrive more than once"
                                                            : "refused: members fold in different orders";
  if (const char* reason = skipped(algorithm, request)) return std::string("skipped: ") + reason;
  return {};
}

std::string flaw_of_words(const Schedule& schedule, const Topology& topology, const PlanKey& key) {
  if (key.payload > 0 && !schedule.words.empty()) return "words carry no data";
  return words_join_hosts(schedule, hosts_of(topology, key)) ? "a word cannot span hosts" : "";
}

}  // namespace

std::vector<Draft> flat_drafts(const Topology& topology, const PlanKey& key,
                               std::vector<Candidate>& refused) {
  std::vector<Draft> drafts;
  for (const Algorithm& algorithm : algorithms()) {
    Request request{
        .collective = key.collective, .half = Half::kWhole, .members = key.members, .root = 0, .degree = 2};
    const std::vector<std::int32_t> degrees =
        algorithm.has_degree ? degrees_to_try(key.members) : std::vector<std::int32_t>{2};
    std::string reason;  // of the first degree that is passed over
    bool built = false;
    for (const std::int32_t degree : degrees) {
      request.degree = degree;
      const std::string why = why_not(algorithm, request);
      if (reason.empty()) reason = why;
      if (!why.empty()) continue;
      built = true;
      Schedule schedule = algorithm.build(request);
      const bool known = std::any_of(drafts.begin(), drafts.end(),
                                     [&](const Draft& d) { return same_signals(d.schedule, schedule); });
      if (const std::string flaw = flaw_of_words(schedule, topology, key); !flaw.empty()) {
        refused.push_back({schedule.algorithm, 0, 0, "refused: " + flaw});
        break;
      }
      if (!known) drafts.push_back({std::move(schedule), everyone(key.members), algorithm.name});
    }
    if (!built) refused.push_back({algorithm.name, 0, 0, reason});
  }
  return drafts;
}

Result<Draft> named_draft(const Topology& topology, const PlanKey& key, const std::string& spelled) {
  const auto name = parse_algorithm(spelled);
  if (!name) return name.error();
  const Algorithm& algorithm = *name->algorithm;
  const Request request{.collective = key.collective,
                        .half = Half::kWhole,
                        .members = key.members,
                        .root = 0,
                        .degree = name->degree};
  if (!algorithm.applicable(request))
    return Error{Status::kUnsupported, spelled + " has no " + name_of(key.collective) + " of " +
                                           std::to_string(key.members) + " members"};
  if (algorithm.cuts) return Error{Status::kUnsupported, spelled + ": " + kInPieces};
  Draft draft{algorithm.build(request), everyone(key.members), algorithm.name};
  if (const std::string flaw = flaw_of_words(draft.schedule, topology, key); !flaw.empty())
    return Error{Status::kUnsupported, spelled + ": " + flaw};
  return draft;
}

Result<Draft> given_draft(const Topology& topology, const PlanKey& key, const Schedule& schedule) {
  const auto refuse = [](const std::string& why) { return Error{Status::kArgument, "the schedule " + why}; };
  if (schedule.collective != key.collective)
    return refuse(std::string("is of a ") + name_of(schedule.collective) + ", not of a " +
                  name_of(key.collective));
  if (schedule.members != key.members)
    return refuse("has " + std::to_string(schedule.members) + " members, not " + std::to_string(key.members));
  if (schedule.chunks > 1) return Error{Status::kUnsupported, std::string("the schedule: ") + kInPieces};
  if (schedule.root != 0) return refuse("has root " + std::to_string(schedule.root) + ", not 0");
  if (const std::string flaw = flaw_of_words(schedule, topology, key); !flaw.empty())
    return Error{Status::kUnsupported, "the schedule: " + flaw};
  return Draft{schedule, everyone(key.members), schedule.algorithm};
}

namespace {

Result<std::vector<Draft>> one(Result<Draft> draft) {
  if (!draft) return draft.error();
  return std::vector{std::move(draft.value())};
}

Result<std::vector<Draft>> ordered_drafts(const Topology& topology, const CostModel& model,
                                          const PlanOptions& options, const std::string& name,
                                          std::vector<Candidate>& refused);

Result<std::vector<Draft>> asked_drafts(const Topology& topology, const CostModel& model,
                                        const PlanOptions& options, std::vector<Candidate>& refused) {
  std::string name = options.algorithm;
  if (take_neighbours_first(name)) return ordered_drafts(topology, model, options, name, refused);
  if (options.schedule && !name.empty())
    return Error{Status::kArgument, "choose an algorithm or give a schedule, not both"};
  if (options.schedule) return one(given_draft(topology, options.key, *options.schedule));
  const auto trees = [&] { return trees_to_try(topology, model, options); };
  if (names_levels(name)) return named_levels(topology, options.key, model, name, trees());
  if (!name.empty()) return one(named_draft(topology, options.key, name));
  std::vector<Draft> drafts = flat_drafts(topology, options.key, refused);
  if (options.key.members > 2)
    for (Draft& d : composed_drafts(topology, options.key, model, trees(), options.fan_in))
      drafts.push_back(std::move(d));
  if (has_neighbours(topology, model)) add_neighbours_first(drafts, model);
  return drafts;
}

Result<std::vector<Draft>> ordered_drafts(const Topology& topology, const CostModel& model,
                                          const PlanOptions& options, const std::string& name,
                                          std::vector<Candidate>& refused) {
  const auto refuse = [&](const char* why) {
    return Error{Status::kUnsupported, options.algorithm.substr(0, 64) + ": " + why};
  };
  if (name.empty() || name.ends_with(kNeighboursFirst)) return refuse("one algorithm is expected before it");
  if (!has_neighbours(topology, model))
    return refuse("all hosts are equally far from each other, or not all have as many members");
  PlanOptions plain = options;
  plain.algorithm = name;
  auto drafts = asked_drafts(topology, model, plain, refused);
  if (!drafts) return drafts;
  std::vector<Draft> ordered;
  for (const Draft& draft : *drafts)
    if (auto better = with_neighbours_first(draft, model)) ordered.push_back(std::move(*better));
  if (ordered.empty()) return refuse("no other order of the hosts is better");
  return ordered;
}

}  // namespace

Result<std::vector<Draft>> find_drafts(const Topology& topology, const CostModel& model,
                                       const PlanOptions& options, std::vector<Candidate>& refused) {
  auto drafts = asked_drafts(topology, model, options, refused);
  if (!drafts) return drafts;
  if (drafts->empty()) return Error{Status::kUnsupported, "no algorithm fits this collective and team"};
  if (options.fan_in <= 0) return drafts;
  const std::vector<std::int32_t> hosts = hosts_of(topology, options.key);
  std::int32_t least = 0;
  std::erase_if(*drafts, [&](const Draft& d) {
    const std::int32_t signals = fan_in(d.schedule, hosts);
    if (signals <= options.fan_in) return false;
    least = least == 0 ? signals : std::min(least, signals);
    refused.push_back({d.schedule.algorithm, 0, 0, "refused: a fan-in of " + std::to_string(signals)});
    return true;
  });
  if (!drafts->empty()) return drafts;
  return Error{Status::kUnsupported, "no schedule has a fan-in of at most " + std::to_string(options.fan_in) +
                                         "; the least is " + std::to_string(least)};
}

}  // namespace fermata
