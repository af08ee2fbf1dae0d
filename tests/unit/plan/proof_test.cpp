// The proof of compiled programs: the compiler's programs are proved, and a changed program is proved only if
// it runs right.
#include "exec/proof/proof.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "../../lockstep.hpp"
#include "algo/algorithm.hpp"
#include "exec/team.hpp"
#include "plan/plan.hpp"
#include "random_plans.hpp"
#include "schedule/compose.hpp"
#include "schedule/structure.hpp"

namespace fermata {
namespace {

using exec::Proof;
using exec::prove_program;
using Blob = std::vector<std::byte>;

std::string text_of(const Proof& proof) {
  char text[exec::kProofText];
  exec::describe(proof, text);
  return text;
}

ProgramHeader& header(Blob& blob) { return *reinterpret_cast<ProgramHeader*>(blob.data()); }
Step& step(Blob& blob, std::uint32_t member, std::uint32_t i) {
  const auto* programs = reinterpret_cast<const MemberProgram*>(blob.data() + header(blob).programs_offset);
  return reinterpret_cast<Step*>(blob.data() + header(blob).steps_offset)[programs[member].first + i];
}
std::uint32_t steps_of(Blob& blob, std::uint32_t member) {
  return reinterpret_cast<const MemberProgram*>(blob.data() + header(blob).programs_offset)[member].count;
}

Blob compiled(const char* algorithm, Collective collective, std::int32_t members, const char* layout,
              std::int32_t credits = 0) {
  Plan plan;
  plan.key.collective = collective;
  plan.key.members = members;
  plan.key.payload = collective == Collective::kBarrier ? 0 : 16;
  plan.schedule = find_algorithm(algorithm)->build({.collective = collective, .members = members});
  plan.layout = *parse_layouts(layout);
  plan.credit_batch = credits;
  auto program = compile_lines(plan);
  if (!program) throw std::runtime_error(program.error().message);
  return *program;
}

// Team creation asks for the proof, wherever the program comes from.
TEST(Proof, IsAskedByWhoeverMakesATeam) {
  Blob blob = compiled("dissemination", Collective::kBarrier, 4, "private");
  exec::TeamOptions options;
  options.members = 4;
  options.programs[static_cast<int>(exec::PlanSlot::kBarrier)] = blob.data();
  exec::Team* team = nullptr;
  const char* detail = "";
  ASSERT_EQ(exec::Team::create(options, &team, &detail), Status::kOk) << detail;
  team->release();
  for (std::uint32_t m = 0; m < 4; ++m) step(blob, m, 0).code = Code::kEnd;  // no member waits for another
  ASSERT_TRUE(program_is_sound(blob.data(), blob.size()));
  team = nullptr;
  EXPECT_NE(exec::Team::create(options, &team, &detail), Status::kOk);
  EXPECT_EQ(team, nullptr);
  EXPECT_NE(std::string(detail), "");
}

// Each change is one that could be made to a proved program by hand, with the proof's answer.
TEST(Proof, NamesTheFlaw) {
  const auto expect_flaw = [](Blob blob, const char* flaw, auto&& change) {
    ASSERT_TRUE(prove_program(header(blob))) << text_of(prove_program(header(blob)));
    change(blob);
    ASSERT_TRUE(program_is_sound(blob.data(), blob.size()));
    const Proof proof = prove_program(header(blob));
    EXPECT_FALSE(proof);
    EXPECT_NE(text_of(proof).find(flaw), std::string::npos) << text_of(proof);
  };
  const Blob exchange = compiled("dissemination", Collective::kBarrier, 2, "private");
  expect_flaw(exchange, "ends before it knows that every member has arrived", [](Blob& b) {
    for (std::uint32_t m = 0; m < 2; ++m) step(b, m, 0).code = Code::kEnd;
  });
  expect_flaw(exchange, "no step sends the signal that it waits for",
              [](Blob& b) { step(b, 0, 0).code = Code::kEnd; });
  expect_flaw(exchange, "writes to the same memory as another step",
              [](Blob& b) { step(b, 0, 0).offset = step(b, 1, 0).offset; });
  expect_flaw(exchange, "no step rings the doorbell at which it parks",
              [](Blob& b) { step(b, 0, 0).door = 0; });
  expect_flaw(exchange, "waits for another member than the one that signals",
              [](Blob& b) { step(b, 0, 1).peer = 0; });
  expect_flaw(exchange, "sent only after this wait ends", [](Blob& b) {
    for (std::uint32_t m = 0; m < 2; ++m) std::swap(step(b, m, 0), step(b, m, 1));
  });
  const Blob counter = compiled("counter", Collective::kBarrier, 3, "private");
  expect_flaw(counter, "waits for more or fewer adds", [](Blob& b) { step(b, 0, 1).threshold = 2; });
  expect_flaw(counter, "needs more or fewer adds than come", [](Blob& b) {
    for (std::uint32_t m = 0; m < 3; ++m) step(b, m, 0).threshold = step(b, m, 1).threshold = 2;
  });
  expect_flaw(counter, "ends before it knows that every member has arrived",
              [](Blob& b) { step(b, 1, 1).code = Code::kEnd; });
  const Blob tree = compiled("combining_tree", Collective::kBarrier, 4, "private");
  expect_flaw(tree, "meet after different steps", [](Blob& b) {
    for (std::uint32_t i = 0; i < steps_of(b, 3); ++i)
      if (step(b, 3, i).code == Code::kFlip) step(b, 3, i).code = Code::kPoll, step(b, 3, i).pauses = 1;
  });
  const Blob pair = compiled("combining_tree", Collective::kBarrier, 2, "private");
  expect_flaw(pair, "ends before it knows that every member has arrived",
              [](Blob& b) { step(b, 1, 3).code = Code::kJump, step(b, 1, 3).target = 4; });
  const Blob sum = compiled("butterfly", Collective::kAllreduce, 2, "packed+2slots");
  expect_flaw(sum, "without the contribution of every member",
              [](Blob& b) { step(b, 0, 1).fold = Fold::kCopy; });
  expect_flaw(sum, "slot that may not have been read", [](Blob& b) {
    for (std::uint32_t m = 0; m < 2; ++m) step(b, m, 0).mask = step(b, m, 1).mask = 0;
  });
  expect_flaw(sum, "reads a slot at another place", [](Blob& b) { step(b, 0, 1).mask = 0; });
  const Blob chain = compiled("kary", Collective::kAllreduce, 4, "private+2slots");
  expect_flaw(chain, "contribution more than once", [](Blob& b) {
    for (std::uint32_t i = 0; i < steps_of(b, 1); ++i)
      if (step(b, 1, i).fold == Fold::kCopy) step(b, 1, i).fold = Fold::kCombineRight;
  });
  const Blob stream = compiled("linear", Collective::kBroadcast, 2, "private+4slots", 2);
  expect_flaw(stream, "a credit that comes only after its slots are used up",
              [](Blob& b) { step(b, 1, 1).threshold = 8; });
  expect_flaw(stream, "slot that may not have been read", [](Blob& b) { step(b, 0, 0).threshold = 8; });
  expect_flaw(stream, "slot that may not have been read",
              [](Blob& b) { std::swap(step(b, 1, 0), step(b, 1, 1)); });
  expect_flaw(stream, "its result is not the root's value",
              [](Blob& b) { step(b, 1, 0).fold = Fold::kNone; });
}

TEST(Proof, GoesBeyondNoLimitOfMemory) {
  Blob program = compiled("dissemination", Collective::kBarrier, 200, "private");
  EXPECT_TRUE(prove_program(header(program), {.most_bytes = 4 << 20}));
  EXPECT_NE(text_of(prove_program(header(program), {.most_bytes = 100'000})).find("more memory"),
            std::string::npos);
}

// Over hosts, a signal uses the port exactly where its two members share no memory.
TEST(Proof, KnowsWhoSharesMemory) {
  Plan plan;
  plan.key.members = 4;
  plan.key.hosts = {0, 0, 1, 1};
  plan.schedule = find_algorithm("dissemination")->build({.members = 4});
  auto program = compile_lines(plan);
  ASSERT_TRUE(program) << program.error().message;
  const std::uint32_t hosts[] = {0, 0, 1, 1}, others[] = {0, 1, 0, 1};
  EXPECT_TRUE(prove_program(header(*program), {.hosts = hosts}));
  EXPECT_FALSE(prove_program(header(*program), {.hosts = others}));
  EXPECT_FALSE(prove_program(header(*program)));
  Blob counter = compiled("counter", Collective::kBarrier, 4, "private");
  EXPECT_TRUE(prove_program(header(counter)));
  EXPECT_NE(text_of(prove_program(header(counter), {.hosts = hosts})).find("another host"),
            std::string::npos);
}

// ---- Programs with a step changed at random

class Changer {
 public:
  explicit Changer(unsigned seed) : random_(seed) {}
  unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }

  void change(Blob& blob) {
    const std::uint32_t m = below(header(blob).members), count = steps_of(blob, m);
    if (count < 2) return;
    Step& s = step(blob, m, below(count - 1));
    const std::uint32_t other = below(header(blob).members);
    const Step& t = step(blob, other, below(steps_of(blob, other)));
    switch (below(9)) {
      case 0: swap_with_next(blob, m); break;
      case 1: s.offset = t.offset; break;
      case 2: s.threshold = below(2) ? s.threshold * 2 : s.threshold - 1; break;
      case 3: skip(blob, m); break;
      case 4: s.fold = static_cast<Fold>(below(4)); break;
      case 5: s.door = t.door, s.rings = t.rings; break;
      case 6: s.mask = s.mask == 0 ? 1 : 0; break;
      case 7: s.reg = static_cast<std::uint8_t>(below(header(blob).registers)); break;
      case 8:
        if (s.code == Code::kAdd) s.target = 1 + below(count - 1);
        else s.stride = t.stride;
        break;
    }
  }

 private:
  void swap_with_next(Blob& blob, std::uint32_t m) {
    const std::uint32_t i = below(steps_of(blob, m) - 1);
    if (step(blob, m, i + 1).code != Code::kEnd) std::swap(step(blob, m, i), step(blob, m, i + 1));
  }
  void skip(Blob& blob, std::uint32_t m) {
    const std::uint32_t i = below(steps_of(blob, m) - 1);
    Step& s = step(blob, m, i);
    s.code = Code::kJump;
    s.target = i + 1;
  }
  std::mt19937 random_;
};

// A program that is proved after a change runs right in every interleaving that the test tries. Most refused
// programs are seen to fail. The others are wrong in ways that these interleavings don't show (a door at
// which nobody happens to park), or not wrong: a proof may refuse too much.
class Changed {
 public:
  void judge(const Blob& before, int trial, const std::string& what) {
    Blob blob = before;
    for (unsigned k = 0; k <= changer.below(2); ++k) changer.change(blob);
    if (blob == before || !program_is_sound(blob.data(), blob.size())) return;
    const bool fine = static_cast<bool>(prove_program(header(blob)));
    const test::Wrong wrong =
        test::execute(blob.data(), static_cast<std::uint64_t>(trial), fine ? 12 : 40, 12);
    ASSERT_TRUE(!fine || wrong.empty()) << wrong << ": trial " << trial << ", " << what;
    ++(fine ? proved_ : refused_);
    seen_ += !fine && !wrong.empty();
  }
  void expect_at_least(int proved, int refused, int seen_percent) const {
    EXPECT_GT(proved_, proved / FERMATA_TEST_SCALE);
    EXPECT_GT(refused_, refused / FERMATA_TEST_SCALE);
    EXPECT_GT(seen_ * 100, refused_ * seen_percent) << "of " << refused_;
    testing::Test::RecordProperty("proved", proved_);
    testing::Test::RecordProperty("refused", refused_);
    testing::Test::RecordProperty("seen_to_fail", seen_);
  }
  Changer changer{17};

 private:
  int proved_ = 0, refused_ = 0, seen_ = 0;
};

TEST(Proof, ChangedProgramsAreProvedOnlyIfTheyRunRight) {
  struct Case {
    const char* algorithm;
    Collective collective;
    const char* layout;
    int credits;
  };
  const Case cases[] = {
      {"dissemination", Collective::kBarrier, "packed+2slots", 0},
      {"combining_tree", Collective::kBarrier, "private", 0},
      {"sense_reversing", Collective::kBarrier, "private", 0},
      {"counter", Collective::kBarrier, "private", 0},
      {"kary", Collective::kBarrier, "published", 0},
      {"butterfly", Collective::kAllreduce, "private+2slots", 0},
      {"kary", Collective::kAllreduce, "packed:published", 0},
      {"kary", Collective::kBroadcast, "published+4slots", 2},
      {"binomial", Collective::kReduce, "private+2slots", 1},
      {"complete", Collective::kAllreduce, "packed+2slots", 0},
  };
  Changed changed;
  for (int trial = 0; trial < 8000 / FERMATA_TEST_SCALE && !HasFatalFailure(); ++trial) {
    const Case& c = cases[changed.changer.below(std::size(cases))];
    const int members =
        c.algorithm == std::string("butterfly") ? 4 : 3 + static_cast<int>(changed.changer.below(3));
    changed.judge(compiled(c.algorithm, c.collective, members, c.layout, c.credits), trial,
                  std::string(c.algorithm) + " " + c.layout);
  }
  changed.expect_at_least(600, 3000, 60);
}

// Words come before flags, after them, or in the same stages.
TEST(Proof, ChangedRandomProgramsAreProvedOnlyIfTheyRunRight) {
  Changed changed;
  for (std::uint64_t number = 0; number < 3000 / FERMATA_TEST_SCALE && !HasFatalFailure(); ++number) {
    const Plan plan = test::plan_of(number);
    if (!check_structure(plan.schedule)) continue;
    const auto program = compile_lines(plan);
    for (int change = 0; program && change < 8 && !HasFatalFailure(); ++change)
      changed.judge(*program, static_cast<int>(number * 8) + change,
                    "a change of plan " + std::to_string(number));
  }
  changed.expect_at_least(600, 3000, 60);
}

}  // namespace
}  // namespace fermata
