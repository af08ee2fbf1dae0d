// `fermata plan`, `explain` and `predict` for operations on blocks.
#ifndef FERMATA_TOOLS_BLOCK_PLANS_HPP
#define FERMATA_TOOLS_BLOCK_PLANS_HPP

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "plan_request.hpp"

namespace fermata::tool {

struct BlockPlanning {
  int best = 0;      // how many of the predicted best to time; 0: predicts only
  std::string json;  // the file that also gets the plan; empty: none
  bool save = true;  // in the cache; an estimate never replaces a measured plan
};

// All throw CommandError. json of explain_blocks: prints JSON instead of text; of predict_blocks: the file
// that also gets the table, or empty.
void plan_blocks(const PlanRequest& request, const BlockPlanning& how);
void explain_blocks(const PlanRequest& request, bool json);
void predict_blocks(const PlanRequest& request, const std::string& json);

// Prints `subjects` and how well the predictions match the measurements of these subjects. Returns how well,
// as JSON. Throws CommandError if there are fewer than two measurements.
nlohmann::json report_agreement(const std::vector<double>& predicted, const std::vector<double>& measured,
                                const std::string& subjects);

}  // namespace fermata::tool
#endif
