// complete: in one stage, every member signals all members that need its arrival or its data.
//
// Source: the bound of one stage that heterogeneous-mpi-barriers, equation 3, allows. The algorithm is our
//   own addition.
// Steps:
//   1. Member i signals i + 1, i + 2, ... cyclically, so that not all members begin with the same receiver.
//      In an allgather it sends its own chunk to each, in an alltoall the chunk for that receiver. In a scan
//      it signals higher ranks only.
//   2. Where data is folded (allreduce, reduce_scatter, scans), every receiver folds in rank order the
//      contributions that its result needs. If its own is one of them, it comes at its place, through a slot
//      to itself. (Member 0 begins with its own.)
// Cost: P (P - 1) signals in one stage (scans: half), besides the slots to itself. Every member sends P - 1
//   slots and awaits P - 1. In a scan, rank r sends P - 1 - r and awaits r. For P = 2 the barrier is
//   butterfly's.
// Why right: every pair has its own signal. The list is ordered by sender. So each receiver begins with
//   member 0's contribution, then folds those of 1, 2, ...: the same tree, in rank order, at every member (a
//   scan: a part of it).
// Limits: not for broadcast, reduce, gather and scatter, which linear does. It takes about P^2 slots. Its
//   scans are for at most 1,024 members.
// Tried: folding the others around a member's own contribution needs no slot to itself. But then every member
//   folds another tree, and floating-point sums differ between members from P = 3 on.
#include "algo/build.hpp"

namespace fermata::algo {
namespace {

Transfer transfer(Collective collective, std::int32_t members, std::int32_t from, std::int32_t to) {
  if (collective == Collective::kAllgather) return moved(from, to, from);
  if (collective == Collective::kAlltoall) return moved(from, to, from * members + to);
  if (collective == Collective::kBarrier) return {.from = from, .to = to};
  const std::int32_t piece = collective == Collective::kReduceScatter ? to : 0;
  return from == 0 ? moved(from, to, piece) : folded(from, to, piece, Side::kRight);
}

bool concerned(Collective collective, std::int32_t from, std::int32_t to) {
  if (collective == Collective::kScan) return from <= to && to > 0;
  if (collective == Collective::kExscan) return from < to;
  // The fold of member 0 begins with its own contribution, so it needs no transfer to itself.
  return from != to || (folds(collective) && from > 0);
}

Schedule complete_schedule(const Request& r) {
  Schedule schedule = frame_of(r, "complete");
  if (r.members == 1) return schedule;
  Stage& stage = schedule.stages.emplace_back();
  stage.transfers.reserve(static_cast<std::size_t>(r.members) * r.members);
  for (std::int32_t from = 0; from < r.members; ++from) {
    for (std::int32_t distance = 0; distance < r.members; ++distance) {
      const std::int32_t to = (from + distance) % r.members;
      if (concerned(r.collective, from, to))
        stage.transfers.push_back(transfer(r.collective, r.members, from, to));
    }
  }
  return schedule;
}

const char* complete_skip(const Request& r) {
  constexpr std::int32_t kMostMembers = 512;  // a quarter of a million signals
  return exchange_applicable(r) && r.members > kMostMembers ? "a signal between every two members" : nullptr;
}

bool complete_applicable(const Request& r) {
  if (exchange_applicable(r)) return true;
  return in_pieces_applicable(r) && !rides_on_a_line(r.collective) && !has_root(r.collective);
}

}  // namespace

Algorithm complete() {
  return {.name = "complete",
          .source = "heterogeneous-mpi-barriers, equation 3 with one stage",
          .applicable = complete_applicable,
          .build = complete_schedule,
          .skip = complete_skip};
}

}  // namespace fermata::algo
