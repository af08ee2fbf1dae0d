// What algorithm files share: from edges to schedules. An algorithm says who signals whom, stage by stage;
// whether a signal is bare, is folded or is copied follows from the request.
#ifndef FERMATA_ALGO_BUILD_HPP
#define FERMATA_ALGO_BUILD_HPP

#include <string>
#include <vector>

#include "algo/algorithm.hpp"

namespace fermata {

struct Edge {
  std::int32_t from = 0, to = 0;
  Side side = Side::kRight;  // where an arriving contribution goes when it is folded
};
using EdgeStages = std::vector<std::vector<Edge>>;

// "linear", "kary(4)".
std::string spelled(const char* name, std::int32_t degree);

// members >= 1, the root one of them, halves rooted at member 0, degree at least `least_degree`.
bool sane(const Request& request, std::int32_t least_degree = 0);
// Schedules in pieces, a chunk or more per member, have members^2 transfers and more: beyond this they are composed
// of smaller ones.
inline constexpr std::int32_t kMostPieces = 1024;
// Whole collectives of so many members (an alltoall: kMaxAlltoallMembers) that each has a piece of.
bool in_pieces_applicable(const Request& request);
// Algorithms that go through member 0: every kind but alltoall and scans; the arriving half of what combines, the
// releasing half of what spreads.
bool rooted_applicable(const Request& request, std::int32_t least_degree = 0);
// Algorithms without a root: whole barriers and whole allreduces.
bool exchange_applicable(const Request& request);

// Arrival (edges towards member 0, folded in list order) and release (edges away from it, copied), those of
// them that the request wants. For a root other than 0 the ranks 0 and root change places, all others keep
// theirs. Gather and scatter carry the chunks of whole subtrees; allgather is a gather, then what each lacks;
// reduce_scatter is a reduce of all chunks, then a scatter.
Schedule from_halves(const Request& request, std::string name, const EdgeStages& arrival, const EdgeStages& release);
// Every edge folds (allreduce) or signals (barrier).
Schedule from_exchange(const Request& request, std::string name, const EdgeStages& edges);
// Name, kind, members, root and chunks (one per block) of the request; no stages.
Schedule frame_of(const Request& request, std::string name);

Transfer moved(std::int32_t from, std::int32_t to, std::int32_t chunk);
Transfer folded(std::int32_t from, std::int32_t to, std::int32_t chunk, Side side);

// A power of two of masters for any number of members: the first `pairs` groups are two neighbouring ranks each, the
// others one; the lower rank is the master. Groups are intervals, in rank order.
struct Masters {
  explicit Masters(std::int32_t members);
  std::int32_t groups, pairs;
  std::int32_t master(std::int32_t group) const { return group < pairs ? 2 * group : group + pairs; }
  std::int32_t group_size(std::int32_t group) const { return group < pairs ? 2 : 1; }
};

// Patterns that more than one algorithm uses, each defined in the file of the algorithm that it is named
// after.
EdgeStages binomial_arrival(std::int32_t members);
EdgeStages kary_arrival(std::int32_t members, std::int32_t degree);
EdgeStages reversed(const EdgeStages& arrival);  // stages backwards, edges turned round

// ceil(log2 n) and floor(log2 n) for n >= 1.
std::int32_t log2_ceil(std::int32_t n);
std::int32_t log2_floor(std::int32_t n);

}  // namespace fermata
#endif
