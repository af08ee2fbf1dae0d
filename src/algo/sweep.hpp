// The table against its proofs: what verify must say of every algorithm, and of schedules broken on purpose.
// `fermata verify --all` prints these rows; the tests assert that nothing in them is wrong.
#ifndef FERMATA_ALGO_SWEEP_HPP
#define FERMATA_ALGO_SWEEP_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "algo/algorithm.hpp"

namespace fermata {

// Must verify accept it? Known for commutative operators: yes, but for algorithms that repeat contributions.
// Those only where the operator is idempotent, or at powers of two (where they repeat nothing) if it
// associates, or up to two members.
bool must_be_proved(const Algorithm& algorithm, const Request& request, OpTraits op);

// Degrees that sweeps use for an algorithm: {2} if it has none.
std::vector<std::int32_t> degrees_of(const Algorithm& algorithm);

struct SweepRow {
  std::string algorithm;
  std::int64_t proved[kKindCount] = {};  // verdicts "proved", as they must be, by kind
  std::int64_t refused = 0;              // verdicts "refused", as they must be
  std::int64_t rank_order = 0,
               rank_order_of = 0;  // data schedules that also serve operators that do not commute
  std::int64_t reuse = 0;          // no run-ahead hazard: words; kinds that synchronize with two slots
  std::int64_t wrong = 0;
  std::string first_wrong = {};
  double ms = 0;
};
// All kinds, all operator classes, the sizes given; for kinds with a root several roots. Schedules in pieces up to
// kMostPiecesSwept members: beyond, members^2 transfers are much work and nothing new.
inline constexpr std::int32_t kMostPiecesSwept = 130;
SweepRow sweep(const Algorithm& algorithm, std::int32_t degree, const std::vector<std::int32_t>& sizes);

struct BreakRow {
  std::string what;
  bool must_refuse = true;  // false: harmless changes that must be accepted
  std::int64_t tried = 0, wrong = 0;
  std::string first_wrong = {};
};
std::vector<BreakRow> broken_schedules();

// `schedule` without one transfer; the threshold of a word that it signalled goes down with it.
Schedule without(const Schedule& schedule, std::size_t stage, std::size_t transfer);

}  // namespace fermata
#endif
