// redundant_butterfly: a butterfly over the next power of two, where members stand in for the missing ones.
//
// Source: reduction-with-barrier, section II.D: the version for any number of threads of Brooks (Int. J.
//   Parallel Program. 15, 1986).
// Steps:
//   1. Let T be the least power of two with T >= P. Places 0 ... T - 1 run a butterfly: in stage s place v
//      signals v XOR 2^s. Member v mod P stands at place v. A signal from a member to itself is left out, and
//      a signal that one member owes another twice in a stage goes once.
// Cost: at most T log2 T signals in log2 T stages. The T - P members at two places send and await up to two
//   slots per stage.
// Why right: it is the butterfly of T places, and a member knows all that its places know. So after the last
//   stage every member knows of every place, and each member stands at one at least.
// Limits: barrier and allreduce only. Where P is no power of two, an allreduce takes the contributions of
//   members at two places more than once. So there it is only for idempotent operators that commute and
//   associate. At a power of two it is butterfly.
// Tried: nothing rejected yet. The paper calls it not efficient for a large number of threads, and proposes
//   extended_butterfly instead.
#include <bit>

#include "algo/build.hpp"

namespace fermata::algo {
namespace {

bool is_power(const Request& r) { return std::has_single_bit(static_cast<std::uint32_t>(r.members)); }

Schedule redundant_butterfly_schedule(const Request& r) {
  const std::int32_t places = 1 << log2_ceil(r.members);
  EdgeStages stages;
  for (std::int32_t bit = 1; bit < places; bit *= 2) {  // 1.
    std::vector<Edge>& stage = stages.emplace_back();
    for (std::int32_t from = 0; from < r.members; ++from) {
      const auto signal = [&](std::int32_t place) {
        const std::int32_t to = (place ^ bit) % r.members;
        const bool known = !stage.empty() && stage.back().from == from && stage.back().to == to;
        if (to == from || known) return;
        stage.push_back({from, to, from < to ? Side::kLeft : Side::kRight});
      };
      signal(from);
      if (from + r.members < places) signal(from + r.members);
    }
  }
  return from_exchange(r, "redundant_butterfly", stages);
}

}  // namespace

Algorithm redundant_butterfly() {
  return {.name = "redundant_butterfly",
          .source = "reduction-with-barrier II.D (any number of threads)",
          .applicable = exchange_applicable,
          .build = redundant_butterfly_schedule,
          .skip = [](const Request& r) { return is_power(r) ? "butterfly does the same" : nullptr; },
          .folding = [](const Request& r) { return is_power(r) ? Folding::kOneTree : Folding::kRepeated; },
          .minimal = false};
}

}  // namespace fermata::algo
