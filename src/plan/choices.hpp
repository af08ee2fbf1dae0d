// What the search tries: degrees and layouts, as lists.
#ifndef FERMATA_PLAN_CHOICES_HPP
#define FERMATA_PLAN_CHOICES_HPP

#include <vector>

#include "plan/plan.hpp"
#include "schedule/cost.hpp"

namespace fermata {

// Degrees of trees over `members`: all of 2 .. members-1 up to 64 members, then all up to 16 and steps of a quarter above.
std::vector<std::int32_t> degrees_to_try(std::int32_t members);

// Layouts that can differ in cost for this payload: private at stride 1 and at the cheapest measured stride, published,
// packed where a line holds two slots. One slot, the smallest line: see slot_and_line_variants.
std::vector<LayoutChoice> layouts_to_try(const CostModel& model, const Topology& topology, const PlanKey& key);

// The same layout with other numbers of slots, and with 128-byte lines too where the machine's are shorter, since many fetch pairs of
// them. 1, 2 and 4 slots; where episodes may overlap 4 and as many as make a stream, which then moves several lines at a time: one-way
// between two cores of Sapphire Rapids 88 ns an episode with 8 slots, 16 with 32, 8.5 from 128 on. Cheapest to keep first.
std::vector<Layouts> slot_and_line_variants(const Layouts& layouts, const Topology& topology, const PlanKey& key, bool crowded);

// Parts of a schedule that may have a layout of their own: its stages, or that many runs of them, at most.
struct StageRun {
  std::size_t first = 0, last = 0;
};
std::vector<StageRun> runs_of_stages(const Schedule& schedule, std::size_t most);

// A member of the run tells the same to several others, which a published line does with one store.
bool publishes(const Schedule& schedule, StageRun run);
// One of those others is on another host, so the line can't be.
bool publishes_across(const Schedule& schedule, StageRun run, const std::vector<std::int32_t>& hosts);

// Host of each rank. Words and published lines need one coherent memory, so they never join hosts. An unpinned team on several hosts
// is taken to have each rank on its own.
std::vector<std::int32_t> hosts_of(const Topology& topology, const PlanKey& key);
bool words_join_hosts(const Schedule& schedule, const std::vector<std::int32_t>& hosts);

// How many edges of the schedule share one line at most where it is packed as src/plan/layout.cpp does: the edges around the
// lower rank of their ends, slot beside slot.
std::int32_t packed_sharers(const Schedule& schedule, const Layouts& layouts, std::int32_t payload);

}  // namespace fermata
#endif
