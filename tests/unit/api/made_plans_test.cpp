// Plans that a process has made once are not searched for again: they are those of that key, algorithm and profile.
#include <gtest/gtest.h>

#include <cstdio>
#include <thread>
#include <vector>

#include "../../own_folder.hpp"
#include "api/handles.hpp"
#include "plan/plan.hpp"

namespace fermata::test {
namespace {

PlanKey key_of(Kind kind, std::int32_t members, std::int32_t payload, Engine engine = Engine::kThreads) {
  PlanKey key;
  key.fingerprint = fingerprint(**api::this_machine());
  key.kind = kind;
  key.members = members;
  key.payload = payload;
  key.engine = engine;
  return key;
}

std::vector<std::byte> program_for(const PlanKey& key, const std::string& algorithm = "") {
  auto program = api::program_for(key, **api::this_machine(), nullptr, algorithm);
  EXPECT_TRUE(program) << program.error().message;
  return program ? *program : std::vector<std::byte>();
}

std::vector<std::byte> searched(const PlanKey& key, const std::string& algorithm = "") {
  PlanOptions options;
  options.key = key;
  options.algorithm = algorithm;
  const auto plan = make_plan(**api::this_machine(), api::this_profile(key.engine), options, nullptr);
  EXPECT_TRUE(plan);
  const auto program = compile(*plan);
  EXPECT_TRUE(program);
  return *program;
}

TEST(MadePlans, AreWhatASearchFinds) {
  const OwnCache cache;
  struct Wanted {
    PlanKey key;
    std::vector<std::byte> program;
  };
  std::vector<Wanted> all;  // more than are kept
  for (std::int32_t members = 2; members <= 16; ++members) {
    for (const Engine engine : {Engine::kThreads, Engine::kProcesses}) {
      for (const Kind kind : {Kind::kBarrier, Kind::kAllreduce, Kind::kReduce, Kind::kBroadcast}) {
        for (const std::int32_t payload : {8, 56}) {
          if (kind == Kind::kBarrier && payload == 56) continue;
          const PlanKey key = key_of(kind, members, payload, engine);
          all.push_back({key, program_for(key)});
        }
      }
    }
  }
  EXPECT_GT(all.size(), 8192U / 40);
  for (int again = 0; again < 2; ++again)
    for (const Wanted& wanted : all) EXPECT_EQ(program_for(wanted.key), wanted.program);
  for (std::size_t i = 0; i < all.size(); i += 7) EXPECT_EQ(searched(all[i].key), all[i].program);
}

TEST(MadePlans, OfAnAlgorithmAreThatAlgorithms) {
  const OwnCache cache;
  const PlanKey key = key_of(Kind::kAllreduce, 5, 8);
  for (int again = 0; again < 2; ++again)
    for (const char* algorithm : {"", "linear", "extended_butterfly"}) EXPECT_EQ(program_for(key, algorithm), searched(key, algorithm));
  EXPECT_NE(program_for(key, "linear"), program_for(key, "extended_butterfly"));
}

TEST(MadePlans, GiveWayToASavedOne) {
  const OwnCache cache;
  const PlanKey key = key_of(Kind::kBarrier, 7, 0);
  const auto made = program_for(key);
  PlanOptions options;
  options.key = key;
  options.algorithm = "linear";
  const auto other = make_plan(**api::this_machine(), api::this_profile(key.engine), options, nullptr);
  ASSERT_TRUE(other);
  const auto path = save_plan(*other);
  ASSERT_TRUE(path);
  EXPECT_EQ(program_for(key), *compile(*other));
  EXPECT_NE(program_for(key), made);
  ASSERT_EQ(std::remove(path->c_str()), 0);
  EXPECT_EQ(program_for(key), made);
}

TEST(MadePlans, MayBeAskedForByAllThreadsAtOnce) {
  const OwnCache cache;
  constexpr int kThreads = 4;
  std::vector<std::vector<std::byte>> got(kThreads);
  for (std::int32_t members = 17; members < 21; ++members) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] { got[static_cast<std::size_t>(t)] = program_for(key_of(Kind::kBarrier, members, 0)); });
    for (std::thread& thread : threads) thread.join();
    for (const auto& one : got) EXPECT_EQ(one, got[0]);
  }
}

}  // namespace
}  // namespace fermata::test
