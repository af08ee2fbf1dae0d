// Lists of what the search tries: degrees of trees, and layouts.
#ifndef FERMATA_PLAN_CHOICES_HPP
#define FERMATA_PLAN_CHOICES_HPP

#include <vector>

#include "plan/plan.hpp"
#include "schedule/cost.hpp"

namespace fermata {

// Degrees of trees over `members`. Up to 64 members: all of 2 .. members - 1. Beyond: all up to 16, then
// steps of a quarter.
std::vector<std::int32_t> degrees_to_try(std::int32_t members);

// Layouts whose costs can differ for this payload: private with stride 1, private with the cheapest measured
// stride, published, and packed if a line holds two slots. All have one slot and the machine's line;
// slot_and_line_variants varies these two.
std::vector<LayoutChoice> layouts_to_try(const CostModel& model, const Topology& topology,
                                         const PlanKey& key);

// The same layout with other numbers of slots. If the machine's lines have 64 bytes, each also with 128-byte
// lines, since many CPUs fetch lines in pairs.
// Slots: 1, 2 and 4. Broadcast and reduce, whose episodes may overlap, have 4, or as many as make a stream,
// which moves several lines at a time. Between two cores of Sapphire Rapids, one-way, an episode takes 88 ns
// with 8 slots, 16 ns with 32, and 8.5 ns from 128 on. The variant that needs the least memory comes first.
// crowded: members share CPUs.
std::vector<Layouts> slot_and_line_variants(const Layouts& layouts, const Topology& topology,
                                            const PlanKey& key, bool crowded);

// A run of stages, which may have a layout of its own.
struct StageRun {
  std::size_t first = 0, last = 0;
};
// Each stage by itself; if there are more than `most` stages, `most` runs of about equal length.
std::vector<StageRun> runs_of_stages(const Schedule& schedule, std::size_t most);

// True if a member signals several others in one stage of the run. A published line does that with one store.
bool publishes(const Schedule& schedule, StageRun run);
// True if one of these others is on another host, which a published line cannot reach.
bool publishes_across(const Schedule& schedule, StageRun run, const std::vector<std::int32_t>& hosts);

// The host of each rank. If the topology has several hosts, each rank without a known CPU counts as on a host
// of its own.
std::vector<std::int32_t> hosts_of(const Topology& topology, const PlanKey& key);
// True if a word is used from two hosts. A word needs coherent memory, so it never spans hosts.
bool words_join_hosts(const Schedule& schedule, const std::vector<std::int32_t>& hosts);

// The largest number of edges that share one line if the schedule is packed as in src/plan/layout.cpp. There
// the slots of all edges around one member (the lower rank of an edge's two ends) lie side by side.
std::int32_t packed_sharers(const Schedule& schedule, const Layouts& layouts, std::int32_t payload);

}  // namespace fermata
#endif
