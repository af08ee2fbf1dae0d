// Files of plans for collectives on blocks.
#include "../target.hpp"
#include "plan/block_plan.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fermata;
  return fuzz::round_trip(fuzz::text_of(data, size), block_plans_from_json,
                          [](const BlockPlans& plans) { return to_json(plans); });
}
