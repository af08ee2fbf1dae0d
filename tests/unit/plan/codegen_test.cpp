// Emitted code: compiled here, run by threads, and checked as any other barrier or reduction is.
#include "plan/codegen.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "../../own_folder.hpp"
#include "profile/store.hpp"

namespace fermata {
namespace {

constexpr const char* kBarrierMain = R"(
#include <cstdio>
#include <thread>
#include <vector>
using namespace made;
alignas(128) static unsigned char region[kRegionBytes];
static long entered[kMembers * 16];  // plain: the barrier orders it
int main() {
  std::vector<std::thread> crew;
  std::atomic<int> wrong{0};
  for (unsigned r = 0; r < kMembers; ++r)
    crew.emplace_back([&, r] {
      for (long e = 1; e <= 300; ++e) {
        entered[r * 16] = e;
        barrier(region, r, 2 * e - 1);
        for (unsigned m = 0; m < kMembers; ++m) wrong += entered[m * 16] != e;
        barrier(region, r, 2 * e);
      }
    });
  for (auto& t : crew) t.join();
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
  std::vector<std::thread> crew;
  std::atomic<int> wrong{0};
  for (unsigned r = 0; r < kMembers; ++r)
    crew.emplace_back([&, r] {
      for (long e = 1; e <= 300; ++e) {
        double value = static_cast<double>(r + 1) * static_cast<double>(e);
        allreduce(region, r, static_cast<std::uint64_t>(e), value, [](double a, double b) { return a + b; });
        wrong += value != static_cast<double>(e) * (kMembers * (kMembers + 1) / 2);
      }
    });
  for (auto& t : crew) t.join();
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
  const std::string compile = "c++ -std=c++20 -O1 -Wall -Wextra -Werror -pthread -o " + binary + " " + (folder / "main.cpp").string();
  EXPECT_EQ(std::system(compile.c_str()), 0) << *code;
  EXPECT_EQ(std::system(("timeout 60 " + binary).c_str()), 0) << plan->schedule.algorithm;
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

TEST(EmittedCode, NamesAreChecked) {
  Plan plan;
  for (const char* name : {"", "1x", "a b", "a;b"}) EXPECT_EQ(emit_code(plan, name).error().status, Status::kArgument);
}

}  // namespace
}  // namespace fermata
