// linear: every member signals the root, then the root signals every member.
//
// Source: heterogeneous-mpi-barriers, section V.B, Figure 2; the centralized linear barrier of
//   reduction-with-barrier, section II.C.
// Steps:
//   1. Every other member signals the root, in one stage. The root of a barrier is member 0.
//   2. When the root has all signals, it signals every other member, in one stage.
// Cost: 2 (P - 1) signals in 2 stages. The root awaits P - 1 slots and writes P - 1, so the critical path
//   grows with P.
// Why right: after step 1 the root knows of every member. After step 2 every member knows what the root knew.
// Limits: no alltoall and no scans. A reduce to root r folds lower ranks on the left and higher ranks on the
//   right, nearest first. This keeps rank order for any root, so operators that do not commute are accepted.
// Tried: nothing rejected yet.
#include "algo/build.hpp"

namespace fermata::algo {
namespace {

Schedule linear_schedule(const Request& r) {
  if (r.members == 1) return frame_of(r, "linear");
  EdgeStages arrival(1), release(1);
  const std::int32_t root = frame_of(r, "").root;
  // 1. The nearest rank comes first on either side, so the folded interval stays contiguous.
  for (std::int32_t i = root - 1; i >= 0; --i) arrival[0].push_back({i, root, Side::kLeft});
  for (std::int32_t i = root + 1; i < r.members; ++i) arrival[0].push_back({i, root, Side::kRight});
  // 2.
  for (std::int32_t i = 0; i < r.members; ++i) {
    if (i != root) release[0].push_back({root, i});
  }
  Request at_zero = r;
  at_zero.root = 0;  // the edges already have the right root
  Schedule schedule = from_halves(at_zero, "linear", arrival, release);
  schedule.root = root;
  return schedule;
}

}  // namespace

Algorithm linear() {
  return {.name = "linear",
          .source = "heterogeneous-mpi-barriers V.B, Figure 2; reduction-with-barrier II.C",
          .applicable = [](const Request& r) { return rooted_applicable(r); },
          .build = linear_schedule};
}

}  // namespace fermata::algo
