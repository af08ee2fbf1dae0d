// dissemination: in stage s member i signals member i + 2^s mod P.
//
// Source: heterogeneous-mpi-barriers, section V.B, Figure 3; power8-barriers, section V.
// Steps:
//   1. For s = 0 ... ceil(log2 P) - 1: member i signals (i + 2^s) mod P and awaits (i - 2^s) mod P.
// Cost: P ceil(log2 P) signals in ceil(log2 P) stages of one slot sent and one awaited. There is no root and
//   no release.
// Why right: after stage s member i knows of the 2^(s+1) members up to itself, cyclically. ceil(log2 P)
//   doublings reach all P.
// Limits: barrier and allreduce only. Unless P is a power of two, the last doubling overlaps: an allreduce
//   takes contributions more than once, so there it is for idempotent operators only.
//   The members fold in cyclically shifted orders. So operators that do not commute are refused. Beyond two
//   members, operators that do not associate (floating-point sums) are refused, too, also at powers of two.
// Tried: nothing rejected yet.
#include <bit>

#include "algo/build.hpp"

namespace fermata::algo {
namespace {

Schedule dissemination_schedule(const Request& r) {
  EdgeStages stages(log2_ceil(r.members));
  std::int32_t distance = 1;
  for (std::vector<Edge>& stage : stages) {  // 1.
    for (std::int32_t i = 0; i < r.members; ++i)
      stage.push_back({i, (i + distance) % r.members, Side::kLeft});
    distance *= 2;
  }
  return from_exchange(r, "dissemination", stages);
}

Folding dissemination_folding(const Request& r) {
  if (r.members <= 2) return Folding::kOneTree;
  return std::has_single_bit(static_cast<std::uint32_t>(r.members)) ? Folding::kOnce : Folding::kRepeated;
}

const char* dissemination_skip(const Request& r) {
  return r.members <= 2 && folds(r.collective) ? "butterfly does the same, in rank order" : nullptr;
}

}  // namespace

Algorithm dissemination() {
  return {.name = "dissemination",
          .source = "heterogeneous-mpi-barriers V.B, Figure 3; power8-barriers V",
          .applicable = exchange_applicable,
          .build = dissemination_schedule,
          .skip = dissemination_skip,
          .folding = dissemination_folding};
}

}  // namespace fermata::algo
