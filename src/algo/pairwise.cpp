// pairwise: P - 1 stages with a different partner in each; every chunk goes directly to its destination.
//
// Source: Thakur, Rabenseifner and Gropp (Int. J. High Perform. Comput. Appl. 19, 2005), sections 3.3 and
//   4.3.
// Steps:
//   1. Stage s = 1 ... P - 1: member i sends member j the chunk for j. If P is a power of two, j is i XOR s,
//      else i + s mod P. In a reduce_scatter, j folds the chunk.
// Cost: P (P - 1) messages of one chunk in P - 1 stages of one message sent and one awaited. Each byte is
//   sent once.
// Why right: over the stages each member sends once to every other member, and receives once from it.
// Limits: alltoall and reduce_scatter. Contributions come in the order of the stages, so operators that do
//   not commute are refused beyond two members.
// Tried: rank order with a second register, for contributions from beyond the last rank, costs one more pass
//   over the chunk at the end. linear, complete and recursive_halving keep rank order at no cost.
#include <bit>

#include "algo/build.hpp"

namespace fermata::algo {
namespace {

Schedule pairwise_schedule(const Request& r) {
  Schedule schedule = frame_of(r, "pairwise");
  const bool power = std::has_single_bit(static_cast<std::uint32_t>(r.members));
  for (std::int32_t s = 1; s < r.members; ++s) {  // 1.
    Stage& stage = schedule.stages.emplace_back();
    for (std::int32_t i = 0; i < r.members; ++i) {
      const std::int32_t j = power ? i ^ s : (i + s) % r.members;
      stage.transfers.push_back(r.collective == Collective::kAlltoall
                                    ? moved(i, j, i * r.members + j)
                                    : folded(i, j, j, i < j ? Side::kLeft : Side::kRight));
    }
  }
  return schedule;
}

bool pairwise_applicable(const Request& r) {
  return in_pieces_applicable(r) &&
         (r.collective == Collective::kAlltoall || r.collective == Collective::kReduceScatter);
}

}  // namespace

Algorithm pairwise() {
  return {.name = "pairwise",
          .source = "Thakur, Rabenseifner and Gropp 2005, 3.3 and 4.3",
          .applicable = pairwise_applicable,
          .build = pairwise_schedule};
}

}  // namespace fermata::algo
