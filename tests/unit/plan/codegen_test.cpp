// Emitted code: compiled here, run by threads, and checked like any other barrier or reduction.
#include "plan/codegen.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "../../own_folder.hpp"
#include "algo/algorithm.hpp"
#include "exec/program.hpp"
#include "profile/store.hpp"
#include "schedule/print.hpp"

namespace fermata {
namespace {

constexpr const char* kBarrierMain = R"(
#include <cstdio>
#include <thread>
#include <vector>
using namespace made;
alignas(128) static unsigned char region[kRegionBytes];
static long entered[kMembers * 16];  // plain: only the barrier orders it
int main() {
  std::vector<std::thread> simulation;
  std::atomic<int> wrong{0};
  for (unsigned r = 0; r < kMembers; ++r)
    simulation.emplace_back([&, r] {
      for (long e = 1; e <= 300; ++e) {
        entered[r * 16] = e;
        barrier(region, r, 2 * e - 1);
        for (unsigned m = 0; m < kMembers; ++m) wrong += entered[m * 16] != e;
        barrier(region, r, 2 * e);
      }
    });
  for (auto& t : simulation) t.join();
  return wrong != 0;
}
)";

constexpr const char* kAllreduceMain = R"(
#include <cstdio>
#include <thread>
#include <vector>
using namespace made;
alignas(128) static unsigned char region[kRegionBytes];
int main() {
  std::vector<std::thread> simulation;
  std::atomic<int> wrong{0};
  for (unsigned r = 0; r < kMembers; ++r)
    simulation.emplace_back([&, r] {
      for (long e = 1; e <= 300; ++e) {
        double value = static_cast<double>(r + 1) * static_cast<double>(e);
        allreduce(region, r, static_cast<std::uint64_t>(e), value, [](double a, double b) { return a + b; });
        wrong += value != static_cast<double>(e) * (kMembers * (kMembers + 1) / 2);
      }
    });
  for (auto& t : simulation) t.join();
  return wrong != 0;
}
)";

void expect_runs(Kind kind, const std::string& algorithm, std::int32_t members, const std::string& main) {
  const auto topology = topology_from_regular({.packages = 2, .cores = 4});
  ASSERT_TRUE(topology.ok());
  PlanOptions o;
  o.key.kind = kind;
  o.key.members = members;
  o.key.payload = kind == Kind::kBarrier ? 0 : 8;
  o.algorithm = algorithm;
  const auto plan = make_plan(*topology, estimate_profile(*topology), o, nullptr);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  const auto code = emit_code(*plan, "made");
  ASSERT_TRUE(code.ok()) << code.error().message;
  const test::OwnFolder own;
  const std::filesystem::path& folder = own.path();
  ASSERT_TRUE(write_file_atomically(folder / "made.hpp", *code).ok());
  ASSERT_TRUE(write_file_atomically(folder / "main.cpp", "#include \"made.hpp\"\n" + main).ok());
  const std::string binary = (folder / "made").string();
  const std::string compile =
      "c++ -std=c++20 -O1 -Wall -Wextra -Werror -pthread -o " + binary + " " + (folder / "main.cpp").string();
  EXPECT_EQ(std::system(compile.c_str()), 0) << *code;
  EXPECT_EQ(std::system(("timeout 60 " + binary).c_str()), 0) << plan->schedule.algorithm;
}

// ---- Traces: in each episode, whichever member completes the words, the code does the proved program's
// steps

// The effects of a program's steps on memory, as traced.hpp prints them. They follow from the definition of
// each step (exec/program.hpp), not from the code generator.
class Walk {
 public:
  Walk(const std::vector<std::byte>& blob, std::uint32_t rank, std::uint64_t episode, unsigned decisions)
      : header_(*reinterpret_cast<const ProgramHeader*>(blob.data())),
        episode_(episode),
        decisions_(decisions) {
    const auto& program = reinterpret_cast<const MemberProgram*>(blob.data() + header_.programs_offset)[rank];
    steps_ = reinterpret_cast<const Step*>(blob.data() + header_.steps_offset) + program.first;
    std::fill(std::begin(registers_), std::end(registers_), 7);
  }

  std::string run() {
    std::uint32_t at = 0;
    while (steps_[at].code != Code::kEnd) at = go(steps_[at], at);
    if (carries()) put("ends with " + std::to_string(registers_[0]));
    return out_;
  }
  unsigned adds() const { return adds_; }

