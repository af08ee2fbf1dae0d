// Text round trips, the parser's refusals, and that no text crashes the parser.
#include <gtest/gtest.h>

#include "algo/algorithm.hpp"
#include "algo/sweep.hpp"
#include "random_schedule.hpp"
#include "schedule/compose.hpp"
#include "schedule/layout.hpp"
#include "schedule/print.hpp"
#include "schedule/verify.hpp"

namespace fermata {
namespace {

TEST(Print, EveryAlgorithmRoundTrips) {
  for (const Algorithm& a : algorithms()) {
    for (const int degree : degrees_of(a)) {
      for (int collective = 0; collective < kCollectiveCount; ++collective) {
        for (int p = 1; p <= 20; ++p) {
          const Request request{
              .collective = static_cast<Collective>(collective), .members = p, .root = 0, .degree = degree};
          if (!a.applicable(request)) continue;
          const Schedule s = a.build(request);
          const Result<Schedule> back = parse_schedule(to_text(s));
          ASSERT_TRUE(back.ok()) << back.error().message;
          ASSERT_EQ(*back, s);
          ASSERT_EQ(hash_of(*back), hash_of(s));
        }
      }
    }
  }
  Schedule renamed = find_algorithm("linear")->build({.members = 4});
  const std::uint64_t hash = hash_of(renamed);
  renamed.algorithm = "something else";
  EXPECT_EQ(hash_of(renamed), hash);
  renamed.algorithm.assign(20'000, 'x');  // as the name of a composition along many unlike clusters
  EXPECT_EQ(*parse_schedule(to_text(renamed)), renamed);
  renamed.stages[0].transfers[0].to = 2;
  EXPECT_NE(hash_of(renamed), hash);
  Schedule pipelined =
      pipeline(find_algorithm("complete")->build({.collective = Collective::kAllreduce, .members = 5}), 3);
  pipelined.registers = 3;
  for (Transfer& t : pipelined.stages[1].transfers) t.src_reg = 2;
  ASSERT_EQ(*parse_schedule(to_text(pipelined)), pipelined);
}

TEST(Print, TextIsAsDocumented) {
  EXPECT_EQ(to_text(find_algorithm("binomial")->build({.collective = Collective::kAllreduce, .members = 2})),
            "fermata-schedule 2\nalgorithm binomial\ncollective allreduce\nmembers 2\nroot 0\n"
            "chunks 1\nregisters 1\n"
            "stage 0\n  1 -> 0 combine right\nstage 1\n  0 -> 1 copy\nend\n");
  EXPECT_EQ(to_matrices(find_algorithm("linear")->build({.members = 3})),
            "S0\n   0 | . . . |\n   1 | 1 . . |\n   2 | 1 . . |\nS1\n   0 | . 1 1 |\n   1 | . . . |\n   2 | "
            ". . . |\n");
}

const char kGood[] =
    "fermata-schedule 2\nalgorithm x\ncollective barrier\nmembers 2\nroot 0\nchunks 0\nregisters 1\nword 0 "
    "threshold 2\n"
    "stage 0\n  0 -> w0\n  1 -> w0\nstage 1\n  w0 -> 0\n  w0 -> 1\nend\n";

std::string with(const std::string& what, const std::string& by) {
  std::string text = kGood;
  return text.replace(text.find(what), what.size(), by);
}

TEST(Parse, RefusesWholeWithLineAndReason) {
  ASSERT_TRUE(parse_schedule(kGood).ok());
  EXPECT_TRUE(verify(*parse_schedule(kGood), {}).ok());
  struct Case {
    std::string text, message;
  };
  const Case cases[] = {
      {"", "line 1: the first line must be 'fermata-schedule 2'"},
      {with("schedule 2", "schedule 1"), "line 1: the first line"},
      {with("collective barrier", "collective gossip"), "line 3: expected 'collective"},
      {with("members 2", "members 0"), "line 4: expected 'members N'"},
      {with("members 2", "members 99999999999"), "line 4: expected 'members N'"},
      {with("members 2", "members 2 3"), "line 4: expected 'members N'"},
      {with("root 0", "root 2"), "line 7: root is not a member"},
      {with("threshold 2", "threshold 0"), "line 8: expected 'word 0"},
      {with("word 0", "word 1"), "line 8: expected 'word 0"},
      {with("threshold 2", "threshold 2 agent 4"), "a word's agent does not exist"},
      {with("stage 1", "stage 2"), "line 12: expected 'stage 1'"},
      {with("1 -> w0", "2 -> w0"), "line 11: no such member or word"},
      {with("1 -> w0", "1 -> w1"), "line 11: no such member or word"},
      {with("1 -> w0", "1 w0"), "line 11: expected 'FROM -> TO"},
      {with("1 -> w0", "1 -> w0 copy"), "line 11: data in a schedule without chunks"},
      {with("1 -> w0", "1 -> w0 glue"), "line 11: expected 'copy' or"},
      {with("end\n", ""), "'end' is missing"},
      {with("end\n", "end\nmore"), "text after 'end'"},
      {with("stage 0\n", ""), "line 9: expected 'stage 0'"},
      {with("stage 1\n", "word 1 threshold 1\nstage 1\n"), "line 12: words come before stages"},
  };
  for (const Case& c : cases) {
    const Result<Schedule> result = parse_schedule(c.text);
    ASSERT_FALSE(result.ok()) << c.message;
    EXPECT_EQ(result.error().status, Status::kParse);
    EXPECT_NE(result.error().message.find(c.message), std::string::npos) << result.error().message;
  }
}

TEST(Parse, NoTextMakesItOrTheProofFallOver) {
  test::Random random(99);
  const std::string seeds[] = {
      kGood, to_text(find_algorithm("complete")->build({.collective = Collective::kAllreduce, .members = 4})),
      to_text(find_algorithm("combining_tree")->build({.members = 5}))};
  const std::string alphabet = "0123456789-> w\nstagecombinleftrightcopyregsword";
  int parsed = 0;
  for (int trial = 0; trial < 20000 / FERMATA_TEST_SCALE; ++trial) {
    std::string text = seeds[random.below(3)];
    for (int edits = 1 + random.below(3); edits > 0; --edits) {
      const int at = random.below(static_cast<int>(text.size()));
      if (random.chance(40)) {
        text[at] = alphabet[random.below(static_cast<int>(alphabet.size()))];
      } else if (random.chance(50)) {
        text.erase(at, 1 + random.below(6));
      } else {
        text.insert(at, text.substr(random.below(static_cast<int>(text.size())), random.below(20)));
      }
      if (text.empty()) text = "x";
    }
    const Result<Schedule> s = parse_schedule(text);
    if (!s) continue;
    ++parsed;
    EXPECT_EQ(*parse_schedule(to_text(*s)), *s);
    (void)verify(*s, {});
    (void)reuse_hazards(*s, 2, s->collective != Collective::kBarrier);
    (void)result_expression(*s, 0);
    (void)to_matrices(*s);
  }
  EXPECT_GT(parsed, 100 / FERMATA_TEST_SCALE);
}

TEST(Layout, RoundTrips) {
  EXPECT_EQ(to_string(LayoutChoice{}), "private");
  EXPECT_EQ(to_string(LayoutChoice{.layout = Layout::kPacked, .slots = 2}), "packed+2slots");
  EXPECT_EQ(to_string(LayoutChoice{.stride = 5, .line = 128}), "private+stride5+line128");
  for (int layout = 0; layout < kLayoutCount; ++layout) {
    for (const int slots : {1, 2, 8}) {
      for (const int stride : {1, 5}) {
        const LayoutChoice choice{static_cast<Layout>(layout), slots, stride, stride == 1 ? 64 : 128, slots};
        const auto back = parse_layout(to_string(choice));
        ASSERT_TRUE(back.ok());
        EXPECT_EQ(*back, choice);
      }
    }
  }
  for (const char* text :
       {"private", "packed+2slots:published", "private+stride5+line128:packed+4slots:private"}) {
    const auto back = parse_layouts(text);
    ASSERT_TRUE(back.ok()) << text;
    EXPECT_EQ(to_string(*back), text);
  }
  EXPECT_EQ(to_string(*parse_layouts("packed:private+2slots:private+2slots")), "packed:private+2slots");
  EXPECT_EQ(parse_layouts("packed:private+2slots")->at(7).slots, 2);
  for (const char* bad : {"", ":", "packed:", ":packed", "packed:heap", "packed::packed"})
    EXPECT_FALSE(parse_layouts(bad).ok()) << bad;
  for (const char* bad : {"", "shared", "private+", "private+3slots", "private+stride9", "packed+line32",
                          "packed+2", "+", "packed+0pauses", "packed+65pauses"}) {
    EXPECT_FALSE(parse_layout(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace fermata
