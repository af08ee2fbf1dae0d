// The algorithm table. An algorithm is one file and one line in src/algo/table.cpp
// (docs/adding-an-algorithm.md).
#ifndef FERMATA_ALGO_ALGORITHM_HPP
#define FERMATA_ALGO_ALGORITHM_HPP

#include <cstdint>
#include <span>
#include <string_view>

#include "base/collective.hpp"
#include "base/result.hpp"
#include "schedule/schedule.hpp"

namespace fermata {

// Which half of a collective a request asks for. kWhole is the complete collective. kArrive brings every
// member's signal or contribution to member 0. kRelease takes the signal or the result from member 0 to every
// member. The planner composes halves along a tree of clusters (plan/compose_lines.cpp).
enum class Half : std::uint8_t { kWhole, kArrive, kRelease };

struct Request {
  Collective collective = Collective::kBarrier;
  Half half = Half::kWhole;
  std::int32_t members = 1;
  std::int32_t root = 0;    // of broadcast, reduce, gather and scatter, for kWhole
  std::int32_t degree = 2;  // k of kary(k) and the like; ignored by algorithms without a degree
};

// How often, and in which order, the members fold the contributions of a collective.
enum class Folding : std::uint8_t {
  // Each contribution once; members that fold all contributions fold the same tree: right for every
  // commutative operator.
  kOneTree,
  kOnce,      // each contribution once, members fold different trees: right if the operator is associative
  kRepeated,  // some contributions more than once: right only if the operator is associative and idempotent
};

// What an algorithm says of itself. The planner and the checks of the table (algo/sweep.hpp) ask these
// fields. They know no algorithm by its name.
struct Algorithm {
  const char* name;              // "kary"
  bool has_degree = false;       // its name is spelled with a degree: kary(4)
  const char* source = nullptr;  // paper and section
  // Can the algorithm do this (not: should it)? For example, butterfly needs a power of two, sense_reversing
  // does barriers only, and dissemination does wholes only.
  bool (*applicable)(const Request&) = nullptr;
  // Precondition: applicable. The schedule's name includes the degree, if there is one.
  Schedule (*build)(const Request&) = nullptr;
  // Should the planner pass over it, though it can do this? Returns the reason, or null if it is worth
  // building. A null function: it is always worth building.
  const char* (*skip)(const Request&) = nullptr;
  // For collectives that fold. A null function: kOneTree for every request.
  Folding (*folding)(const Request&) = nullptr;
  // Every signal of its barriers is needed, for every P: without any one of them the schedule is no barrier.
  // False: at some P a barrier can do without one of its signals.
  bool minimal = true;
  bool cuts = false;  // cuts the vector of a broadcast, reduce or allreduce into chunks
  // The planner takes it only for operations that must fold left to right. It was not measured whether other
  // operations would gain.
  bool serial = false;
};

// Does every member get the right result if `op` commutes? Only `associative` and `idempotent` of `op` are
// read: whether the algorithm keeps rank order, for other operators, is for verify() to prove. Always true
// for collectives that fold nothing.
bool serves(const Algorithm& algorithm, const Request& request, OpTraits op);
// The algorithm's reason not to build this, or null.
const char* skipped(const Algorithm& algorithm, const Request& request);

std::span<const Algorithm> algorithms();
const Algorithm* find_algorithm(std::string_view name);  // a name without a degree; null: there is none

struct AlgorithmName {
  const Algorithm* algorithm = nullptr;
  std::int32_t degree = 2;
};
// "kary(4)" -> {kary, 4}, "kary" -> {kary, 2}. Errors: kNotFound, which names the algorithms of the table;
// kParse for a bad degree, one that the algorithm cannot have, or a degree of an algorithm that has none.
Result<AlgorithmName> parse_algorithm(std::string_view spelled);

}  // namespace fermata
#endif