 private:
  bool carries() const { return header_.kind != static_cast<std::uint32_t>(Kind::kBarrier); }
  void put(const std::string& line) { out_ += line + "\n"; }
  void put(const char* what, std::uint64_t offset, std::uint64_t value, const char* order) {
    put(std::string(what) + " " + std::to_string(offset) + " " + std::to_string(value) + " " + order);
  }

  std::uint32_t go(const Step& s, std::uint32_t at) {
    const std::uint64_t slot = s.offset + (episode_ & s.mask) * s.stride;
    switch (s.code) {
      case Code::kSend:
        if (carries())
          put("write " + std::to_string(slot + 8) + ": " + std::to_string(registers_[s.reg]) + ", 8 bytes");
        put("post", slot, episode_, "release");
        break;
      case Code::kAwait:
        put("await", slot, episode_, "acquire");
        if (carries() && s.fold != Fold::kNone) take(s, slot);
        break;
      case Code::kAdd:
        put("add " + std::to_string(s.offset) + " 1 until " + std::to_string(episode_ * s.threshold) +
            " acq_rel");
        if ((decisions_ >> adds_++ & 1) != 0) return s.target;
        break;
      case Code::kPoll: put("await", s.offset, episode_ * s.threshold, "acquire"); break;
      case Code::kFlip: put("post", s.offset, episode_, "release"); break;
      case Code::kCreditAwait:
        if (episode_ > s.threshold) put("await", s.offset, episode_ - s.threshold, "acquire");
        break;
      case Code::kCreditGive:
        if (episode_ % s.threshold == 0) put("post", s.offset, episode_, "release");
        break;
      case Code::kJump: return s.target;
      default: ADD_FAILURE() << "this step does not occur in emitted code";
    }
    return at + 1;
  }

  void take(const Step& s, std::uint64_t slot) {
    put("read " + std::to_string(slot + 8) + ", 8 bytes");
    const std::uint64_t theirs = 1000 + reads_++;
    std::uint64_t& mine = registers_[s.reg];
    if (s.fold == Fold::kCopy) {
      mine = theirs;
      return;
    }
    const bool left = s.fold == Fold::kCombineLeft;
    put("fold " + std::to_string(left ? theirs : mine) + " " + std::to_string(left ? mine : theirs));
    mine = 5000 + folds_++;
  }

  const ProgramHeader& header_;
  const Step* steps_ = nullptr;
  const std::uint64_t episode_;
  const unsigned decisions_;
  unsigned adds_ = 0, reads_ = 0, folds_ = 0;
  std::uint64_t registers_[kMaxRegisters];
  std::string out_;
};

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

// Prints every path through every rank's function in `episodes` episodes.
std::string tracing_main(const Plan& plan, const std::string& call) {
  return "#include \"traced.hpp\"\n#include \"made.hpp\"\nint main() {\n"
         "  for (unsigned rank = 0; rank < " +
         std::to_string(plan.key.members) +
         "; ++rank)\n"
         "    for (std::uint64_t episode = 1; episode <= 9; ++episode)\n"
         "      for (unsigned ways = 1, way = 0; way < ways; ++way) {\n"
         "        traced::decisions = way;\n        traced::adds = traced::reads = traced::folds = 0;\n"
         "        traced::Value value = 7;\n        (void)value;\n"
         "        std::printf(\"rank %u episode %llu way %u\\n\", rank, traced::Value{episode}, way);\n      "
         "  " +
         call +
         "\n"
         "        if (traced::adds > 0 && way == 0) ways = 1u << (traced::adds + 3);\n"
         "      }\n}\n";
}

