#include "verify_programs.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "algo/algorithm.hpp"
#include "commands.hpp"
#include "exec/proof/proof.hpp"
#include "plan/plan.hpp"

namespace fermata::tool {
namespace {

constexpr std::int32_t kSizes[] = {2, 16, 64, 256, 1024};
// A schedule with more signals is left out, so that the table appears soon.
constexpr std::size_t kMostSignals = 32768;

Plan plan_of(const Algorithm& algorithm, Collective collective, std::int32_t members) {
  Plan plan;
  plan.key.collective = collective;
  plan.key.members = members;
  plan.key.payload = collective == Collective::kBarrier ? 0 : 8;
  plan.schedule = algorithm.build({.collective = collective, .members = members, .degree = 4});
  plan.layout = LayoutChoice{.slots = synchronizes(collective) ? 2 : 128};
  plan.credit_batch = synchronizes(collective) ? 0 : 64;
  return plan;
}

// The least of several runs: disturbances on the machine only add time.
double microseconds(const ProgramHeader& program) {
  using Clock = std::chrono::steady_clock;
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 5; ++i) {
    const auto start = Clock::now();
    const exec::Proof proof = exec::prove_program(program);
    best = std::min(best, std::chrono::duration<double, std::micro>(Clock::now() - start).count());
    if (proof) continue;
    char why[exec::kProofText];
    exec::describe(proof, why);
    throw CommandError(std::string(program.algorithm) + ": " + why);
  }
  return best;
}

// Empty if the algorithm has no such program.
std::string time_of(const Algorithm& algorithm, Collective collective, std::int32_t members) {
  const Request request{.collective = collective, .members = members, .degree = 4};
  if (!algorithm.applicable(request) || !serves(algorithm, request, algebra_of(collective))) return {};
  const Plan plan = plan_of(algorithm, collective, members);
  if (plan.schedule.transfer_count() > kMostSignals) return {};
  const auto program = compile_lines(plan);
  if (!program) return {};
  return fmt::format("{:.1f}", microseconds(program_header(program->data())));
}

}  // namespace

void time_program_proofs() {
  fmt::print("us to prove a compiled program, best of 5, in at most 64 MiB of memory\n{:<24}{:<11}",
             "algorithm", "collective");
  for (const std::int32_t members : kSizes) fmt::print("{:>10}", fmt::format("n={}", members));
  fmt::print("\n");
  for (const Algorithm& algorithm : algorithms())
    for (int k = 0; k < kLineCollectiveCount; ++k) {
      const Collective collective = static_cast<Collective>(k);
      if (algorithm.cuts) continue;
      std::string line;
      bool any = false;
      for (const std::int32_t members : kSizes) {
        const std::string time = time_of(algorithm, collective, members);
        any = any || !time.empty();
        line += fmt::format("{:>10}", time.empty() ? "-" : time);
      }
      if (any) fmt::print("{:<24}{:<11}{}\n", algorithm.name, name_of(collective), line);
    }
}

}  // namespace fermata::tool
