// Emitted headers, compiled and run.
#include <sched.h>

#include "emitted.hpp"

namespace fermata::test {
namespace {

constexpr const char* kLanguages[] = {
    FERMATA_TEST_CC " -std=c99",    FERMATA_TEST_CC " -std=c11",    FERMATA_TEST_CC " -std=c17",
    FERMATA_TEST_CXX " -std=c++11", FERMATA_TEST_CXX " -std=c++20",
};
const std::string kC99 = FERMATA_TEST_CC " -std=c99 -O1";

// How often every collective is called: each of some 20 calls switches between all members where they share
// a CPU.
std::string episodes(int wanted) { return std::to_string(wanted / FERMATA_TEST_SCALE + 1); }

Emitted four() {
  return {barrier_of(4, "dissemination", "packed+2slots"), allreduce_of(4, "butterfly", "packed+2slots")};
}

void expect_exercised(const Plan& barrier, const Plan& allreduce) {
  const Emitted emitted(barrier, allreduce);
  SCOPED_TRACE(barrier.schedule.algorithm + ", " + allreduce.schedule.algorithm);
  ASSERT_TRUE(emitted.compile_without_warnings(kC99, "exercise.c")) << emitted.text();
  EXPECT_TRUE(emitted.runs("exercise.c", "threads yield 100 " + episodes(200)));
  EXPECT_TRUE(emitted.runs("exercise.c", "processes park 100 " + episodes(100)));
}

TEST(EmittedHeader, WorksInEachLanguage) {
  const Emitted emitted = four();
  for (const char* language : kLanguages) {
    SCOPED_TRACE(language);
    ASSERT_TRUE(emitted.compile_without_warnings(std::string(language) + " -O2", "exercise.c"))
        << emitted.text();
    EXPECT_TRUE(emitted.runs("exercise.c", "threads yield 0 " + episodes(200)));
    EXPECT_TRUE(emitted.runs("exercise.c", "processes park 0 " + episodes(100)));
  }
}

TEST(EmittedHeader, NeedsNothingBeforeIt) {
  const Emitted one(barrier_of(1, "linear", "private"), allreduce_of(1, "linear", "private"));
  const Emitted words(barrier_of(5, "counter", "private"),
                      allreduce_of(5, "extended_butterfly", "packed+2slots"));
  for (const char* language : kLanguages)
    for (const Emitted* emitted : {&one, &words}) {
      SCOPED_TRACE(language);
      ASSERT_TRUE(emitted->compile_without_warnings(std::string(language) + " -O2", "alone.c"))
          << emitted->text();
      EXPECT_TRUE(emitted->runs("alone.c", ""));
    }
}

TEST(EmittedHeader, WorksWithClang) {
  if (std::string(FERMATA_TEST_EMULATOR) != "") GTEST_SKIP() << "clang compiles for this machine only";
  if (!is_installed("clang-19")) GTEST_SKIP() << "clang-19 is not installed";
  const Emitted emitted = four();
  for (const char* language : {"clang-19 -std=c99", "clang-19 -std=c17", "clang++-19 -std=c++11"}) {
    ASSERT_TRUE(emitted.compile_without_warnings(std::string(language) + " -O2", "exercise.c")) << language;
    EXPECT_TRUE(emitted.runs("exercise.c", "threads yield 0 " + episodes(200))) << language;
    ASSERT_TRUE(emitted.compile_without_warnings(std::string(language) + " -O2", "alone.c")) << language;
    EXPECT_TRUE(emitted.runs("alone.c", "")) << language;
  }
}

// The waits of Windows are yields. Nothing runs, because no Windows is here.
TEST(EmittedHeader, CompilesForWindows) {
  if (std::string(FERMATA_TEST_EMULATOR) != "") GTEST_SKIP() << "a native build compiles the same";
  const std::string compiler = "x86_64-w64-mingw32-gcc";
  if (!is_installed(compiler)) GTEST_SKIP() << compiler << " is not installed (scripts/bootstrap --ci)";
  const Emitted emitted = four();
  for (const char* standard : {" -std=c99 -O2", " -std=c11 -O2"})
    EXPECT_TRUE(emitted.compile_without_warnings(compiler + standard, "alone.c")) << emitted.text();
}

TEST(EmittedHeader, OneTwoAndThreeMembers) {
  expect_exercised(barrier_of(1, "linear", "private"), allreduce_of(1, "linear", "private"));
  expect_exercised(barrier_of(2, "counter", "private"), allreduce_of(2, "butterfly", "packed+2slots", 8));
  expect_exercised(barrier_of(3, "kary(2)", "private+stride2"), allreduce_of(3, "complete", "packed+2slots"));
}

TEST(EmittedHeader, FourMembers) {
  expect_exercised(barrier_of(4, "sense_reversing", "private+line128"),
                   allreduce_of(4, "kary(2)", "packed+4slots:published+2slots"));
  expect_exercised(barrier_of(4, "combining_tree(2)", "private"),
                   allreduce_of(4, "butterfly", "private", 24, 1));
}

TEST(EmittedHeader, SevenMembers) {
  expect_exercised(barrier_of(7, "combining_tree(3)", "private"),
                   allreduce_of(7, "binomial_high", "published"));
  expect_exercised(barrier_of(7, "dissemination", "private+4slots"),
                   allreduce_of(7, "extended_butterfly", "private+2slots", 16));
}

TEST(EmittedHeader, EightMembers) {
  expect_exercised(barrier_of(8, "tournament(2)", "published+2slots"),
                   allreduce_of(8, "butterfly", "packed+2slots+line128"));
  expect_exercised(barrier_of(8, "linear", "packed"), allreduce_of(8, "linear", "packed:published", 8));
}

TEST(EmittedHeader, ThreadSanitizerFindsNothing) {
  if (std::string(FERMATA_TEST_EMULATOR) != "") GTEST_SKIP() << "the sanitizer does not run in an emulator";
  // The fences order wake-ups only, not data. The compiler warns that the sanitizer ignores them.
  const std::string compiler = FERMATA_TEST_CC " -std=c99 -O1 -g -fsanitize=thread -Wno-tsan";
  const std::pair<Plan, Plan> plans[] = {
      {barrier_of(2, "dissemination", "packed+2slots"), allreduce_of(2, "butterfly", "packed+2slots")},
      {barrier_of(4, "combining_tree(2)", "private"), allreduce_of(4, "kary(2)", "packed:published")},
      {barrier_of(3, "sense_reversing", "private"), allreduce_of(3, "complete", "private", 56, 1)}};
  for (const auto& [barrier, allreduce] : plans) {
    const Emitted emitted(barrier, allreduce);
    if (!emitted.compile(compiler, "exercise.c")) GTEST_SKIP() << "no ThreadSanitizer is installed";
    for (const char* how : {"yield 0 ", "park 0 ", "park 50 "})
      EXPECT_TRUE(emitted.runs("exercise.c", std::string("threads ") + how + episodes(60))) << how;
    if (barrier.key.members == 2) {
      EXPECT_TRUE(emitted.runs("exercise.c", "threads spin 0 " + episodes(20)));
    }
  }
}

// ---- Parking

// The CPUs of this process, and of those that it starts, are one while this lives.
class OneCpu {
 public:
  OneCpu() {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &before_)) {
        CPU_SET(cpu, &one);
        break;
      }
    sched_setaffinity(0, sizeof one, &one);
  }
  ~OneCpu() { sched_setaffinity(0, sizeof before_, &before_); }
  OneCpu(const OneCpu&) = delete;
  OneCpu& operator=(const OneCpu&) = delete;

