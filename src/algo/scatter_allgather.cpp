// scatter_allgather: a broadcast that scatters the vector, then lets every member gather the pieces.
//
// Source: van de Geijn's broadcast, as in Thakur, Rabenseifner and Gropp (Int. J. High Perform. Comput. Appl.
//   19, 2005), section 3.2.
// Steps:
//   1. The scatter of binomial, in P chunks.
//   2. The allgather of ring, without the chunks that a receiver already has. The root has all chunks. A
//      member that passed on a subtree's chunks has those.
// Cost: ceil(log2 P) stages that halve the message, then up to P - 1 stages of one chunk. The root sends
//   almost twice the vector instead of log2 P times, which suits long vectors.
// Why right: after step 1 member i holds chunk i. In step 2 chunk c goes round the ring, and passes only
//   members that hold it.
// Limits: broadcast only, in P chunks. For a root other than 0, the ranks 0 and root change places in step 1,
//   with their chunks.
// Tried: nothing rejected yet.
#include "algo/build.hpp"

namespace fermata::algo {
namespace {

Schedule scatter_allgather_schedule(const Request& r) {
  Request scatter = r;
  scatter.collective = Collective::kScatter;
  const std::int32_t p = r.members;
  Schedule schedule = from_halves(scatter, "scatter_allgather", {}, reversed(binomial_arrival(p)));  // 1.
  schedule.collective = r.collective;
  std::vector<std::vector<bool>> has(p, std::vector<bool>(p, false));
  has[r.root].assign(p, true);
  for (const Stage& stage : schedule.stages) {
    for (const Transfer& t : stage.transfers) has[t.to][t.chunk] = true;
  }
  for (std::int32_t s = 0; s + 1 < p; ++s) {  // 2.
    Stage& stage = schedule.stages.emplace_back();
    for (std::int32_t i = 0; i < p; ++i) {
      const std::int32_t to = (i + 1) % p, chunk = (i - s + p) % p;
      if (!has[to][chunk]) stage.transfers.push_back(moved(i, to, chunk));
    }
    for (const Transfer& t : stage.transfers) has[t.to][t.chunk] = true;
  }
  while (!schedule.stages.empty() && schedule.stages.back().transfers.empty()) schedule.stages.pop_back();
  return schedule;
}

bool scatter_allgather_applicable(const Request& r) {
  return in_pieces_applicable(r) && r.collective == Collective::kBroadcast;
}

}  // namespace

Algorithm scatter_allgather() {
  return {.name = "scatter_allgather",
          .source = "Thakur, Rabenseifner and Gropp 2005, 3.2 (van de Geijn)",
          .applicable = scatter_allgather_applicable,
          .build = scatter_allgather_schedule,
          .cuts = true};
}

}  // namespace fermata::algo
