// What `fermata plan`, `explain` and `predict` do for operations on blocks.
#ifndef FERMATA_TOOLS_BLOCK_PLANS_HPP
#define FERMATA_TOOLS_BLOCK_PLANS_HPP

#include <string>

#include "plan_request.hpp"

namespace fermata::tool {

inline constexpr double kNoise = 0.05;  // measurements nearer than this to each other are ties

struct BlockPlanning {
  int best = 0;      // how many of the predicted best to time
  std::string json;  // also to this file; empty: not
  bool save = true;
};

// All throw CommandError.
void plan_blocks(const PlanRequest& request, const BlockPlanning& how);
void explain_blocks(const PlanRequest& request, bool json);
void predict_blocks(const PlanRequest& request, const std::string& json);

}  // namespace fermata::tool
#endif
