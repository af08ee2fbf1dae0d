// What the search for plans on lines tries (degrees of trees, and layouts), and what it asks of a schedule.
#ifndef FERMATA_PLAN_CHOICES_HPP
#define FERMATA_PLAN_CHOICES_HPP

#include <vector>

#include "plan/plan.hpp"
#include "schedule/cost.hpp"

namespace fermata {

// Degrees of trees over `members`. Up to 64 members: 2 .. members - 1, or 2 alone if there are none. For more
// members: 2 .. 16, then each a quarter larger than the one before, below members - 1.
std::vector<std::int32_t> degrees_to_try(std::int32_t members);

// Layouts whose costs can differ for this payload:
// - private with stride 1
// - private with the cheapest measured stride, if it gains more than 5 %
// - published
// - packed, if a line holds two slots
// All have one slot, and lines of 64 bytes, or of 128 if the machine's lines are longer than 64.
// slot_and_line_variants varies these two.
std::vector<LayoutChoice> layouts_to_try(const CostModel& model, const Topology& topology,
                                         const PlanKey& key);

// The same layout with these numbers of slots instead of its own:
// - broadcast and reduce: 4, and as many as a limit on memory allows, up to 128, 512 if `crowded`
//   (members share CPUs), or 4096 over several hosts, since more slots let more of their episodes overlap
// - all others: 1, 2 and 4
// If the machine's lines have 64 bytes, each of these also with 128-byte lines, since many CPUs fetch lines
// in pairs. The variant that needs the least memory comes first.
std::vector<Layouts> slot_and_line_variants(const Layouts& layouts, const Topology& topology,
                                            const PlanKey& key, bool crowded);

// A run of stages, first to last, both included. It may have a layout of its own.
struct StageRun {
  std::size_t first = 0, last = 0;
};
// Each stage by itself; if there are more than `most` stages, `most` runs of about equal length.
std::vector<StageRun> runs_of_stages(const Schedule& schedule, std::size_t most);

// True if a member signals several others in one stage of the run. A published line does that with one store.
bool publishes(const Schedule& schedule, StageRun run);
// True if one of these receivers is on another host, which a published line cannot reach.
bool publishes_across(const Schedule& schedule, StageRun run, const std::vector<std::int32_t>& hosts);

// Returns the host of each rank: key.hosts, else the hosts of key.cpus. If the topology has several hosts,
// each rank without a known CPU gets a host of its own.
std::vector<std::int32_t> hosts_of(const Topology& topology, const PlanKey& key);
// True if members on two hosts use one word, or words that signal each other. Words need coherent memory, so
// they must not span hosts.
bool words_join_hosts(const Schedule& schedule, const std::vector<std::int32_t>& hosts);

// Returns the largest number of signals that come in one stage to one member or word, or from other hosts to
// one host.
std::int32_t fan_in(const Schedule& schedule, const std::vector<std::int32_t>& hosts);

// Returns the largest number of edges that share one line in the packed stages. src/plan/layout.cpp puts the
// slots of all edges around one member (the lower rank of an edge's two ends) side by side.
std::int32_t packed_sharers(const Schedule& schedule, const Layouts& layouts, std::int32_t payload);

bool only_words(const Schedule& schedule);  // all signals go to words or come from words
// Adds the cost of credits to a period. A credit returns over the same edge, so a slot is free again after a
// signal and its credit. As many episodes overlap as there are slots. Each credit is one more signal every
// credit_batch episodes; 0: there are no credits.
double with_credits(double period, const Schedule& schedule, const CostModel& model, std::int32_t slots,
                    std::int32_t credit_batch);

}  // namespace fermata
#endif
