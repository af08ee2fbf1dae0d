// Checks that a schedule may run back to back in a layout's slots, with the plan's credits.
#ifndef FERMATA_PLAN_REUSE_HPP
#define FERMATA_PLAN_REUSE_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "schedule/layout.hpp"
#include "schedule/schedule.hpp"
#include "schedule/verify.hpp"

namespace fermata {

// Returns why credits every `credit_batch` episodes do not remove these hazards, or why there can be no such
// credits. Empty: they remove them, or there are no hazards. A credit tells the sender that a slot was read.
// Words have no credits, so a hazard of a transfer into a word always remains.
std::string flaw_of_reuse(const Schedule& schedule, const Layouts& layouts,
                          const std::vector<Hazard>& hazards, std::int32_t credit_batch);

}  // namespace fermata
#endif
