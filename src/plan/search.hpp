// The parts of the search, inside src/plan only: schedules to consider, how they score, which are timed.
#ifndef FERMATA_PLAN_SEARCH_HPP
#define FERMATA_PLAN_SEARCH_HPP

#include <cstddef>
#include <string>
#include <vector>

#include "plan/cluster.hpp"
#include "plan/plan.hpp"
#include "schedule/cost.hpp"

namespace fermata {

// A schedule under consideration, before it has a layout.
struct Draft {
  Schedule schedule;
  Cluster levels;      // what it was composed along; one leaf if it is flat
  std::string family;  // its algorithm without degrees: finalists are chosen across families
};

// A draft in a layout.
struct Entry {
  std::size_t draft = 0;
  Layouts layout;
  std::int32_t credit_batch = 0;
  double predicted_ns = 0;  // period
  double latency_ns = 0;
  double measured_ns = 0;
  double spread = 0;    // of the repeats, relative to their median
  double behind = 0;    // how many times slower than the best it was when it was dropped; 0: it was timed to the end
  std::string refusal;  // why it may not run; empty: it may
};

// The algebra that a plan of this kind must stand: commutative, not associative, not idempotent for reduce and
// allreduce, so that one plan serves floating-point sums as well as everything easier.
OpTraits algebra_of(Kind kind);

// Every algorithm and degree of the table over all members at once. `refused` gets those that can't serve this kind and says why.
std::vector<Draft> flat_drafts(const Topology& topology, const PlanKey& key, std::vector<Candidate>& refused);

// One algorithm as spelled, over all members. Errors: those of parse_algorithm; kUnsupported if it can't serve this team.
Result<Draft> named_draft(const Topology& topology, const PlanKey& key, const std::string& spelled);

// Greedy compositions along each tree (heterogeneous-mpi-barriers VII.B): per cluster the cheapest arrival and the cheapest
// departure; at the root also a whole collective after which nobody needs a departure. Further: each family at all levels.
std::vector<Draft> composed_drafts(const Topology& topology, const PlanKey& key, const CostModel& model, const std::vector<Cluster>& trees);

// Trees worth composing along, without repeats: by distance, by topology, and their outer and inner levels alone.
std::vector<Cluster> trees_to_try(const Topology& topology, const CostModel& model, const PlanOptions& options);

// Interleaved repeats through the callback: medians and spreads into the entries; the slowest are dropped after a first round. Entries that
// cannot be compiled or timed get a refusal.
void time_entries(const PlanKey& key, const std::vector<Draft>& drafts, const std::vector<std::size_t>& finalists,
                  std::vector<Entry>& entries, const PlanOptions& options, const Measure& measure);

// Index of the robust-fastest of `finalists`: least measured time; among those within the noise, the simplest. Where nothing was
// timed: least predicted period; among those that the model can't tell apart, the one of least latency. `crowded`, members share CPUs:
// within a wider margin the one whose members await least.
// `hosts`, of a team over several: within the margin the one with the fewest messages between them.
std::size_t pick(const std::vector<Draft>& drafts, const std::vector<Entry>& entries, const std::vector<std::size_t>& finalists,
                 bool crowded, const std::vector<std::int32_t>& hosts);

}  // namespace fermata
#endif
