// The CPU time of planning on one core: a given schedule is built, proved, costed and compiled; or a whole
// search is done, which times no candidate.
#ifndef FERMATA_BENCH_PLANNING_HPP
#define FERMATA_BENCH_PLANNING_HPP

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/collective.hpp"
#include "base/result.hpp"
#include "plan/candidate.hpp"

namespace fermata::bench {

struct PlanningRow {
  Collective collective;
  int members;
  std::string algorithm;  // as given; empty: the search
  std::string chosen;
  std::vector<double> ms;  // CPU time, one for each repeat
};

// For barrier and allreduce, on an estimated machine of 8 packages x 4 shared caches, with a core for each
// member. Errors: the planner's and the compiler's.
Result<std::vector<PlanningRow>> run_planning(const std::vector<int>& members, double seconds,
                                              const Progress& progress);

std::string planning_table(const std::vector<PlanningRow>& rows);
nlohmann::json planning_json(const std::vector<PlanningRow>& rows);

}  // namespace fermata::bench
#endif
