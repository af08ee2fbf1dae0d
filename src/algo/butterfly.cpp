// butterfly: members exchange in pairs over the bits of the rank; P is a power of two.
//
// Source: reduction-with-barrier, section II.D, Figure 3.
// Steps:
//   1. For s = 0 ... log2 P - 1: member i signals i XOR 2^s and awaits its signal.
// Cost: P log2 P signals in log2 P stages of one slot sent and one awaited. There is no root and no release.
// Why right: before stage s member i knows of the 2^s members that agree with it in all bits from s up. Its
//   partner knows of the neighbouring block. So blocks double without overlap and in rank order.
// Limits: P must be a power of two (extended_butterfly takes any P). It does barrier and allreduce only. Both
//   partners fold the lower block on the left, so all members fold the same tree, in rank order.
// Tried: the partner in the paper's formula, (i + 2^(r-1)) mod 2^r + s, pairs some members with themselves.
//   The paper's figure and text mean the exclusive or.
#include <bit>

#include "algo/build.hpp"

namespace fermata::algo {
namespace {

Schedule butterfly_schedule(const Request& r) {
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

bool butterfly_applicable(const Request& r) {
  return exchange_applicable(r) && std::has_single_bit(static_cast<std::uint32_t>(r.members));
}

}  // namespace

Algorithm butterfly() {
  return {.name = "butterfly",
          .source = "reduction-with-barrier II.D, Figure 3",
          .applicable = butterfly_applicable,
          .build = butterfly_schedule};
}

}  // namespace fermata::algo
