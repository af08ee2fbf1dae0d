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
// members: in this algorithm all signal all, so programs have members^2 steps
constexpr std::int32_t kMostComplete = 64;

Plan plan_of(const Algorithm& algorithm, Kind kind, std::int32_t members) {
  Plan plan;
  plan.key.kind = kind;
  plan.key.members = members;
  plan.key.payload = kind == Kind::kBarrier ? 0 : 8;
  plan.schedule = algorithm.build({.kind = kind, .members = members, .degree = 4});
  plan.layout = LayoutChoice{.slots = synchronizes(kind) ? 2 : 128};
  plan.credit_batch = synchronizes(kind) ? 0 : 64;
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

}  // namespace

void time_program_proofs() {
  fmt::print("us to prove a compiled program, best of 5, in at most 64 MiB of memory\n{:<20}{:<11}",
             "algorithm", "collective");
  for (const std::int32_t members : kSizes) fmt::print("{:>10}", fmt::format("n={}", members));
  fmt::print("\n");
  for (const Algorithm& algorithm : algorithms())
    for (int k = 0; k < kLineKindCount; ++k) {
      const Kind kind = static_cast<Kind>(k);
      if (algorithm.cuts || (algorithm.redundant && kind != Kind::kBarrier)) continue;
      std::string line;
      for (const std::int32_t members : kSizes) {
        const bool fits = algorithm.applicable({.kind = kind, .members = members, .degree = 4}) &&
                          (algorithm.name != std::string("complete") || members <= kMostComplete);
        const auto program =
            fits ? compile(plan_of(algorithm, kind, members)) : Error{Status::kUnsupported, ""};
        line += program ? fmt::format("{:>10.1f}",
                                      microseconds(*reinterpret_cast<const ProgramHeader*>(program->data())))
                        : fmt::format("{:>10}", "-");
      }
      if (line.find_first_not_of(" -") != std::string::npos)
        fmt::print("{:<20}{:<11}{}\n", algorithm.name, name_of(kind), line);
    }
}

}  // namespace fermata::tool
