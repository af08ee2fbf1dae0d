// Plan files. An accepted plan compiles or has a reason why not. A compiled plan is executed and must give
// the right result.
#include "plan/plan.hpp"
#include "../../lockstep.hpp"
#include "../target.hpp"

namespace {

constexpr std::uint32_t kMostMembers = 16, kMostRegion = 1 << 20;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fermata;
  const std::string_view text = fuzz::text_of(data, size);
  const int result = fuzz::round_trip(text, plan_from_json, [](const Plan& plan) { return to_json(plan); });
  if (result == 0) {
    const Plan plan = plan_from_json(text).value();
    const auto program = compile_lines(plan);
    if (!program.ok() && program.error().message.empty())
      fuzz::fail("not compiled and no reason", std::string(text));
    if (!program.ok()) return result;
    const auto& header = *reinterpret_cast<const ProgramHeader*>(program->data());
    if (header.members > kMostMembers || header.region_bytes > kMostRegion) return result;
    const test::Wrong wrong = test::execute(program->data(), size, 5, 5);
    if (!wrong.empty()) fuzz::fail("an accepted plan goes wrong", wrong + "\n" + std::string(text));
  }
  return result;
}
