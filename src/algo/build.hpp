// What the algorithm files share: it turns edges into schedules. An algorithm says who signals whom, stage by
// stage. The request decides whether an edge is a bare signal, a fold or a copy.
#ifndef FERMATA_ALGO_BUILD_HPP
#define FERMATA_ALGO_BUILD_HPP

#include <string>
#include <vector>

#include "algo/algorithm.hpp"

namespace fermata {

struct Edge {
  std::int32_t from = 0, to = 0;
  Side side = Side::kRight;  // the side on which an arriving contribution is folded
};
using EdgeStages = std::vector<std::vector<Edge>>;

// "kary", 4 -> "kary(4)".
std::string spelled(const char* name, std::int32_t degree);

// True if there are 1 to kMaxScheduleMembers members, the root is a member, a half has member 0 as its root,
// and the degree is at least `least_degree` (0: any degree). The next three functions are also false where
// this one is. in_pieces_applicable() and exchange_applicable() ask it without a least degree.
bool sane(const Request& request, std::int32_t least_degree = 0);
// Schedules in pieces have about one chunk per member, or more, so most have about members^2 transfers or
// more. They are for at most this many members.
inline constexpr std::int32_t kMostPieces = 1024;
// True for every whole collective of at most kMostPieces members (an alltoall: kMaxAlltoallMembers).
bool in_pieces_applicable(const Request& request);
// For algorithms that go through one member: the root, or member 0 if there is none. True for:
// - whole barrier, broadcast, reduce and allreduce
// - whole gather, scatter, allgather and reduce_scatter, of at most kMostPieces members
// - the arriving half of barrier, reduce and allreduce
// - the releasing half of barrier, broadcast and allreduce
bool rooted_applicable(const Request& request, std::int32_t least_degree = 0);
// For algorithms without a root. True for whole barriers and whole allreduces.
bool exchange_applicable(const Request& request);

// Builds the parts that the request wants: arrival (edges towards member 0, folded in list order) and release
// (edges away from member 0, copied). For a root other than 0, the ranks 0 and root change places; all others
// keep theirs.
//
// Gather and scatter carry the chunks of whole subtrees. Allgather is a gather; then each member gets what it
// lacks. Reduce_scatter is a reduce of all chunks, then a scatter.
Schedule from_halves(const Request& request, std::string name, const EdgeStages& arrival,
                     const EdgeStages& release);
// Every edge folds (allreduce) or signals (barrier).
Schedule from_exchange(const Request& request, std::string name, const EdgeStages& edges);
// A schedule without stages, with this name, and the request's collective, members, root (0 if the collective
// has none) and chunks (one per block).
Schedule frame_of(const Request& request, std::string name);

// A transfer that copies a chunk, and one that folds it.
Transfer moved(std::int32_t from, std::int32_t to, std::int32_t chunk);
Transfer folded(std::int32_t from, std::int32_t to, std::int32_t chunk, Side side);

// Divides the members into groups, each with a master. The number of groups is the largest power of two that
// is not above the number of members. The first `pairs` groups are two neighbouring ranks each, the others
// one rank. The lower rank is the master. Groups are intervals, in rank order.
struct Masters {
  explicit Masters(std::int32_t members);
  std::int32_t groups, pairs;
  std::int32_t master(std::int32_t group) const { return group < pairs ? 2 * group : group + pairs; }
  std::int32_t group_size(std::int32_t group) const { return group < pairs ? 2 : 1; }
};

// Patterns that more than one algorithm uses. binomial.cpp and kary.cpp define the first two.
EdgeStages binomial_arrival(std::int32_t members);
EdgeStages kary_arrival(std::int32_t members, std::int32_t degree);
EdgeStages reversed(const EdgeStages& arrival);  // stages in reverse order, each edge reversed

// ceil(log2 n) and floor(log2 n) for n >= 1.
std::int32_t log2_ceil(std::int32_t n);
std::int32_t log2_floor(std::int32_t n);

}  // namespace fermata
#endif
