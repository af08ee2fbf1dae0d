// The algorithm table. An algorithm is one file and one line in src/algo/table.cpp.
#ifndef FERMATA_ALGO_ALGORITHM_HPP
#define FERMATA_ALGO_ALGORITHM_HPP

#include <cstdint>
#include <span>
#include <string_view>

#include "base/kind.hpp"
#include "base/result.hpp"
#include "schedule/schedule.hpp"

namespace fermata {

// Which half of a collective a request asks for. kWhole is the complete collective. kArrive brings every
// member's signal or contribution to member 0. kRelease takes the signal or the result from member 0 to every
// member. Hybrids compose halves.
enum class Half : std::uint8_t { kWhole, kArrive, kRelease };

struct Request {
  Kind kind = Kind::kBarrier;
  Half half = Half::kWhole;
  std::int32_t members = 1;
  std::int32_t root = 0;    // of broadcast, reduce, gather and scatter, for kWhole
  std::int32_t degree = 2;  // k of kary(k), tournament(k), combining_tree(k); ignored by the others
};

struct Algorithm {
  const char* name;    // "kary"
  bool has_degree;     // spelled kary(4)
  const char* source;  // paper and section
  // Can the algorithm do this (not: should it)? For example, butterfly needs a power of two, sense_reversing
  // does barriers only, and algorithms without a root do wholes only.
  bool (*applicable)(const Request&);
  Schedule (*build)(const Request&);  // precondition: applicable; the schedule's name includes the degree
  bool redundant;                     // may repeat contributions, so for idempotent operators only
  bool cuts = false;                  // cuts the vector of a broadcast, reduce or allreduce into chunks
  // Only for operations that must fold left to right. It was not measured whether other operations would
  // gain.
  bool serial = false;
};

std::span<const Algorithm> algorithms();
const Algorithm* find_algorithm(std::string_view name);

struct AlgorithmName {
  const Algorithm* algorithm = nullptr;
  std::int32_t degree = 2;
};
// "kary(4)" -> {kary, 4}. Errors: kNotFound, which names the algorithms of the table; kParse for a bad
// degree.
Result<AlgorithmName> parse_algorithm(std::string_view spelled);

}  // namespace fermata
#endif
