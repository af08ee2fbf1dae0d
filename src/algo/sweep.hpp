// Checks the table against its proofs: what verify must say of every algorithm, and of schedules broken on
// purpose. `fermata verify --all` prints these rows, and the tests assert that none is wrong.
#ifndef FERMATA_ALGO_SWEEP_HPP
#define FERMATA_ALGO_SWEEP_HPP

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "algo/algorithm.hpp"

namespace fermata {

// The degrees that sweeps use for an algorithm; {2} if it has no degree.
std::vector<std::int32_t> degrees_of(const Algorithm& algorithm);

struct SweepRow {
  std::string algorithm;
  std::int64_t proved[kCollectiveCount] = {};  // right verdicts "proved", by collective
  // Right verdicts "refused": operators that the algorithm does not serve, such as a sum if it repeats
  // contributions.
  std::int64_t refused = 0;
  std::int64_t rank_order = 0,
               rank_order_of = 0;  // schedules that fold: how many keep rank order, of how many
  // Schedules without a run-ahead hazard with two slots. Two kinds of schedules are checked, up to 70
  // members: those with words, and those that carry data of a collective that synchronizes.
  std::int64_t reuse = 0;
  std::int64_t wrong = 0;        // wrong verdicts, and checked schedules with a hazard
  std::string first_wrong = {};  // what the first of these was
  double ms = 0;                 // the time of this sweep
};
// Covers whole collectives of all kinds and the given sizes; collectives with a root have several roots. The
// operators stand for sums of integers and of floating-point numbers, maxima, and matrix products (rank
// order). Schedules in pieces go up to kMostPiecesSwept members: more members mean members^2 transfers and
// show nothing new.
inline constexpr std::int32_t kMostPiecesSwept = 130;
SweepRow sweep(const Algorithm& algorithm, std::int32_t degree, const std::vector<std::int32_t>& sizes);

struct BreakRow {
  std::string what;
  bool must_refuse = true;  // false: a harmless change, which must be accepted
  std::int64_t tried = 0, wrong = 0;
  std::string first_wrong = {};
};
// Breaks the schedules of these algorithms, and a barrier with more signals than it needs, which no algorithm
// has. The rows without a schedule to break have tried == 0.
std::vector<BreakRow> broken_schedules(std::span<const Algorithm> table = algorithms());

// `schedule` without one transfer. If the transfer signals a word, the word's threshold goes down by one.
Schedule without(const Schedule& schedule, std::size_t stage, std::size_t transfer);

}  // namespace fermata
#endif
