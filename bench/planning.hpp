// What planning itself takes, of one core: one given schedule built, proved, costed and compiled; and a whole
// search that times nothing.
#ifndef FERMATA_BENCH_PLANNING_HPP
#define FERMATA_BENCH_PLANNING_HPP

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/kind.hpp"
#include "base/result.hpp"

namespace fermata::bench {

struct PlanningRow {
  Kind kind;
  int members;
  std::string algorithm;  // as given; empty: the search
  std::string chosen;
  std::vector<double> ms;  // CPU time, one for each repeat
};

// Barrier and allreduce, for a machine of 8 packages x 4 shared caches that has as many cores. Errors: the
// planner's.
Result<std::vector<PlanningRow>> run_planning(
    const std::vector<int>& members, double seconds,
    const std::function<void(double done, const std::string& what)>& progress);

std::string planning_table(const std::vector<PlanningRow>& rows);
nlohmann::json planning_json(const std::vector<PlanningRow>& rows);

}  // namespace fermata::bench
#endif
