// n_way_dissemination(k): dissemination with k signals a stage, so what a member knows grows (k + 1)-fold.
//
// Source: n-way dissemination of Hoefler, Mehlan, Mietke and Rehm (IPDPS 2006), reference [22] of
//   remote-store-barriers; one signal a stage is heterogeneous-mpi-barriers, section V.B, Figure 3.
// Steps:
//   1. For s = 0 ... ceil(log_(k+1) P) - 1, with d = (k + 1)^s: member i signals (i + j d) mod P for each j
//      from 1 to k with j d < P.
// Cost: at most k P ceil(log_(k+1) P) signals in ceil(log_(k+1) P) stages. A member sends up to k slots per
//   stage and awaits as many. This pays where the first signal of a stage costs more than the further ones.
// Why right: after stage s member i knows of the (k + 1) d members up to itself, cyclically: of the d members
//   up to itself before, and of k further blocks of d. So all P are known after the last stage.
// Limits: barrier and allreduce only. In the last stage a block can reach a member that knows a part of it.
//   An allreduce then takes contributions more than once, so it is for idempotent operators only. If d of the
//   last stage divides P, as for P = (k + 1)^m, each counts once, and other operators are accepted, too. The
//   members fold in different orders. So operators that do not commute are refused, and beyond two members
//   also those that do not associate.
// Tried: all k signals in the last stage too, as in the source. Those with j d >= P tell nothing new.
#include "algo/build.hpp"

namespace fermata::algo {
namespace {

struct Stages {
  std::int32_t count = 0;
  std::int64_t last_distance = 1;
};

Stages stages_of(std::int32_t members, std::int32_t degree) {
  Stages stages;
  for (std::int64_t distance = 1; distance < members; distance *= degree + 1, ++stages.count)
    stages.last_distance = distance;
  return stages;
}

Schedule n_way_dissemination_schedule(const Request& r) {
  EdgeStages stages;
  for (std::int64_t distance = 1; distance < r.members; distance *= r.degree + 1) {  // 1.
    std::vector<Edge>& stage = stages.emplace_back();
    for (std::int64_t i = 0; i < r.members; ++i) {
      for (std::int64_t j = 1; j <= r.degree && j * distance < r.members; ++j) {
        const auto to = static_cast<std::int32_t>((i + j * distance) % r.members);
        stage.push_back({static_cast<std::int32_t>(i), to, Side::kLeft});
      }
    }
  }
  return from_exchange(r, spelled("n_way_dissemination", r.degree), stages);
}

Folding n_way_dissemination_folding(const Request& r) {
  if (r.members <= 2) return Folding::kOneTree;
  const bool divides = r.members % stages_of(r.members, r.degree).last_distance == 0;
  return divides ? Folding::kOnce : Folding::kRepeated;
}

const char* n_way_dissemination_skip(const Request& r) {
  // With more signals a stage, a member is busy for longer than the stages that it saves.
  constexpr std::int32_t kMostDegree = 8;
  const std::int32_t count = stages_of(r.members, r.degree).count;
  if (r.degree == 1) return "dissemination does the same";
  if (count <= 1) return "complete does the same";
  if (r.degree > kMostDegree) return "too many signals a stage";
  if (count == stages_of(r.members, r.degree - 1).count) return "a lower degree has as few stages";
  return nullptr;
}

}  // namespace

Algorithm n_way_dissemination() {
  return {.name = "n_way_dissemination",
          .has_degree = true,
          .source = "Hoefler, Mehlan, Mietke and Rehm 2006 (remote-store-barriers [22])",
          .applicable = [](const Request& r) { return sane(r, 1) && exchange_applicable(r); },
          .build = n_way_dissemination_schedule,
          .skip = n_way_dissemination_skip,
          .folding = n_way_dissemination_folding,
          .minimal = false};
}

}  // namespace fermata::algo
