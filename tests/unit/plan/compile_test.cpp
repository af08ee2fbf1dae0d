// Compiled programs do what was proved, in every interleaving of their steps that the tests try.
#include <gtest/gtest.h>

#include "../../lockstep.hpp"
#include "algo/algorithm.hpp"
#include "base/line.hpp"
#include "plan/plan.hpp"
#include "schedule/print.hpp"
#include "schedule/verify.hpp"

namespace fermata {
namespace {

Plan plan_of(const std::string& schedule) {
  auto parsed =
      parse_schedule("fermata-schedule 2\nalgorithm test\ncollective barrier\n" + schedule + "end\n");
  if (!parsed) throw std::runtime_error(parsed.error().message);
  Plan plan;
  plan.schedule = *parsed;
  plan.key.members = parsed->members;
  return plan;
}

// The member that completes word 0 waits for word 1, to which member 0's own signal of stage 1 leads. That
// member may be member 0 itself.
constexpr const char* kClimb =
    "members 2\nroot 0\nchunks 0\nregisters 1\nword 0 threshold 2\nword 1 threshold 1\nword 2 threshold 1 "
    "agent 0\n"
    "stage 0\n  0 -> w0\n  1 -> w0\nstage 1\n  0 -> 1\nstage 2\n  1 -> w1\nstage 3\n  w1 -> w2\nstage 4\n  "
    "w2 -> 0\n  w2 -> 1\n";

TEST(Compile, WhoCompletesAWordSignalsInTheStagesThatWereProved) {
  const Plan plan = plan_of(kClimb);
  ASSERT_EQ(prove(plan), "");
  const auto program = compile_lines(plan);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(test::execute(program->data(), 1, 60, 6), "");
}

// The same with words that lead to words and a wait in every climb: members have a path for each word that
// they may complete.
TEST(Compile, ClimbsWithinClimbsKeepTheirStages) {
  const Plan plan = plan_of(
      "members 3\nroot 0\nchunks 0\nregisters 1\nword 0 threshold 3\nword 1 threshold 2\nword 2 threshold "
      "1\nword 3 threshold 1 agent 1\n"
      "word 4 threshold 1 agent 0\nword 5 threshold 3\n"
      "stage 0\n  0 -> w0\n  1 -> w0\n  2 -> w0\n  0 -> w5\n  1 -> w5\n  2 -> w5\n"
      "stage 1\n  0 -> 1\n  w0 -> w1\n  w5 -> w1\nstage 2\n  1 -> 2\n  1 -> w2\nstage 3\n  2 -> 0\n  w2 -> "
      "w3\nstage 4\n  1 -> 0\n"
      "stage 5\n  w3 -> w4\n"
      "stage 6\n  w4 -> 0\n  w4 -> 1\n  w4 -> 2\n");
  ASSERT_EQ(prove(plan), "");
  const auto program = compile_lines(plan);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(test::execute(program->data(), 2, 200, 6), "");
}

TEST(Compile, RefusesMoreWaysThanFit) {
  std::string text = "members 2\nroot 0\nchunks 0\nregisters 1\n";
  std::string first = "stage 0\n", last = "stage 1\n  0 -> 1\nstage 2\n  1 -> w18\nstage 3\n";
  std::string end = "stage 4\n  w18 -> 0\n  w18 -> 1\n";
  for (int w = 0; w < 18; ++w) {
    text += "word " + std::to_string(w) + " threshold 2\n";
    first += "  0 -> w" + std::to_string(w) + "\n  1 -> w" + std::to_string(w) + "\n";
  }
  text += "word 18 threshold 1\n";
  for (int w = 0; w < 18; ++w) {
    text += "word " + std::to_string(19 + w) + " threshold 1 agent " + std::to_string(w) + "\n";
    last += "  w18 -> w" + std::to_string(19 + w) + "\n";
    for (const char* member : {" -> 0\n", " -> 1\n"}) end += "  w" + std::to_string(19 + w) + member;
  }
  const Plan plan = plan_of(text + first + last + end);
  ASSERT_EQ(prove(plan), "");
  const auto program = compile_lines(plan);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().status, Status::kUnsupported);
  EXPECT_NE(program.error().message.find("member 0 would have more than 65536 steps"), std::string::npos)
      << program.error().message;
}

// The member that completes a word adds to the next one: the proof follows 64 such words. Members first meet
// in rings, because the proof's memory depends on the number of steps.
TEST(Compile, RefusesClimbsThatTheProofDoesNotFollow) {
  constexpr int kRings = 80;
  const auto chain = [](int words) {
    const auto word = [](int w) { return "w" + std::to_string(w); };
    const auto stage = [](int n) { return "stage " + std::to_string(n) + "\n"; };
    const int members = words + 1;
    std::string text = "members " + std::to_string(members) + "\nroot 0\nchunks 0\nregisters 1\n", stages;
    for (int ring = 0; ring < kRings; ++ring) {
      stages += stage(ring);
      for (int m = 0; m < members; ++m)
        stages += "  " + std::to_string(m) + " -> " + std::to_string((m + 1) % members) + "\n";
    }
    for (int w = 0; w < words; ++w) {
      text += "word " + std::to_string(w) + " threshold 2\n";
      const std::string name = " -> " + word(w) + "\n";
      stages += stage(kRings + w) + "  " + (w == 0 ? "0" : word(w - 1)) + name + "  " +
                std::to_string(w + 1) + name;
    }
    text += "word " + std::to_string(words) + " threshold 1 agent " + std::to_string(words - 1) + "\n";
    stages += stage(kRings + words) + "  " + word(words - 1) + " -> " + word(words) + "\n" +
              stage(kRings + words + 1);
    for (int m = 0; m < members; ++m) stages += "  " + word(words) + " -> " + std::to_string(m) + "\n";
    return plan_of(text + stages);
  };
  EXPECT_TRUE(compile_lines(chain(64))) << compile_lines(chain(64)).error().message;
  const auto longer = compile_lines(chain(65));
  ASSERT_FALSE(longer);
  EXPECT_NE(longer.error().message.find("it completes too many words at once"), std::string::npos)
      << longer.error().message;
}

// A member may be an episode ahead of others at a word, and credits protect slots only.
TEST(Compile, CreditsDoNotMendTheReuseOfWords) {
  Plan plan = plan_of(
      "members 3\nroot 0\nchunks 0\nregisters 1\nword 0 threshold 2\nword 1 threshold 1 agent 0\n"
      "stage 0\n  0 -> w0\n  0 -> 1\n  0 -> 2\n  1 -> 0\n  2 -> 0\n  2 -> 1\n"
      "stage 1\n  1 -> w0\nstage 2\n  w0 -> w1\nstage 3\n  w1 -> 2\n");
  for (const std::int32_t batch : {0, 1}) {
    plan.credit_batch = batch;
    const std::string flaw = prove(plan);
    EXPECT_EQ(flaw,
              "stage 0 may signal word 0 before its previous episode is complete, which no "
              "credit prevents");
    const auto program = compile_lines(plan);
    ASSERT_FALSE(program);
    EXPECT_EQ(program.error().status, Status::kVerify);
    EXPECT_NE(program.error().message.find(flaw), std::string::npos) << program.error().message;
    EXPECT_FALSE(plan_from_json(to_json(plan)));
  }
}

TEST(Compile, SaysWhatItRefuses) {
  const Plan good = plan_of(
      "members 3\nroot 0\nchunks 0\nregisters 1\nword 0 threshold 2\n"
      "stage 0\n  1 -> w0\n  2 -> w0\nstage 1\n  w0 -> 0\nstage 2\n  0 -> 1\n  0 -> 2\n");
  ASSERT_TRUE(compile_lines(good)) << compile_lines(good).error().message;
  const auto refusal = [&](auto&& change) {
    Plan plan = good;
    change(plan);
    const auto program = compile_lines(plan);
    return program ? "compiled" : program.error().message;
  };
  const auto is = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const auto laid_out = [&](auto&& change) {
    return refusal([&](Plan& plan) {
      LayoutChoice choice;
      change(choice);
      plan.layout = choice;
    });
  };
  EXPECT_EQ(laid_out([](LayoutChoice&) {}), "compiled");
  EXPECT_EQ(laid_out([](LayoutChoice& c) { c.stride = 8; }), "compiled");
  is(laid_out([](LayoutChoice& c) { c.stride = 9; }), "stride must be 1..8 lines");
  is(laid_out([](LayoutChoice& c) { c.stride = 0; }), "stride must be 1..8 lines");
  EXPECT_EQ(laid_out([](LayoutChoice& c) { c.slots = static_cast<int>(kMostSlots); }), "compiled");
  is(laid_out([](LayoutChoice& c) { c.slots = 2 * static_cast<int>(kMostSlots); }),
     "slots must be a power of two");
  is(laid_out([](LayoutChoice& c) { c.slots = 0; }), "slots must be a power of two");
  is(laid_out([](LayoutChoice& c) { c.slots = 3; }), "slots must be a power of two");
  EXPECT_EQ(laid_out([](LayoutChoice& c) { c.line = 128; }), "compiled");
  is(laid_out([](LayoutChoice& c) { c.line = 96; }), "line must be 64 or 128 bytes");
  EXPECT_EQ(refusal([](Plan& p) { p.key.hosts = {0, 0, 0}; }), "compiled");
  is(refusal([](Plan& p) { p.key.hosts = {0, 1, 0}; }), "a word cannot span hosts");
  is(refusal([](Plan& p) { p.key.hosts = {0, 1}; }), "hosts needs an entry for each rank");
  is(refusal([](Plan& p) { p.key.payload = 8; }), "words carry no data");
  is(refusal([](Plan& p) { p.schedule.members = 0; }), "members must be 1..16384");
  is(refusal([](Plan& p) { p.schedule.members = 16385; }), "members must be 1..16384");
  is(refusal([](Plan& p) { p.schedule.collective = Collective::kAllgather; }), "does not fit on a line");
  is(refusal([](Plan& p) { p.schedule.chunks = 2; }), "more than one chunk");
  is(refusal([](Plan& p) { p.schedule.collective = Collective::kAllreduce; }), "no payload given");
  is(refusal([](Plan& p) { p.schedule.root = 1; }), "plans are made for root 0");
  const auto large = [](Plan& p) {  // 4,608 signals of 8 KiB per slot
    p.schedule = find_algorithm("dissemination")->build({.members = 512});
    p.key.members = 512;
    LayoutChoice choice;
    choice.stride = 8, choice.line = 128, choice.slots = 512;
    p.layout = choice;
  };
  is(refusal(large), "the plan's slots would exceed 2 GiB");
}

// Programs of every algorithm are executed, too, in a few layouts.
TEST(Compile, EveryAlgorithmRuns) {
  for (const Algorithm& algorithm : algorithms()) {
    for (const Collective collective :
         {Collective::kBarrier, Collective::kBroadcast, Collective::kReduce, Collective::kAllreduce}) {
      for (const std::int32_t members : {2, 3, 4, 6, 7, 8, 11}) {
        const Request request{.collective = collective, .members = members};
        if (algorithm.cuts || !algorithm.applicable(request) ||
            !serves(algorithm, request, algebra_of(collective)))
          continue;
        for (const auto& [layout, credits] :
             {std::pair<const char*, int>{"packed+2slots", 0}, {"private", 1}, {"published+4slots", 2}}) {
          Plan plan;
          plan.key.collective = collective;
          plan.key.members = members;
          plan.key.payload = collective == Collective::kBarrier ? 0 : 56;
          plan.schedule = algorithm.build(request);
          plan.layout = *parse_layouts(layout);
          plan.credit_batch = credits;
          if (!verify(plan.schedule, {.associative = false})) continue;
          const auto program = compile_lines(plan);
          if (!program && credits == 0 && !synchronizes(collective)) continue;
          ASSERT_TRUE(program) << plan.schedule.algorithm << ": " << program.error().message;
          ASSERT_EQ(test::execute(program->data(), 3, 12 / FERMATA_TEST_SCALE + 4, 9), "")
              << plan.schedule.algorithm << " " << layout << " P=" << members;
        }
      }
    }
  }
}

}  // namespace
}  // namespace fermata
