// Every interleaving of small plans drawn at random.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "../../lockstep.hpp"
#include "plan/line_programs.hpp"
#include "random_plans.hpp"
#include "schedule/structure.hpp"
#include "schedule/verify.hpp"

namespace fermata {
namespace {

// For plans of few members and slots, the test executes every interleaving. A proved plan never goes wrong,
// and a refused plan does in some interleaving. Exceptions are plans with words that they do not need, and
// the few that are refused too strictly (docs/proofs.md).
TEST(RandomPlans, OfSmallOnesEveryInterleavingIsExecuted) {
  constexpr std::size_t kMostStates = 20'000;
  int proved = 0, failed = 0, needless = 0, strict = 0, too_large = 0;
  for (std::uint64_t n = 0; n < 12'000 / FERMATA_TEST_SCALE; ++n) {
    const Plan plan = test::plan_of(n);
    const auto layouts = plan.layout.listed();
    const bool few_slots = std::all_of(layouts.begin(), layouts.end(),
                                       [](const LayoutChoice& choice) { return choice.slots <= 2; });
    if (plan.key.members > 3 || !few_slots || !check_structure(plan.schedule)) continue;
    const auto compiled = compile_lines(plan);
    if (!compiled && compiled.error().status != Status::kVerify) continue;
    const auto program =
        compiled ? compiled : assemble(plan, reuse_hazards(plan.schedule, plan.layout, plan.key.payload > 0));
    if (!program) {
      ++failed;
      continue;
    }
    const auto& header = *reinterpret_cast<const ProgramHeader*>(program->data());
    test::Exhausted result;
    for (std::uint32_t root = 0; root < header.roots && result.wrong.empty() && result.complete; ++root)
      for (const bool parks : {false, true})
        if (result.wrong.empty() && result.complete)
          result = test::exhaust(program->data(), root, parks, 4, kMostStates);
    ASSERT_TRUE(!compiled || result.wrong.empty()) << "plan " << n << ": " << result.wrong;
    if (!result.complete) ++too_large;
    else if (compiled) ++proved;
    else if (!result.wrong.empty()) ++failed;
    else if (test::needs_no_such_words(plan)) ++needless;
    else ++strict;
  }
  std::printf(
      "every interleaving: %d proved, none wrong; of those refused %d fail, %d have words that they do not "
      "need, %d would run right;\n"
      "%d have more than %zu states\n",
      proved, failed, needless, strict, too_large, kMostStates);
  EXPECT_GT(proved, 100 / FERMATA_TEST_SCALE);
  EXPECT_GT(failed, 100 / FERMATA_TEST_SCALE);
  EXPECT_LE(strict * 25, failed);
}

}  // namespace
}  // namespace fermata
