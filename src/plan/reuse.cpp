#include "plan/reuse.hpp"

#include <bit>

namespace fermata {

std::string flaw_of_reuse(const Schedule& schedule, const Layouts& layouts,
                          const std::vector<Hazard>& hazards, std::int32_t credit_batch) {
  if (credit_batch > layouts.least_slots()) return "credit_batch is larger than the number of slots";
  if (credit_batch > 0 && !std::has_single_bit(static_cast<unsigned>(credit_batch)))
    return "credit_batch must be a power of two";
  for (const Hazard& h : hazards) {
    const std::string stage = "stage " + std::to_string(h.stage);
    const Transfer& x =
        schedule.stages[static_cast<std::size_t>(h.stage)].transfers[static_cast<std::size_t>(h.transfer)];
    if (schedule.is_word(x.to))
      return stage + " may signal word " + std::to_string(schedule.word_of(x.to)) +
             " before its previous episode is complete, which no credit prevents";
    if (credit_batch > 0) continue;
    const std::int32_t slots = layouts.at(static_cast<std::size_t>(h.stage)).slots;
    return stage + " overwrites a slot before it is read, with " + std::to_string(slots) +
           (slots == 1 ? " slot" : " slots") + " per edge";
  }
  return {};
}

}  // namespace fermata
