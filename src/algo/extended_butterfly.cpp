// extended_butterfly: a butterfly among masters, each with at most one other member, for any P.
//
// Source: reduction-with-barrier, section III, Figure 5; Algorithms 5 to 7.
// Steps:
//   1. There are G = 2^floor(log2 P) groups. The first P - G groups are two neighbouring ranks each, the
//      others one rank. The lower rank is the group's master. The other member of a pair signals its master.
//   2. The G masters run a butterfly over their groups' numbers.
//   3. The masters of pairs signal the other member.
// Cost: G log2 G + 2 (P - G) signals in floor(log2 P) + 2 stages, or in log2 P stages where P is a power of
//   two.
// Why right: after step 1 each master knows of its group, after step 2 of all members. After step 3 every
//   member does. Groups are intervals, in rank order. So members fold as in butterfly: no repetition, the
//   same tree everywhere, rank order.
// Limits: barrier and allreduce only.
// Tried: pairing i with i + G is simpler, with the masters 0 ... G - 1. But it breaks rank order and pairs
//   distant members. The paper prints the number of groups and stages with ceilings, which contradicts its
//   own Figure 5 (7 members, 4 groups).
#include "algo/build.hpp"

namespace fermata::algo {
namespace {

Schedule extended_butterfly_schedule(const Request& r) {
  const Masters masters(r.members);
  std::vector<Edge> gather, spread;
  for (std::int32_t g = 0; g < masters.pairs; ++g) {
    gather.push_back({2 * g + 1, 2 * g, Side::kRight});
    spread.push_back({2 * g, 2 * g + 1});
  }
  EdgeStages stages;
  if (masters.pairs > 0) stages.push_back(gather);              // 1.
  for (std::int32_t bit = 1; bit < masters.groups; bit *= 2) {  // 2.
    std::vector<Edge>& stage = stages.emplace_back();
    for (std::int32_t g = 0; g < masters.groups; ++g) {
      stage.push_back(
          {masters.master(g), masters.master(g ^ bit), g < (g ^ bit) ? Side::kLeft : Side::kRight});
    }
  }
  Schedule schedule = from_exchange(r, "extended_butterfly", stages);
  if (masters.pairs == 0) return schedule;
  Request release = r;  // 3. The release copies, where the exchange folds.
  release.half = Half::kRelease;
  const Schedule last = from_halves(release, "", {}, {spread});
  schedule.stages.push_back(last.stages.front());
  return schedule;
}

}  // namespace

Algorithm extended_butterfly() {
  return {.name = "extended_butterfly",
          .source = "reduction-with-barrier III, Figure 5",
          .applicable = exchange_applicable,
          .build = extended_butterfly_schedule};
}

}  // namespace fermata::algo
