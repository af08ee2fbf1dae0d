// The parts of the search for plans on lines, for src/plan only: candidate schedules, their scores, the
// timing of the best ones.
#ifndef FERMATA_PLAN_LINE_SEARCH_HPP
#define FERMATA_PLAN_LINE_SEARCH_HPP

#include <cstddef>
#include <string>
#include <vector>

#include "plan/cluster.hpp"
#include "plan/plan.hpp"
#include "schedule/cost.hpp"

namespace fermata {

// Whether compositions of this collective have an arrival and a release.
constexpr bool arrives(Collective collective) { return !root_gives(collective); }
constexpr bool releases(Collective collective) { return !root_gets(collective); }

// A schedule under consideration, before it has a layout.
struct Draft {
  Schedule schedule;
  Cluster levels;      // the tree of its composition; one leaf if it is flat
  std::string family;  // its algorithm without degree, or how it was composed
};

// A draft with a layout.
struct Entry : Trial {
  std::size_t draft = 0;
  Layouts layout;
  std::int32_t credit_batch = 0;
  double latency_ns = 0;  // predicted
};

// Returns the key, with the topology's fingerprint and with the class of the key's payload; or what is wrong
// with the key.
Result<PlanKey> normalised(PlanKey key, const Topology& topology);

// Builds the algorithms of the table over all members at once, with the degrees of degrees_to_try, without
// duplicates. Adds the algorithms that cannot serve this collective, or should not, to `refused`, with the
// reason.
std::vector<Draft> flat_drafts(const Topology& topology, const PlanKey& key, std::vector<Candidate>& refused);

// Builds one algorithm, as spelled, over all members. Errors: those of parse_algorithm; kUnsupported if it
// does not fit this team.
Result<Draft> named_draft(const Topology& topology, const PlanKey& key, const std::string& spelled);

// The composition of these levels (level_names.hpp) along each tree with as many. Errors: kParse, and those
// of parse_algorithm; kUnsupported if an algorithm does not fit a cluster, or no tree has as many levels.
Result<std::vector<Draft>> named_levels(const Topology& topology, const PlanKey& key, const CostModel& model,
                                        const std::string& spelled, const std::vector<Cluster>& trees);

// A schedule that the user has made. Error: kArgument if it is of another collective or number of members, or
// has another root than 0.
Result<Draft> given_draft(const Topology& topology, const PlanKey& key, const Schedule& schedule);

// Greedy compositions along each tree (heterogeneous-mpi-barriers VII.B). Each cluster gets the cheapest
// arrival and the cheapest departure. The root gets a whole collective instead if that is cheaper; then its
// participants need no departure. Further drafts use one algorithm at all levels of a tree where it is
// applicable. most_fan_in: of each algorithm in its cluster (PlanOptions::fan_in).
std::vector<Draft> composed_drafts(const Topology& topology, const PlanKey& key, const CostModel& model,
                                   const std::vector<Cluster>& trees, std::int32_t most_fan_in);

// Returns trees for compositions, without duplicates: by distance (not if options.clusters_from_topology), by
// topology, by the network of hosts if the topology has one; of these, the outer levels alone, and the
// innermost clusters directly below the root. For barriers and allreduces over hosts, also the trees by
// distance and by topology, each led by the cluster that is nearest to all others.
std::vector<Cluster> trees_to_try(const Topology& topology, const CostModel& model,
                                  const PlanOptions& options);

// All drafts that the options ask for; those that cannot serve are added to `refused`. Errors: those of the
// functions above; kArgument if there is an algorithm and a schedule; kUnsupported if no draft remains.
Result<std::vector<Draft>> find_drafts(const Topology& topology, const CostModel& model,
                                       const PlanOptions& options, std::vector<Candidate>& refused);

// Times the finalists through the callback (time_in_rounds). Means are trimmed. An entry that cannot be
// compiled or timed gets a refusal. A simulated machine runs each entry once.
void time_entries(const PlanKey& key, const std::vector<Draft>& drafts,
                  const std::vector<std::size_t>& finalists, std::vector<Entry>& entries,
                  const PlanOptions& options, const Measure& measure);

// Returns the best of `finalists`, as an index into `entries`; the first one if none may run. If they were
// timed, it has the least time; among times within the noise, the simplest one wins. If not, it has
// the least predicted period (over hosts: latency); among periods that the model cannot distinguish, the one
// with the least latency wins.
// - crowded: members share CPUs, and the latency does not count. If the best one has no credits, only those
//   finalists remain, within a wider margin, whose busiest member awaits the fewest signals.
// - hosts: of a team over several hosts. Within the margin, the finalist with the fewest messages between
//   hosts wins.
std::size_t pick(const std::vector<Draft>& drafts, const std::vector<Entry>& entries,
                 const std::vector<std::size_t>& finalists, bool crowded,
                 const std::vector<std::int32_t>& hosts);

}  // namespace fermata
#endif
