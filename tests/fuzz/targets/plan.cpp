// Plan files. What is accepted has been proved again and compiles, or says why not.
#include "../target.hpp"
#include "plan/plan.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fermata;
  const std::string_view text = fuzz::text_of(data, size);
  const int result = fuzz::round_trip(text, plan_from_json, [](const Plan& plan) { return to_json(plan); });
  if (result == 0) {
    const Plan plan = plan_from_json(text).value();
    const std::string refusal = prove(plan);
    if (!refusal.empty()) fuzz::fail("accepted without a proof", refusal);
    const auto program = compile(plan);
    if (!program.ok() && program.error().message.empty()) fuzz::fail("not compiled and no reason", std::string(text));
  }
  return result;
}
