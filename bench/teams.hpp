// The time to create and join teams, and to split them repeatedly, as a program that divides its work anew
// would.
#ifndef FERMATA_BENCH_TEAMS_HPP
#define FERMATA_BENCH_TEAMS_HPP

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "bench/case.hpp"
#include "plan/candidate.hpp"

namespace fermata::bench {

struct TeamsRow {
  // "make": one thread creates a team and joins all ranks; "split": into two halves, by all members at once
  std::string what;
  Engine engine;
  int members;
  std::vector<double> us;  // one for each repeat; of splits: at rank 0
};

// Engines: threads and processes. For splits, each member has a thread or process of its own. Errors:
// Fermata's, and kUnsupported for kMixed.
Result<std::vector<TeamsRow>> run_teams(const std::vector<Engine>& engines, const std::vector<int>& members,
                                        double seconds, const Progress& progress);

std::string teams_table(const std::vector<TeamsRow>& rows);
nlohmann::json teams_json(const std::vector<TeamsRow>& rows);

}  // namespace fermata::bench
#endif
