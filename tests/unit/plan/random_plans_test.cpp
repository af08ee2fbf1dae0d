// Random plans are proved or refused, and executed in both cases: a proved plan runs right, and a refused
// plan fails.
// FERMATA_RANDOM_PLANS=FIRST:COUNT draws other plans than the first few thousand (make random-plans). Each is
// drawn from its own number, so a run can stop anywhere and be continued.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <thread>

#include "../../lockstep.hpp"
#include "exec/builtin.hpp"
#include "exec/member.hpp"
#include "exec/proof/proof.hpp"
#include "plan/line_programs.hpp"
#include "random_plans.hpp"
#include "schedule/structure.hpp"
#include "schedule/verify.hpp"

namespace fermata {
namespace {

struct Tally {
  int proved = 0, refused = 0, failed = 0;  // failed: refused, and seen to go wrong
  int refused_twice = 0;                    // by its schedule, and by its program alone
  int words = 0, credits = 0, mixed = 0;    // of the proved ones
  int threads = 0;
  int needless = 0;                   // refused for a word that the barrier does not need
  std::map<std::string, int> unseen;  // refused, but nothing went wrong: by reason
};

// The first words of a reason, without numbers.
std::string in_short(const std::string& reason) {
  std::string out;
  for (const char c : reason.substr(reason.rfind(": ") == std::string::npos ? 0 : reason.rfind(": ") + 2))
    if (c < '0' || c > '9') out += c;
  return out.substr(0, 60);
}

// Runs a barrier's program in threads that spin, yield and park. Returns false if no thread could start.
bool run_in_threads(const std::vector<std::byte>& program, std::uint32_t members, std::uint64_t number) {
  const WaitKind waits[] = {WaitKind::kAuto, WaitKind::kYield, WaitKind::kPark};
  exec::TeamOptions options;
  options.members = members;
  options.wait = waits[number % 3];
  options.programs[static_cast<int>(exec::PlanSlot::kBarrier)] = program.data();
  exec::Team* team = nullptr;
  const char* detail = "";
  if (exec::Team::create(options, &team, &detail) != Status::kOk) return false;
  std::vector<exec::Member*> joined(members);
  for (std::uint32_t m = 0; m < members; ++m)
    if (exec::Member::join(team, m, &joined[m], &detail) != Status::kOk) return false;
  std::vector<int> written(members * 16);
  std::atomic<int> wrong{0};
  std::vector<std::thread> simulation;
  for (std::uint32_t m = 0; m < members; ++m)
    simulation.emplace_back([&, m] {
      joined[m]->waiter().settings.timeout_ns = 60'000'000'000;
      for (int e = 1; e <= 60; ++e) {
        written[m * 16] = e;
        wrong += joined[m]->barrier() != Status::kOk;
        for (std::uint32_t other = 0; other < members; ++other) wrong += written[other * 16] != e;
        wrong += joined[m]->barrier() != Status::kOk;
      }
    });
  for (std::thread& t : simulation) t.join();
  for (exec::Member* member : joined) member->leave();
  team->release();
  return wrong == 0;
}

void run_proved(const Plan& plan, const std::vector<std::byte>& program, std::uint64_t number, Tally& tally) {
  ASSERT_EQ(test::execute(program.data(), number, 6, 10), "") << "plan " << number;
  ++tally.proved;
  tally.words += !plan.schedule.words.empty();
  tally.credits +=
      reinterpret_cast<const ProgramHeader*>(program.data())->payload > 0 && plan.credit_batch > 0;
  tally.mixed += plan.layout.listed().size() > 1;
  if (number % 32 != 0 || plan.key.collective != Collective::kBarrier || plan.key.payload > 0 ||
      plan.key.members > 4)
    return;
  ++tally.threads;
  ASSERT_TRUE(run_in_threads(program, static_cast<std::uint32_t>(plan.key.members), number))
      << "plan " << number;
}

void run_refused(const Plan& plan, const std::string& reason, std::uint64_t number, Tally& tally) {
  ++tally.refused;
  const auto program = assemble(plan, reuse_hazards(plan.schedule, plan.layout, plan.key.payload > 0));
  // Without a proof of its own, the program need not be executed.
  const bool proved =
      program && exec::prove_program(*reinterpret_cast<const ProgramHeader*>(program->data()));
  // If only words are wrong and the barrier does not need them, many more interleavings would find nothing
  // either.
  const bool needless = test::needs_no_such_words(plan);
  const bool only_words = reuse_hazards(plan.schedule, plan.layout, true).size() ==
                          reuse_hazards(plan.schedule, plan.layout, false).size();
  const bool fails =
      !program ||
      !test::execute(program->data(), number, needless && only_words && !proved ? 20 : 200, 12).empty();
  tally.failed += fails;
  // The proof of the compiled program does not know the reason: it must find a flaw in every plan that fails.
  if (program) {
    ASSERT_FALSE(proved && fails) << "plan " << number << ": " << reason;
    tally.refused_twice += !proved;
  }
  if (fails) return;
  if (needless) ++tally.needless;
  else ++tally.unseen[in_short(reason)];
}

void draw(std::uint64_t number, Tally& tally) {
  const Plan plan = test::plan_of(number);
  if (!check_structure(plan.schedule)) return;
  const auto program = compile_lines(plan);
  if (program) {
    run_proved(plan, *program, number, tally);
    return;
  }
  ASSERT_FALSE(program.error().message.empty()) << "plan " << number;
  // Executes a part of the refused plans only: each one many times.
  if (number % 4 == 0 && program.error().status == Status::kVerify)
    run_refused(plan, program.error().message, number, tally);
}

TEST(RandomPlans, RunRightIfProvedAndFailIfRefused) {
  unsigned long long first = 0, count = 12000 / FERMATA_TEST_SCALE;
  const char* const asked = std::getenv("FERMATA_RANDOM_PLANS");
  ASSERT_TRUE(asked == nullptr || std::sscanf(asked, "%llu:%llu", &first, &count) == 2) << asked;
  Tally tally;
  for (unsigned long long n = first; n < first + count && !HasFatalFailure(); ++n) draw(n, tally);
  std::printf(
      "plans %llu to %llu: %d proved and run (%d with words, %d with credits, %d with mixed layouts, %d by "
      "threads);\n"
      "%d refused and executed all the same, of which %d failed, and %d have words that they do not need; %d "
      "by their programs alone\n",
      first, first + count - 1, tally.proved, tally.words, tally.credits, tally.mixed, tally.threads,
      tally.refused, tally.failed, tally.needless, tally.refused_twice);
  for (const auto& [reason, times] : tally.unseen)
    std::printf("  did not fail: %5d %s\n", times, reason.c_str());
  EXPECT_GE((tally.failed + tally.needless) * 100, tally.refused * 95);
  EXPECT_GE(tally.refused_twice * 100, tally.refused * 95);
  if (first != 0) return;
  EXPECT_GT(tally.proved, 1000 / FERMATA_TEST_SCALE);
  EXPECT_GT(tally.words, 300 / FERMATA_TEST_SCALE);
  EXPECT_GT(tally.credits, 100 / FERMATA_TEST_SCALE);
  EXPECT_GT(tally.mixed, 1000 / FERMATA_TEST_SCALE);
  EXPECT_GT(tally.threads, 5 / FERMATA_TEST_SCALE);
}

}  // namespace
}  // namespace fermata
