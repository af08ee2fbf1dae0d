// recursive_halving: each stage halves the piece of the vector that a member goes on folding (Rabenseifner's).
//
// Source: Rabenseifner (ICCS 2004, LNCS 3036); Thakur, Rabenseifner and Gropp (Int. J. High Perform. Comput. Appl. 19,
//   2005), sections 4.3 and 4.5.
// Steps:
//   1. P not a power of two: the two ranks of each pair (as in extended_butterfly) fold half of the vector each, and the
//      second hands its half to the first, the master.
//   2. Stage s: group g sends group g XOR 2^s the chunks of those groups that share bit s with it, of what it still
//      folds; afterwards group g folds the groups that agree with it in the s + 1 lowest bits.
//   3. Allreduce: the stages of 2 backwards, finished chunks copied. (A chunk for each group; reduce_scatter has one for
//      each member.)
//   4. Masters of pairs hand the second the whole (allreduce) or its chunk.
// Cost: log2 P stages (2 or 3 more where P is no power of two, 2 log2 P for an allreduce) of one message sent and one
//   awaited, of 1/2, 1/4, ... of the vector: as many bytes as ring in far fewer stages.
// Why right: after stage s a master has folded its block of 2^(s+1) groups, for the chunks of the groups with its low
//   bits; after the last one all, for its own group's.
// Limits: reduce_scatter and allreduce. Near ranks exchange first, the largest messages: blocks are intervals of ranks,
//   lower ones left, so rank order holds, and each chunk is one tree. A message's chunks are not neighbours.
// Tried: distances that halve along with the vector keep a message's chunks together, but fold i with i + P / 2 first: no
//   rank order, and the largest message goes farthest.
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

  // Groups that agree with `like` in the bits below `bound`.
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
      for (std::int32_t c = 0; whole_ && c < schedule_.chunks; ++c) stage.transfers.push_back(moved(low, high, c));
    }
  }

  Schedule& schedule_;
  const Masters masters_;
  const bool whole_;
};

Schedule build(const Request& r) {
  Schedule schedule = frame_of(r, "recursive_halving");
  Halving(schedule, r.kind == Kind::kAllreduce).run();
  return schedule;
}

bool applicable(const Request& r) { return in_pieces_applicable(r) && (r.kind == Kind::kAllreduce || r.kind == Kind::kReduceScatter); }

}  // namespace

Algorithm recursive_halving() {
  return {.name = "recursive_halving",
          .has_degree = false,
          .source = "Rabenseifner 2004; Thakur, Rabenseifner and Gropp 2005, 4.3 and 4.5",
          .applicable = applicable,
          .build = build,
          .redundant = false,
          .cuts = true};
}

}  // namespace fermata::algo
