// Whether a schedule may run back to back in a layout's slots, with the plan's credits.
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

// Why these hazards are none that credits mend; empty: credits every `credit_batch` episodes do, or there are none. Credits say that a slot
// was read. Nothing says so of a word: a hazard of a transfer into a word stands, whatever the credits.
std::string flaw_of_reuse(const Schedule& schedule, const Layouts& layouts, const std::vector<Hazard>& hazards, std::int32_t credit_batch);

}  // namespace fermata
#endif
