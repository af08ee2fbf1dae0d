// The algorithm table. One algorithm = one file + one line in src/algo/table.cpp.
#ifndef FERMATA_ALGO_ALGORITHM_HPP
#define FERMATA_ALGO_ALGORITHM_HPP

#include <cstdint>
#include <span>
#include <string_view>

#include "base/kind.hpp"
#include "base/result.hpp"
#include "schedule/schedule.hpp"

namespace fermata {

// The half of a collective that an algorithm is asked for. kWhole is a complete collective; kArrive brings
// everybody's signal (or contribution) to member 0; kRelease takes it from member 0 to everybody. Hybrids
// compose halves.
enum class Half : std::uint8_t { kWhole, kArrive, kRelease };

struct Request {
  Kind kind = Kind::kBarrier;
  Half half = Half::kWhole;
  std::int32_t members = 1;
  std::int32_t root = 0;    // broadcast, reduce, gather and scatter, kWhole
  std::int32_t degree = 2;  // k of kary(k), tournament(k), combining_tree(k); ignored by the others
};

struct Algorithm {
  const char* name;    // "kary"
  bool has_degree;     // spelled kary(4)
  const char* source;  // paper and section
  // Can it (not: should it)? E.g. butterfly only at powers of two, sense_reversing only barriers, wholes only
  // where there is no root.
  bool (*applicable)(const Request&);
  Schedule (*build)(const Request&);  // precondition: applicable; the result's algorithm name includes the degree
  bool redundant;                     // contributions may arrive more than once (dissemination): idempotent operators only
  bool cuts = false;                  // broadcast, reduce and allreduce work on pieces of the vector: more than one chunk
  bool serial = false;                // for operations left to right alone; whether others would gain has not been measured
};

std::span<const Algorithm> algorithms();
const Algorithm* find_algorithm(std::string_view name);

struct AlgorithmName {
  const Algorithm* algorithm = nullptr;
  std::int32_t degree = 2;
};
// "kary(4)" -> {kary, 4}. Errors: kNotFound naming the table's names, kParse for a bad degree.
Result<AlgorithmName> parse_algorithm(std::string_view spelled);

}  // namespace fermata
#endif