 private:
  cpu_set_t before_;
};

// If wake-ups were lost, each would cost 20 ms: these are some 20,000 waits, and runs() allows 60 s.
TEST(EmittedHeader, ParkedMembersThatShareACpuAreWoken) {
  const Emitted emitted(barrier_of(8, "combining_tree(2)", "private"),
                        allreduce_of(8, "kary(2)", "packed:published+2slots"));
  ASSERT_TRUE(emitted.compile_without_warnings(kC99, "exercise.c"));
  const OneCpu one;
  EXPECT_TRUE(emitted.runs("exercise.c", "threads park 0 " + episodes(200)));
  EXPECT_TRUE(emitted.runs("exercise.c", "processes park 0 " + episodes(200)));
}

// The time limit of a park is not what makes the protocol right. But where a wake-up is lost, it ends the
// wait.
TEST(EmittedHeader, ALostWakeUpCostsTimeOnly) {
  const Emitted whole(barrier_of(2, "counter", "private"), allreduce_of(2, "butterfly", "packed+2slots"));
  const std::string wake = "  made_futex_(&door->door.bell, 1, 0x7fffffff);\n";
  std::string text = whole.text();
  const std::size_t at = text.find(wake);
  ASSERT_NE(at, std::string::npos);
  text.erase(at, wake.size());
  const Emitted without{Result<std::string>(text)};
  ASSERT_TRUE(without.compile_without_warnings(kC99, "exercise.c"));
  EXPECT_TRUE(without.runs("exercise.c", "threads park 0 3"));
}

// ---- What is refused

TEST(EmittedHeader, NamesAndPlansAreChecked) {
  const Plan barrier = barrier_of(4, "linear", "private"), allreduce = allreduce_of(4, "linear", "private");
  for (const char* name : {"", "1x", "a b", "a;b"})
    EXPECT_EQ(emit_code(barrier, allreduce, name).error().status, Status::kArgument) << name;
  EXPECT_EQ(emit_code(allreduce, barrier, "x").error().status, Status::kArgument);
  EXPECT_EQ(emit_code(barrier, allreduce_of(3, "linear", "private"), "x").error().status, Status::kArgument);
  Plan tagged = barrier;
  tagged.key.payload = 8;
  EXPECT_EQ(emit_code(tagged, allreduce, "x").error().status, Status::kArgument);
  const Plan unproved = allreduce_of(4, "butterfly", "private");  // one slot, and no credits
  EXPECT_EQ(emit_code(barrier, unproved, "x").error().status, Status::kVerify);
}

TEST(EmittedHeader, AllNamesBeginWithThePrefix) {
  const auto text =
      emit_code(barrier_of(2, "linear", "private"), allreduce_of(2, "linear", "private"), "my_Team");
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(text->find("NAME_"), std::string::npos);
  EXPECT_EQ(text->find("UPPER_"), std::string::npos);
  EXPECT_NE(text->find("static inline void my_Team_barrier(struct my_Team_member* me)"), std::string::npos);
  EXPECT_NE(text->find("#define MY_TEAM_MEMBERS 2\n"), std::string::npos);
}

}  // namespace
}  // namespace fermata::test