void expect_traced(Plan plan) {
  const auto program = compile(plan);
  ASSERT_TRUE(program.ok()) << program.error().message;
  const auto code = emit_code(plan, "made");
  ASSERT_TRUE(code.ok()) << code.error().message;
  const test::OwnFolder own;
  const bool carries = plan.key.kind != Kind::kBarrier;
  const std::string call =
      std::string("made::") + name_of(plan.key.kind) + "(traced::region, rank, episode" +
      (carries ? ", value, traced::fold); std::printf(\"ends with %llu\\n\", value);" : ");");
  std::string traced = replaced(replaced(*code, "std::atomic_ref<std::uint64_t>", "traced::Ref"),
                                "std::memcpy", "traced::copy");
  ASSERT_TRUE(write_file_atomically(own.path() / "made.hpp", traced).ok());
  ASSERT_TRUE(write_file_atomically(own.path() / "main.cpp", tracing_main(plan, call)).ok());
  const std::string binary = (own.path() / "made").string(), lines = (own.path() / "lines").string();
  const std::string compiler = "c++ -std=c++20 -O0 -I" FERMATA_SOURCE_DIR "/tests/unit/plan -o " + binary +
                               " " + (own.path() / "main.cpp").string();
  ASSERT_EQ(std::system(compiler.c_str()), 0) << traced;
  ASSERT_EQ(std::system(("timeout 60 " + binary + " > " + lines).c_str()), 0);
  std::string expected;
  for (std::uint32_t rank = 0; rank < static_cast<std::uint32_t>(plan.key.members); ++rank)
    for (std::uint64_t episode = 1; episode <= 9; ++episode)
      for (unsigned ways = 1, way = 0; way < ways; ++way) {
        Walk walk(*program, rank, episode, way);
        expected += "rank " + std::to_string(rank) + " episode " + std::to_string(episode) + " way " +
                    std::to_string(way) + "\n";
        expected += walk.run();
        if (walk.adds() > 0 && way == 0) ways = 1u << (walk.adds() + 3);
      }
  const auto seen = read_file(lines);
  ASSERT_TRUE(seen.ok());
  EXPECT_TRUE(*seen == expected) << plan.schedule.algorithm
                                 << ": the code does otherwise than the program that was proved";
}

Plan plan_of(const char* algorithm, Kind kind, std::int32_t members, const char* layout,
             std::int32_t credits = 0) {
  Plan plan;
  plan.key.kind = kind;
  plan.key.members = members;
  plan.key.payload = kind == Kind::kBarrier ? 0 : 8;
  plan.schedule = find_algorithm(algorithm)->build({.kind = kind, .members = members});
  plan.layout = *parse_layouts(layout);
  plan.credit_batch = credits;
  return plan;
}

bool has_compiler() { return std::system("c++ --version > /dev/null 2>&1") == 0; }

TEST(EmittedCode, SlotsAndWordsSynchronize) {
  if (!has_compiler()) GTEST_SKIP() << "no c++ here";
  expect_runs(Kind::kBarrier, "kary(2)", 3, kBarrierMain);
  expect_runs(Kind::kBarrier, "combining_tree(2)", 4, kBarrierMain);
}

TEST(EmittedCode, AllreduceAddsUp) {
  if (!has_compiler()) GTEST_SKIP() << "no c++ here";
  expect_runs(Kind::kAllreduce, "butterfly", 2, kAllreduceMain);
}

TEST(EmittedCode, DoesWhatTheProvedProgramSays) {
  if (!has_compiler()) GTEST_SKIP() << "no c++ here";
  expect_traced(plan_of("combining_tree", Kind::kBarrier, 5, "private"));
  expect_traced(plan_of("sense_reversing", Kind::kBarrier, 3, "private+line128"));
  expect_traced(plan_of("kary", Kind::kBarrier, 4, "packed+4slots:published+2slots"));
  expect_traced(plan_of("complete", Kind::kAllreduce, 3, "packed+2slots"));
  expect_traced(plan_of("binomial_high", Kind::kAllreduce, 5, "private+stride2"));
  expect_traced(plan_of("kary", Kind::kBroadcast, 4, "published+4slots", 2));
  expect_traced(plan_of("linear", Kind::kReduce, 3, "private+2slots", 1));
  // Its members take another path where they complete a word.
  Plan climb = plan_of("counter", Kind::kBarrier, 2, "private");
  climb.schedule = *parse_schedule(
      "fermata-schedule 1\nalgorithm climb\nkind barrier\nmembers 2\nroot 0\nchunks 0\nregisters 1\nword 0 "
      "threshold 2\n"
      "word 1 threshold 1\nword 2 threshold 1 agent 0\nstage 0\n  0 -> w0\n  1 -> w0\nstage 1\n  0 -> "
      "1\nstage 2\n  1 -> w1\n"
      "stage 3\n  w1 -> w2\nstage 4\n  w2 -> 0\n  w2 -> 1\nend\n");
  expect_traced(climb);
}

TEST(EmittedCode, NamesAreChecked) {
  Plan plan;
  for (const char* name : {"", "1x", "a b", "a;b"})
    EXPECT_EQ(emit_code(plan, name).error().status, Status::kArgument);
}

}  // namespace
}  // namespace fermata
