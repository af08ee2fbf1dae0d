// recursive_doubling: what a member holds doubles with every stage.
//
// Source: Kogge and Stone (IEEE Trans. Computers C-22, 1973), who gave such scans the name; allgather:
//   Thakur, Rabenseifner and Gropp (Int. J. High Perform. Comput. Appl. 19, 2005), section 3.1.
// Steps:
//   1. Allgather, P not a power of two: the second member of each pair sends its chunk to the first, the
//      master. Pairs are as in extended_butterfly.
//   2. Allgather, stage s: group g exchanges all that it holds with group g XOR 2^s.
//   3. Allgather: the masters of pairs send all other chunks to the second member.
//   4. Exscan: every member sends its contribution to the next rank. The rest is a scan of members
//      1 ... P - 1.
//   5. Scan, stage s: member i sends its fold to i + 2^s, which puts it to the left of its own.
// Cost: an allgather takes log2 P stages of one message sent and one awaited. Where P is not a power of two,
//   it takes floor(log2 P) + 2 stages. Each chunk goes once to each other member. A scan takes ceil(log2 P)
//   stages, an exscan ceil(log2 (P - 1)) + 1. A scan sends fewer than P log2 P messages.
// Why right: step 2: before stage s a master holds the chunks of its block of 2^s groups. Its partner's block
//   is the other half of the next larger block. Step 5: after stage s member i has folded
//   i - 2^(s+1) + 1 ... i, or all members from 0 on.
// Limits: allgather, scan and exscan (butterfly does the barrier and the allreduce of this shape). Scans fold
//   intervals with lower ranks on the left, which is rank order.
// Tried: nothing rejected yet.
#include "algo/build.hpp"

namespace fermata::algo {
namespace {

void recursive_doubling_allgather(Schedule& schedule) {
  const Masters masters(schedule.members);
  const auto send_group = [&masters](Stage& stage, std::int32_t from, std::int32_t to, std::int32_t group) {
    for (std::int32_t k = 0; k < masters.group_size(group); ++k)
      stage.transfers.push_back(moved(from, to, masters.master(group) + k));
  };
  if (masters.pairs > 0) {  // 1.
    Stage& stage = schedule.stages.emplace_back();
    for (std::int32_t g = 0; g < masters.pairs; ++g)
      stage.transfers.push_back(moved(2 * g + 1, 2 * g, 2 * g + 1));
  }
  for (std::int32_t bit = 1; bit < masters.groups; bit *= 2) {  // 2.
    Stage& stage = schedule.stages.emplace_back();
    for (std::int32_t g = 0; g < masters.groups; ++g) {
      const std::int32_t block = g / bit * bit;
      for (std::int32_t h = block; h < block + bit; ++h)
        send_group(stage, masters.master(g), masters.master(g ^ bit), h);
    }
  }
  if (masters.pairs == 0) return;
  Stage& stage = schedule.stages.emplace_back();  // 3.
  for (std::int32_t g = 0; g < masters.pairs; ++g) {
    for (std::int32_t chunk = 0; chunk < schedule.members; ++chunk) {
      if (chunk != 2 * g + 1) stage.transfers.push_back(moved(2 * g, 2 * g + 1, chunk));
    }
  }
}

Schedule recursive_doubling_schedule(const Request& r) {
  Schedule schedule = frame_of(r, "recursive_doubling");
  if (r.members == 1) return schedule;
  if (r.collective == Collective::kAllgather) {
    recursive_doubling_allgather(schedule);
    return schedule;
  }
  std::int32_t first = 0;
  if (r.collective == Collective::kExscan) {  // 4.
    Stage& shift = schedule.stages.emplace_back();
    for (std::int32_t i = 0; i + 1 < r.members; ++i) shift.transfers.push_back(moved(i, i + 1, 0));
    first = 1;
  }
  for (std::int32_t distance = 1; first + distance < r.members; distance *= 2) {  // 5.
    Stage& stage = schedule.stages.emplace_back();
    for (std::int32_t i = first; i + distance < r.members; ++i)
      stage.transfers.push_back(folded(i, i + distance, 0, Side::kLeft));
  }
  return schedule;
}

bool recursive_doubling_applicable(const Request& r) {
  if (r.collective == Collective::kAllgather) return in_pieces_applicable(r);
  return sane(r) && r.half == Half::kWhole &&
         (r.collective == Collective::kScan || r.collective == Collective::kExscan);
}

}  // namespace

Algorithm recursive_doubling() {
  return {.name = "recursive_doubling",
          .source = "Kogge and Stone 1973; Thakur, Rabenseifner and Gropp 2005, 3.1",
          .applicable = recursive_doubling_applicable,
          .build = recursive_doubling_schedule};
}

}  // namespace fermata::algo
