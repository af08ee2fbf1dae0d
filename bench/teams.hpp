// The time to create and join teams, and to split them repeatedly, as a program that divides its work anew
// would.
#ifndef FERMATA_BENCH_TEAMS_HPP
#define FERMATA_BENCH_TEAMS_HPP

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "bench/case.hpp"

namespace fermata::bench {

struct TeamsRow {
  std::string what;  // "make": create and join; "split": into two halves, all members at the same time
  Engine engine;
  int members;
  std::vector<double> us;  // at rank 0, one for each repeat
};

// Engines: threads and processes (each with one member). Splits make two halves. Errors: Fermata's.
Result<std::vector<TeamsRow>> run_teams(
    const std::vector<Engine>& engines, const std::vector<int>& members, double seconds,
    const std::function<void(double done, const std::string& what)>& progress);

std::string teams_table(const std::vector<TeamsRow>& rows);
nlohmann::json teams_json(const std::vector<TeamsRow>& rows);

}  // namespace fermata::bench
#endif
