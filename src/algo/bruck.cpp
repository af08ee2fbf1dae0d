// bruck: messages of many chunks go over distances 1, 2, 4, ..., for any P.
//
// Source: Bruck, Ho, Kipnis, Upfal and Weathersby (IEEE Trans. Parallel Distrib. Syst. 8, 1997).
// Steps:
//   1. Allgather, stage s: member i sends its chunks i ... i + 2^s - 1 to i - 2^s (all mod P). The last stage
//      sends only as many as the receiver lacks.
//   2. Alltoall, stage s: a chunk that has to go a distance d = to - from mod P moves by 2^s if bit s of d is
//      set. A member sends all its chunks with that bit in one message.
// Cost: ceil(log2 P) stages of one message sent and one awaited. With one message per member and stage, no
//   fewer stages suffice. This suits small chunks. Allgather: each chunk goes once to each other member.
//   Alltoall: a chunk moves up to log2 P times, and a message has up to P / 2 chunks.
// Why right: step 1 doubles an interval that begins at the member's own rank. In step 2 the distances of the
//   set bits add up to d.
// Limits: allgather and alltoall.
// Tried: nothing rejected yet.
#include <algorithm>

#include "algo/build.hpp"
#include "schedule/compose.hpp"

namespace fermata::algo {
namespace {

void bruck_allgather(Schedule& schedule) {
  const std::int32_t p = schedule.members;
  for (std::int32_t distance = 1; distance < p; distance *= 2) {  // 1.
    Stage& stage = schedule.stages.emplace_back();
    const std::int32_t count = std::min(distance, p - distance);
    for (std::int32_t i = 0; i < p; ++i) {
      for (std::int32_t k = 0; k < count; ++k)
        stage.transfers.push_back(moved(i, (i - distance + p) % p, (i + k) % p));
    }
    order_messages(stage);
  }
}

void alltoall(Schedule& schedule) {
  const std::int32_t p = schedule.members;
  for (std::int32_t bit = 1; bit < p; bit *= 2) {  // 2.
    Stage& stage = schedule.stages.emplace_back();
    for (std::int32_t at = 0; at < p; ++at) {
      for (std::int32_t d = bit; d < p; ++d) {
        if ((d & bit) == 0) continue;
        const std::int32_t from = (at - d % bit + p) % p;
        stage.transfers.push_back(moved(at, (at + bit) % p, from * p + (from + d) % p));
      }
    }
    order_messages(stage);
  }
}

Schedule bruck_schedule(const Request& r) {
  Schedule schedule = frame_of(r, "bruck");
  r.collective == Collective::kAllgather ? bruck_allgather(schedule) : alltoall(schedule);
  return schedule;
}

bool bruck_applicable(const Request& r) {
  return in_pieces_applicable(r) &&
         (r.collective == Collective::kAllgather || r.collective == Collective::kAlltoall);
}

}  // namespace

Algorithm bruck() {
  return {.name = "bruck",
          .source = "Bruck, Ho, Kipnis, Upfal and Weathersby 1997",
          .applicable = bruck_applicable,
          .build = bruck_schedule};
}

}  // namespace fermata::algo
