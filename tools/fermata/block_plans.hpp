// `fermata plan`, `explain` and `predict` for operations on blocks.
#ifndef FERMATA_TOOLS_BLOCK_PLANS_HPP
#define FERMATA_TOOLS_BLOCK_PLANS_HPP

#include <string>

#include "plan_request.hpp"

namespace fermata::tool {

inline constexpr double kNoise = 0.05;  // measurements within this relative distance are ties

struct BlockPlanning {
  int best = 0;      // how many of the predicted best to time
  std::string json;  // the file that also gets the plan; empty: none
  bool save = true;
};

// All throw CommandError.
void plan_blocks(const PlanRequest& request, const BlockPlanning& how);
void explain_blocks(const PlanRequest& request, bool json);
void predict_blocks(const PlanRequest& request, const std::string& json);

}  // namespace fermata::tool
#endif
