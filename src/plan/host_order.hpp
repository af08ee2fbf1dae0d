// Neighbours first: schedules whose hosts are in another order, so that hosts that exchange signals are near
// each other. For networks in which some hosts are farther from each other than others, such as a torus.
#ifndef FERMATA_PLAN_HOST_ORDER_HPP
#define FERMATA_PLAN_HOST_ORDER_HPP

#include <optional>
#include <string>
#include <vector>

#include "plan/line_search.hpp"

namespace fermata {

// What follows an algorithm's name in plans whose hosts are in that order.
inline constexpr const char* kNeighboursFirst = "@neighbours";
// Removes it from the end of a name; false: it is not there.
bool take_neighbours_first(std::string& name);

// Whether an order can make a difference: all hosts have as many members, and some hosts are farther from
// each other than others. Where the topology has no network, by more than noise (kSmallestGap).
bool has_neighbours(const Topology& topology, const CostModel& model);

// The same schedule with its hosts in another order. Starting at one host, it places next the host that
// exchanges most signals with those placed already, where these signals have the shortest way. Then it swaps
// pairs of hosts while that lowers the predicted latency, or the signals' way without raising it. Returns
// nothing if that finds no better order than the draft's. In a collective with a root, the root's host stays
// where it is. Precondition: has_neighbours().
std::optional<Draft> with_neighbours_first(const Draft& draft, const CostModel& model);

// Adds such drafts for the few that have the least predicted latency, one of each family.
void add_neighbours_first(std::vector<Draft>& drafts, const CostModel& model);

}  // namespace fermata
#endif
