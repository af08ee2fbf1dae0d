// Emitted code does what the steps of the proved programs say: in each episode, whoever completes the words,
// and however long the awaited words take.
#include "emitted.hpp"
#include "schedule/print.hpp"
#include "walk.hpp"

namespace fermata::test {
namespace {

constexpr std::uint64_t kEpisodes = 9;  // more than twice as many as the slots of an edge

struct Expected {
  std::string commands, trace;
};

// Every way through every member's program of a plan.
void expect_ways(const Plan& plan, Expected& expected) {
  const auto blob = compile_lines(plan);
  ASSERT_TRUE(blob.ok()) << blob.error().message;
  const auto most = static_cast<std::uint64_t>(plan.key.payload) / 8;
  for (std::uint32_t rank = 0; rank < static_cast<std::uint32_t>(plan.key.members); ++rank)
    for (std::uint64_t episode = 1; episode <= kEpisodes; ++episode)
      for (const char mode : {'e', 'l', 'y', 'p'}) {
        const auto words = static_cast<std::uint32_t>(most == 0 ? 0 : 1 + episode % most);
        std::vector<bool> decisions;
        do {
          Walk walk(*blob, {rank, episode, mode, words}, decisions);
          expected.trace += walk.run();
          expected.commands += walk.command();
          while (!decisions.empty() && decisions.back()) decisions.pop_back();
          if (!decisions.empty()) decisions.back() = true;
        } while (!decisions.empty());
      }
}

Expected expected_of(const Plan& barrier, const Plan& allreduce) {
  Expected expected;
  expect_ways(barrier, expected);
  expect_ways(allreduce, expected);
  return expected;
}

// What the code of a header does; empty if it does not compile.
std::string trace_of(const Emitted& emitted, const std::string& standard, const Expected& expected) {
  if (!emitted.compile(FERMATA_TEST_CC " -O0 -std=" + standard, "trace.c")) return {};
  const std::string commands = emitted.path("commands"), lines = emitted.path("lines");
  if (!write_file_atomically(commands, expected.commands).ok()) return {};
  if (!emitted.runs("trace.c", "< " + commands + " > " + lines)) return {};
  const auto seen = read_file(lines);
  return seen.ok() ? *seen : std::string();
}

std::string first_difference(const std::string& seen, const std::string& expected) {
  std::size_t at = 0;
  while (at < seen.size() && at < expected.size() && seen[at] == expected[at]) ++at;
  const std::size_t call = expected.rfind(", rank", at), begin = call == std::string::npos ? 0 : call;
  if (begin > seen.size()) return "seen:\n" + seen;
  return "seen:\n" + seen.substr(begin, at - begin + 200) + "\nexpected:\n" +
         expected.substr(begin, at - begin + 200);
}

void expect_traced(const Plan& barrier, const Plan& allreduce) {
  const Expected expected = expected_of(barrier, allreduce);
  const Emitted emitted(barrier, allreduce);
  for (const char* standard : {"c99", "c11"}) {
    const std::string seen = trace_of(emitted, standard, expected);
    EXPECT_TRUE(seen == expected.trace)
        << barrier.schedule.algorithm << ", " << allreduce.schedule.algorithm << ", " << standard << ":\n"
        << first_difference(seen, expected.trace);
  }
}

// A member goes a way of its own where it completes a word.
Plan climb() {
  Plan plan = barrier_of(2, "counter", "private");
  plan.schedule = *parse_schedule(
      "fermata-schedule 2\nalgorithm climb\ncollective barrier\nmembers 2\nroot 0\nchunks 0\nregisters 1\n"
      "word 0 threshold 2\nword 1 threshold 1\nword 2 threshold 1 agent 0\n"
      "stage 0\n  0 -> w0\n  1 -> w0\nstage 1\n  0 -> 1\nstage 2\n  1 -> w1\nstage 3\n  w1 -> w2\nstage 4\n  "
      "w2 -> 0\n  w2 -> 1\nend\n");
  return plan;
}

TEST(EmittedCode, DoesWhatTheProvedProgramsSay) {
  expect_traced(barrier_of(1, "linear", "private"), allreduce_of(1, "linear", "private"));
  expect_traced(climb(), allreduce_of(2, "butterfly", "private", 8, 1));
  expect_traced(barrier_of(3, "sense_reversing", "private+line128"),
                allreduce_of(3, "complete", "packed+2slots"));
  expect_traced(barrier_of(4, "kary(2)", "packed+4slots:published+2slots"),
                allreduce_of(4, "kary(3)", "published+4slots", 24, 2));
  expect_traced(barrier_of(5, "combining_tree(2)", "private"),
                allreduce_of(5, "binomial_high", "private+stride2"));
  expect_traced(barrier_of(7, "dissemination", "packed+2slots"),
                allreduce_of(7, "extended_butterfly", "private+2slots+line128", 16));
  expect_traced(barrier_of(8, "counter", "private"), allreduce_of(8, "butterfly", "packed+2slots"));
}

// Each of these changes makes the header wrong.
TEST(EmittedCode, AChangeIsSeenInTheTrace) {
  if (std::string(FERMATA_TEST_EMULATOR) != "") GTEST_SKIP() << "a native build sees the same";
  const Plan barrier = barrier_of(4, "combining_tree(2)", "private"),
             allreduce = allreduce_of(4, "butterfly", "packed+2slots");
  const Expected expected = expected_of(barrier, allreduce);
  const Emitted right(barrier, allreduce);
  ASSERT_TRUE(trace_of(right, "c99", expected) == expected.trace);
  const std::pair<const char*, const char*> changes[] = {
      {"while (MADE_LOAD_ACQUIRE_", "while (MADE_LOAD_RELAXED_"},
      {"(&at->word) < value) {", "(&at->word) + 1 < value) {"},
      {"MADE_STORE_RELEASE_(&at->word, value);\n", "MADE_STORE_RELEASE_(&at->word, value + 1);\n"},
      {"__ATOMIC_RELEASE)", "__ATOMIC_RELAXED)"},
      {"__ATOMIC_ACQ_REL)", "__ATOMIC_RELEASE)"},
      {"+ 1 != last", "!= last"},
      {"  made_ring_(me, door);\n}", "}"},
      {"  if (door != NULL) made_ring_(me, door);\n", ""},
      {"armed, 1);\n", "bell, 1);\n"},
      {"  MADE_FENCE_();\n  // order: acquire", "  // order: acquire"},
      {"  MADE_FENCE_();\n  // order: relaxed", "  // order: relaxed"},
      {"seen = MADE_LOAD_ACQUIRE_", "seen = MADE_LOAD_RELAXED_"},
      {"  MADE_SUB_RELAXED_(&door->door.armed, 1);\n", ""},
      {"  MADE_ADD_RELEASE_(&door->door.bell, 1);\n", ""},
      {"  made_futex_(&door->door.bell, 1, 0x7fffffff);\n", ""},
      {"limit, NULL", "NULL, NULL"},
      {"spun < me->spins", "spun <= me->spins"},
      {"  for (i = 0; i < words; ++i) at[1 + i].payload", "  for (i = 1; i < words; ++i) at[1 + i].payload"},
      {"values[i] = at[1 + i]", "values[i] = at[2 + i]"},
      {"  made_await_(me, at, episode, pauses, door);\n  for (i = 0; i < words; ++i) values[i] = at[1 + "
       "i].payload;\n",
       "  for (i = 0; i < words; ++i) values[i] = at[1 + i].payload;\n  made_await_(me, at, episode, pauses, "
       "door);\n"},
      {"doors + 16", "doors + 0"},
      {"(e & 1)", "(e & 3)"},
      {"memcpy(r[0], in, sizeof r[0]);", ""},
      {"fold(r[0], in, bytes)", "fold(in, r[0], bytes)"},
      {"memcpy(values, r[0], bytes);\n  return", "return"},
  };
  for (const auto& [from, to] : changes) {
    std::string text = right.text();
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, std::string(from).size(), to);
    const std::string seen = trace_of(Emitted(Result<std::string>(text)), "c99", expected);
    EXPECT_FALSE(seen.empty()) << from << ": the changed header does not run";
    EXPECT_FALSE(seen == expected.trace) << from;
  }
}

}  // namespace
}  // namespace fermata::test
