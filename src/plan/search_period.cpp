#include <algorithm>

#include "plan/search.hpp"

namespace fermata {

bool only_words(const Schedule& s) {
  for (const Stage& stage : s.stages)
    for (const Transfer& t : stage.transfers)
      if (!s.is_word(t.from) && !s.is_word(t.to)) return false;
  return true;
}

double with_credits(double period, const Schedule& schedule, const CostModel& model, const Entry& entry) {
  if (entry.credit_batch == 0) return period;
  double longest = 0, each = 0;
  for (const Stage& stage : schedule.stages)
    for (const Transfer& t : stage.transfers) {
      if (schedule.is_word(t.from) || schedule.is_word(t.to)) continue;
      longest = std::max(longest, distance(model, t.from, t.to));
      each = std::max(each, model.l_at(t.to, t.from));
    }
  // A member that waits for a credit on a shared CPU yields the CPU.
  const double turn = model.members_per_cpu > 1 ? model.switch_ns * model.members_per_cpu : 0;
  return std::max(period, (2 * longest + turn) / entry.layout.least_slots()) + each / entry.credit_batch;
}

}  // namespace fermata
