// Flat candidates for plans on lines: each algorithm of the table over all members.
#include <algorithm>
#include <string>

#include "algo/algorithm.hpp"
#include "plan/choices.hpp"
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

}  // namespace fermata
