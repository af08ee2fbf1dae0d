// recursive_halving: each stage halves the piece of the vector that a member still folds (Rabenseifner).
//
// Source: Rabenseifner (ICCS 2004, LNCS 3036); Thakur, Rabenseifner and Gropp (Int. J. High Perform. Comput.
//   Appl. 19, 2005), sections 4.3 and 4.5.
// Steps:
//   1. P not a power of two: the two ranks of each pair fold one half of the vector each. Then the second
//      sends its half to the first, the master. Pairs are as in extended_butterfly.
//   2. Stage s: group g sends part of the chunks that it still folds to group g XOR 2^s: the chunks of groups
//      that share bit s with the receiver. Afterwards group g folds the chunks of groups that agree with g in
//      the s + 1 lowest bits.
//   3. Allreduce: the stages of step 2 in reverse, which copy finished chunks. (An allreduce has one chunk
//      per group, a reduce_scatter one per member.)
//   4. The masters of pairs send the second member the whole vector (allreduce) or its chunk
//      (reduce_scatter).
// Cost: log2 P stages, or 2 log2 P for an allreduce. Each stage has one message sent and one awaited, of 1/2,
//   1/4, ... of the vector. The bytes are as many as in ring, in far fewer stages. Where P is not a power of
//   two, the logarithm is rounded down, there are 3 stages more, and the pairs move more bytes.
// Why right: after stage s a master has folded the contributions of its block of 2^(s+1) groups, for the
//   chunks of groups with its low bits. After the last stage it has folded all contributions, for its own
//   group's chunks.
// Limits: reduce_scatter and allreduce. Near ranks exchange first, with the largest messages. Blocks are
//   intervals of ranks with lower ranks on the left, so rank order holds and each chunk is one tree. The
//   chunks of a message are not neighbours.
// Tried: distances that halve along with the vector keep a message's chunks together. But they fold i with
//   i + P / 2 first: rank order is lost, and the largest message goes farthest.
#include "algo/build.hpp"

namespace fermata::algo {
namespace {

class Halving {
 public:
  Halving(Schedule& schedule, bool whole) : schedule_(schedule), masters_(schedule.members), whole_(whole) {
    if (whole) schedule.chunks = masters_.groups;
  }

  void run() {
    if (masters_.pairs > 0) fold_pairs();                                                      // 1.
    for (std::int32_t bit = 1; bit < masters_.groups; bit *= 2) halve(bit);                    // 2.
    for (std::int32_t bit = masters_.groups / 2; whole_ && bit > 0; bit /= 2) double_up(bit);  // 3.
    if (masters_.pairs > 0) tell_pairs();                                                      // 4.
  }

 private:
  template <class Visit>
  void chunks_of(std::int32_t group, Visit&& visit) const {
    const std::int32_t first = whole_ ? group : masters_.master(group);
    for (std::int32_t k = 0; k < (whole_ ? 1 : masters_.group_size(group)); ++k) visit(first + k);
  }

  void fold_pairs() {
    Stage fold, hand;
    for (std::int32_t g = 0; g < masters_.pairs; ++g) {
      const std::int32_t low = 2 * g, high = 2 * g + 1, half = masters_.groups / 2;
      for (std::int32_t h = half; h < masters_.groups; ++h)
        chunks_of(h, [&](std::int32_t c) { fold.transfers.push_back(folded(low, high, c, Side::kLeft)); });
      for (std::int32_t h = 0; h < half; ++h)
        chunks_of(h, [&](std::int32_t c) { fold.transfers.push_back(folded(high, low, c, Side::kRight)); });
      for (std::int32_t h = half; h < masters_.groups; ++h)
        chunks_of(h, [&](std::int32_t c) { hand.transfers.push_back(moved(high, low, c)); });
    }
    schedule_.stages.push_back(std::move(fold));
    schedule_.stages.push_back(std::move(hand));
  }

  // Visits the chunks of groups that agree with `like` in the bits below `bound`, a power of two.
  template <class Visit>
  void alike(std::int32_t like, std::int32_t bound, Visit&& visit) const {
    for (std::int32_t h = like % bound; h < masters_.groups; h += bound) chunks_of(h, visit);
  }

  void halve(std::int32_t bit) {
    Stage& stage = schedule_.stages.emplace_back();
    for (std::int32_t g = 0; g < masters_.groups; ++g) {
      const std::int32_t partner = g ^ bit, from = masters_.master(g), to = masters_.master(partner);
      const Side side = g < partner ? Side::kLeft : Side::kRight;
      alike(partner, 2 * bit, [&](std::int32_t c) { stage.transfers.push_back(folded(from, to, c, side)); });
    }
  }

  void double_up(std::int32_t bit) {
    Stage& stage = schedule_.stages.emplace_back();
    for (std::int32_t g = 0; g < masters_.groups; ++g) {
      const std::int32_t from = masters_.master(g), to = masters_.master(g ^ bit);
      alike(g, 2 * bit, [&](std::int32_t c) { stage.transfers.push_back(moved(from, to, c)); });
    }
  }

  void tell_pairs() {
    Stage& stage = schedule_.stages.emplace_back();
    for (std::int32_t g = 0; g < masters_.pairs; ++g) {
      const std::int32_t low = 2 * g, high = 2 * g + 1;
      if (!whole_) stage.transfers.push_back(moved(low, high, high));
      for (std::int32_t c = 0; whole_ && c < schedule_.chunks; ++c)
        stage.transfers.push_back(moved(low, high, c));
    }
  }

  Schedule& schedule_;
  const Masters masters_;
  const bool whole_;
};

Schedule recursive_halving_schedule(const Request& r) {
  Schedule schedule = frame_of(r, "recursive_halving");
  Halving(schedule, r.collective == Collective::kAllreduce).run();
  return schedule;
}

bool recursive_halving_applicable(const Request& r) {
  return in_pieces_applicable(r) &&
         (r.collective == Collective::kAllreduce || r.collective == Collective::kReduceScatter);
}

}  // namespace

Algorithm recursive_halving() {
  return {.name = "recursive_halving",
          .source = "Rabenseifner 2004; Thakur, Rabenseifner and Gropp 2005, 4.3 and 4.5",
          .applicable = recursive_halving_applicable,
          .build = recursive_halving_schedule,
          .cuts = true};
}

}  // namespace fermata::algo
