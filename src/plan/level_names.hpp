// Names of compositions, as plans print them and users give them: "kary(8)/linear", "linear-kary(4)/linear".
#ifndef FERMATA_PLAN_LEVEL_NAMES_HPP
#define FERMATA_PLAN_LEVEL_NAMES_HPP

#include <optional>
#include <string>
#include <vector>

#include "algo/algorithm.hpp"
#include "base/result.hpp"

namespace fermata {

// One level of a composition, as its user named it. Without a release it has that of the arrival.
struct LevelName {
  AlgorithmName arrive;
  std::optional<AlgorithmName> release;
};

// True if the text has the form of a composition: several levels, or an arrival and a release.
bool names_levels(const std::string& spelled);
// Errors: kParse, and those of parse_algorithm.
Result<std::vector<LevelName>> parse_levels(const std::string& spelled);

}  // namespace fermata
#endif
