// butterfly: pairwise exchange over the bits of the rank; P a power of two.
//
// Source: reduction-with-barrier, section II.D, Figure 3.
// Steps:
//   1. For s = 0 ... log2 P - 1: member i signals i XOR 2^s and awaits it.
// Cost: P log2 P signals, log2 P stages of one slot sent and one awaited; no root, no release.
// Why right: before stage s member i knows of the 2^s members that agree with it in all bits from s up; its
//   partner knows of the neighbouring block, so blocks double without overlap and in rank order.
// Limits: P a power of two (extended_butterfly takes any P). Barrier and allreduce only. Both partners fold
//   the lower block on the left, so all members fold the same tree, in rank order.
// Tried: the partner as the paper's formula prints it, (i + 2^(r-1)) mod 2^r + s, pairs some members with
//   themselves; the figure and the text mean the exclusive or.
#include <bit>

#include "algo/build.hpp"

namespace fermata::algo {
namespace {

Schedule build(const Request& r) {
  EdgeStages stages(log2_ceil(r.members));
  std::int32_t bit = 1;
  for (std::vector<Edge>& stage : stages) {  // 1.
    for (std::int32_t i = 0; i < r.members; ++i) {
      const std::int32_t partner = i ^ bit;
      stage.push_back({i, partner, i < partner ? Side::kLeft : Side::kRight});
    }
    bit *= 2;
  }
  return from_exchange(r, "butterfly", stages);
}

bool applicable(const Request& r) { return exchange_applicable(r) && std::has_single_bit(static_cast<std::uint32_t>(r.members)); }

}  // namespace

Algorithm butterfly() {
  return {.name = "butterfly",
          .has_degree = false,
          .source = "reduction-with-barrier II.D, Figure 3",
          .applicable = applicable,
          .build = build,
          .redundant = false};
}

}  // namespace fermata::algo
