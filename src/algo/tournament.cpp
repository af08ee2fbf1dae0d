// tournament(k): losers signal winners, round by round; the champion then releases all along kary(k).
//
// Source: power8-barriers, section V (tournament).
// Steps:
//   1. In round s = 0 ... ceil(log2 P) - 1 the lower rank of a pair wins, and the loser signals it. (This is
//      the arrival of binomial.)
//   2. The champion starts the release of kary(k).
// Cost: 2 (P - 1) signals: ceil(log2 P) stages of one slot, then the depth of kary(k) with up to k slots per
//   stage.
// Why right: the champion has heard from every member (as in binomial). The release of kary(k) reaches every
//   member.
// Limits: no alltoall and no scans. Rank order is as in binomial.
// Tried: nothing rejected yet.
#include "algo/build.hpp"

namespace fermata::algo {
namespace {

Schedule tournament_schedule(const Request& r) {
  return from_halves(r, spelled("tournament", r.degree), binomial_arrival(r.members),  // 1.
                     reversed(kary_arrival(r.members, r.degree)));                     // 2.
}

}  // namespace

Algorithm tournament() {
  return {.name = "tournament",
          .has_degree = true,
          .source = "power8-barriers V",
          .applicable = [](const Request& r) { return rooted_applicable(r, 1); },
          .build = tournament_schedule};
}

}  // namespace fermata::algo
