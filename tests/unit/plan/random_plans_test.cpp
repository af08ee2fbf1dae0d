// Plans drawn at random are proved or refused, and executed either way: what is proved runs right, and what is refused fails.
//
// FERMATA_RANDOM_PLANS=FIRST:COUNT draws other plans than the first few thousand (make random-plans). Each is drawn from its own number, so
// a run can be cut anywhere and continued.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <thread>

#include "../../lockstep.hpp"
#include "exec/builtin.hpp"
#include "exec/member.hpp"
#include "plan/member_programs.hpp"
#include "random_plans.hpp"
#include "schedule/structure.hpp"
#include "schedule/verify.hpp"

namespace fermata {
namespace {

struct Tally {
  int proved = 0, refused = 0, failed = 0;  // failed: refused, and seen to go wrong
  int words = 0, credits = 0, mixed = 0;    // of those proved
  int threads = 0;
  int needless = 0;                   // refused for a word that the barrier does not need
  std::map<std::string, int> unseen;  // refused, but nothing went wrong: by the reason of the refusal
};

// The first words of a reason, without numbers.
std::string in_short(const std::string& reason) {
  std::string out;
  for (const char c : reason.substr(reason.rfind(": ") == std::string::npos ? 0 : reason.rfind(": ") + 2))
    if (c < '0' || c > '9') out += c;
  return out.substr(0, 60);
}

// A barrier's program by threads that spin, yield and park. False: nobody could start.
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
  std::vector<std::thread> crew;
  for (std::uint32_t m = 0; m < members; ++m)
    crew.emplace_back([&, m] {
      joined[m]->set_timeout(60'000'000'000);
      for (int e = 1; e <= 60; ++e) {
        written[m * 16] = e;
        wrong += joined[m]->barrier() != Status::kOk;
        for (std::uint32_t other = 0; other < members; ++other) wrong += written[other * 16] != e;
        wrong += joined[m]->barrier() != Status::kOk;
      }
    });
  for (std::thread& t : crew) t.join();
  for (exec::Member* member : joined) member->leave();
  team->release();
  return wrong == 0;
}

void run_proved(const Plan& plan, const std::vector<std::byte>& program, std::uint64_t number, Tally& tally) {
  ASSERT_EQ(test::execute(program.data(), number, 6, 10), "") << "plan " << number;
  ++tally.proved;
  tally.words += !plan.schedule.words.empty();
  tally.credits += reinterpret_cast<const ProgramHeader*>(program.data())->payload > 0 && plan.credit_batch > 0;
  tally.mixed += plan.layout.listed().size() > 1;
  if (number % 32 != 0 || plan.key.kind != Kind::kBarrier || plan.key.payload > 0 || plan.key.members > 4) return;
  ++tally.threads;
  ASSERT_TRUE(run_in_threads(program, static_cast<std::uint32_t>(plan.key.members), number)) << "plan " << number;
}

// Is it a barrier without the words whose reuse is not safe? Then a word that counts wrong does no visible harm, and is refused
// nevertheless.
bool needs_no_such_words(const Plan& plan) {
  Schedule s = plan.schedule;
  std::set<std::int32_t> gone;
  for (const Hazard& h : reuse_hazards(s, plan.layout, false))
    gone.insert(s.stages[static_cast<std::size_t>(h.stage)].transfers[static_cast<std::size_t>(h.transfer)].to);
  for (std::size_t before = 0; before != gone.size();) {  // and those that theirs complete
    before = gone.size();
    for (const Stage& stage : s.stages)
      for (const Transfer& t : stage.transfers)
        if (s.is_word(t.to) && s.is_word(t.from))
          if (gone.contains(t.from) || gone.contains(s.word_vertex(actor_of(s, t)))) gone.insert(t.to);
  }
  for (Word& word : s.words) word.threshold = 0;
  for (Stage& stage : s.stages) {
    std::erase_if(stage.transfers, [&](const Transfer& t) { return gone.contains(t.from) || gone.contains(t.to); });
    for (const Transfer& t : stage.transfers)
      if (s.is_word(t.to)) ++s.words[static_cast<std::size_t>(s.word_of(t.to))].threshold;
  }
  for (Word& word : s.words)
    if (word.threshold == 0) word = Word{};
  for (const std::int32_t w : gone) s.stages.front().transfers.push_back({.from = 0, .to = w});  // a word has an adder
  return !gone.empty() && verify(s, {}).ok();
}

void run_refused(const Plan& plan, const std::string& reason, std::uint64_t number, Tally& tally) {
  ++tally.refused;
  const auto program = assemble(plan, reuse_hazards(plan.schedule, plan.layout, plan.key.payload > 0));
  // What it says of itself is part of it: a program without it need not be executed.
  const bool fails = !program || !test::execute(program->data(), number, 200, 12).empty();
  tally.failed += fails;
  if (fails) return;
  if (needs_no_such_words(plan)) ++tally.needless;
  else ++tally.unseen[in_short(reason)];
}

void draw(std::uint64_t number, Tally& tally) {
  test::Random random(static_cast<unsigned>(number * 2654435761u + 1));
  const Plan plan = test::random_plan(random);
  if (!check_structure(plan.schedule)) return;
  const auto program = compile(plan);
  if (program) {
    run_proved(plan, *program, number, tally);
    return;
  }
  ASSERT_FALSE(program.error().message.empty()) << "plan " << number;
  // Of those refused, some: each is executed many times.
  if (number % 4 == 0 && program.error().status == Status::kVerify) run_refused(plan, program.error().message, number, tally);
}

TEST(RandomPlans, RunRightIfProvedAndFailIfRefused) {
  unsigned long long first = 0, count = 12000 / FERMATA_TEST_SCALE;
  const char* const asked = std::getenv("FERMATA_RANDOM_PLANS");
  ASSERT_TRUE(asked == nullptr || std::sscanf(asked, "%llu:%llu", &first, &count) == 2) << asked;
  Tally tally;
  for (unsigned long long n = first; n < first + count && !HasFatalFailure(); ++n) draw(n, tally);
  std::printf(
      "plans %llu to %llu: %d proved and run (%d with words, %d with credits, %d with mixed layouts, %d by threads);\n"
      "%d refused and executed all the same, of which %d failed, and %d have words that they do not need\n",
      first, first + count - 1, tally.proved, tally.words, tally.credits, tally.mixed, tally.threads, tally.refused, tally.failed,
      tally.needless);
  for (const auto& [reason, times] : tally.unseen) std::printf("  did not fail: %5d %s\n", times, reason.c_str());
  EXPECT_GE((tally.failed + tally.needless) * 100, tally.refused * 95);
  if (first != 0) return;
  EXPECT_GT(tally.proved, 1000 / FERMATA_TEST_SCALE);
  EXPECT_GT(tally.words, 300 / FERMATA_TEST_SCALE);
  EXPECT_GT(tally.credits, 100 / FERMATA_TEST_SCALE);
}

// Of few members and slots every interleaving is executed: none of a proved plan goes wrong, and one of a refused plan does, unless it has
// words that it does not need or is one of the few that are refused too strictly (docs/proofs.md).
TEST(RandomPlans, OfSmallOnesEveryInterleavingIsExecuted) {
  constexpr std::size_t kMostStates = 20'000;
  int proved = 0, failed = 0, needless = 0, strict = 0, too_large = 0;
  for (std::uint64_t n = 0; n < 12'000 / FERMATA_TEST_SCALE; ++n) {
    test::Random random(static_cast<unsigned>(n * 2654435761u + 1));
    const Plan plan = test::random_plan(random);
    const auto layouts = plan.layout.listed();
    const bool few_slots = std::all_of(layouts.begin(), layouts.end(), [](const LayoutChoice& choice) { return choice.slots <= 2; });
    if (plan.key.members > 3 || !few_slots || !check_structure(plan.schedule)) continue;
    const auto compiled = compile(plan);
    if (!compiled && compiled.error().status != Status::kVerify) continue;
    const auto program = compiled ? compiled : assemble(plan, reuse_hazards(plan.schedule, plan.layout, plan.key.payload > 0));
    if (!program) {
      ++failed;
      continue;
    }
    const auto& header = *reinterpret_cast<const ProgramHeader*>(program->data());
    test::Exhausted result;
    for (std::uint32_t root = 0; root < header.roots && result.wrong.empty() && result.complete; ++root)
      for (const bool parks : {false, true})
        if (result.wrong.empty() && result.complete) result = test::exhaust(program->data(), root, parks, 4, kMostStates);
    ASSERT_TRUE(!compiled || result.wrong.empty()) << "plan " << n << ": " << result.wrong;
    if (!result.complete) ++too_large;
    else if (compiled) ++proved;
    else if (!result.wrong.empty()) ++failed;
    else if (needs_no_such_words(plan)) ++needless;
    else ++strict;
  }
  std::printf(
      "every interleaving: %d proved, none wrong; of those refused %d fail, %d have words that they do not need, %d would run right;\n"
      "%d have more than %zu states\n",
      proved, failed, needless, strict, too_large, kMostStates);
  EXPECT_GT(proved, 100 / FERMATA_TEST_SCALE);
  EXPECT_GT(failed, 100 / FERMATA_TEST_SCALE);
  EXPECT_LE(strict * 25, failed);
}

}  // namespace
}  // namespace fermata
