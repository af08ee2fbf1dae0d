// Plan files, the cache, and the readable text.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "../../own_folder.hpp"
#include "plan/plan.hpp"
#include "profile/store.hpp"

namespace fermata {
namespace {

Plan sample(Collective collective = Collective::kBarrier, std::int32_t members = 8) {
  const auto t = topology_from_regular({.packages = 2, .cores = 4});
  EXPECT_TRUE(t.ok());
  PlanOptions o;
  o.key.collective = collective;
  o.key.members = members;
  o.key.payload = collective == Collective::kBarrier ? 0 : 8;
  o.key.cpus = place(*t, members, Placement::kCore);
  auto plan = make_plan(*t, estimate_profile(*t), o, nullptr);
  EXPECT_TRUE(plan.ok());
  return *plan;
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), with);
}

TEST(PlanFile, RoundTrips) {
  for (const Collective collective :
       {Collective::kBarrier, Collective::kBroadcast, Collective::kReduce, Collective::kAllreduce})
    for (const std::int32_t n : {1, 2, 7, 8}) {
      const Plan plan = sample(collective, n);
      const auto back = plan_from_json(to_json(plan));
      ASSERT_TRUE(back.ok()) << back.error().message;
      EXPECT_EQ(*back, plan);
      EXPECT_EQ(to_json(*back), to_json(plan));
    }
}

TEST(PlanFile, RefusesWithLineAndReason) {
  const std::string good = to_json(sample());
  const auto refusal = [&](const std::string& what, const std::string& with) {
    const auto plan = plan_from_json(replaced(good, what, with));
    EXPECT_FALSE(plan.ok()) << with;
    if (plan.ok()) return std::string();
    EXPECT_NE(plan.error().message.find("line "), std::string::npos) << plan.error().message;
    return plan.error().message;
  };
  refusal("\"version\": 2", "\"version\": 1");
  refusal("fermata-plan", "fermata-profile");
  refusal("\"members\": 8", "\"members\": 9");
  refusal("\"members\": 8", "\"members\": 1e9");
  refusal("\"collective\": \"barrier\"", "\"collective\": \"allgather\"");
  refusal("\"engine\": \"threads\"", "\"engine\": \"fibres\"");
  refusal("\"origin\": \"estimated\"", "\"origin\": \"guessed\"");
  refusal("\"credit_batch\": 0", "\"credit_batch\": -1");
  refusal("\"layout\": \"", "\"layout\": \"x");
  refusal("\"schedule\": [", "\"schedule\": [7, ");
  refusal("\"schedule\": [", "\"schedule\": [\"nonsense\", ");
  refusal("\"levels\": {", "\"levels\": {\"x\": 1, ");
  const std::string ranks = "\"ranks\": [";
  const std::size_t first = good.find(ranks, good.find("\"levels\"")) + ranks.size();
  const std::string rank = good.substr(first, good.find_first_of(",]", first) - first);
  const std::string beyond = refusal(ranks + rank, ranks + "8");
  EXPECT_NE(beyond.find("from 0 to 7"), std::string::npos) << beyond;
  refusal("\"bound_ns\"", "\"bound\"");
  EXPECT_NE(refusal("\n  \"origin\"", "\n  origin").find("line 5"), std::string::npos);
}

TEST(PlanFile, AScheduleThatSynchronizesNobodyIsRefused) {
  Plan plan = sample();
  plan.schedule.stages.pop_back();
  const auto back = plan_from_json(to_json(plan));
  ASSERT_FALSE(back.ok());
  EXPECT_EQ(back.error().status, Status::kVerify);
  Plan late = sample(Collective::kReduce);
  late.credit_batch = 0;
  late.layout = LayoutChoice{};
  EXPECT_FALSE(plan_from_json(to_json(late)).ok());
}

TEST(PlanFile, MutationsAreRefusedOrProved) {
  const std::string good = to_json(sample(Collective::kReduce, 4));
  std::mt19937 random(7);
  int accepted = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string bad = good;
    for (int edits = 1 + static_cast<int>(random() % 3); edits > 0; --edits) {
      const std::size_t at = random() % bad.size();
      switch (random() % 3) {
        case 0: bad[at] = static_cast<char>(random() % 256); break;
        case 1: bad.erase(at, 1 + random() % 20); break;
        default: bad.insert(at, good.substr(random() % good.size(), random() % 20));
      }
    }
    const auto plan = plan_from_json(bad);
    if (!plan.ok()) {
      EXPECT_FALSE(plan.error().message.empty());
      continue;
    }
    ++accepted;
    EXPECT_EQ(prove(*plan), "");
    const auto again = plan_from_json(to_json(*plan));
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(*again, *plan);
  }
  EXPECT_LT(accepted, 2000);
  for (std::size_t cut = 0; cut + 2 < good.size(); cut += 7)
    EXPECT_FALSE(plan_from_json(good.substr(0, cut)).ok());
}

class Cache : public ::testing::Test {
 protected:
  test::OwnCache cache_;
};

TEST_F(Cache, KeepsThePlanAndItsCompiledForm) {
  const Plan plan = sample();
  EXPECT_EQ(load_plan(plan.key).error().status, Status::kNotFound);
  const auto path = save_plan(plan);
  ASSERT_TRUE(path.ok()) << path.error().message;
  EXPECT_EQ(*path, plan_path(plan.key));
  const auto back = load_plan(plan.key);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(*back, plan);
  const auto program = read_file(path->substr(0, path->size() - 5) + ".bin");
  ASSERT_TRUE(program.ok());
  const auto compiled = compile_lines(plan);
  ASSERT_TRUE(compiled.ok());
  EXPECT_EQ(*program, std::string(reinterpret_cast<const char*>(compiled->data()), compiled->size()));
}

TEST_F(Cache, EveryPartOfTheKeyMatters) {
  const PlanKey key = sample().key;
  std::vector<PlanKey> keys(7, key);
  keys[1].fingerprint = "fedcba9876543210";
  keys[2].collective = Collective::kReduce;
  keys[3].members = 7;
  keys[4].payload = 56;
  keys[5].engine = Engine::kProcesses;
  keys[6].cpus.clear();
  for (std::size_t i = 0; i < keys.size(); ++i)
    for (std::size_t j = i + 1; j < keys.size(); ++j)
      EXPECT_NE(plan_path(keys[i]), plan_path(keys[j])) << i << " " << j;
}

TEST_F(Cache, AFileUnderAnothersNameIsRefused) {
  const Plan plan = sample();
  PlanKey other = plan.key;
  other.engine = Engine::kProcesses;
  ASSERT_TRUE(write_file_atomically(plan_path(other), to_json(plan)).ok());
  EXPECT_EQ(load_plan(other).error().status, Status::kParse);
}

TEST_F(Cache, NothingIsLeftBeside) {
  const Plan plan = sample();
  ASSERT_TRUE(save_plan(plan).ok());
  ASSERT_TRUE(save_plan(plan).ok());
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(cache_.path()))
    files += entry.is_regular_file();
  EXPECT_EQ(files, 2);
}

TEST(Explain, FitsAHundredColumnsAndSaysWhatMatters) {
  const auto t = topology_from_regular({.hosts = 4, .packages = 2, .l3 = 2, .cores = 8});
  ASSERT_TRUE(t.ok());
  for (const std::int32_t n : {1, 2, 9, 16, 128, 600}) {
    PlanOptions o;
    o.key.members = n;
    o.key.cpus = place(*t, n, Placement::kCpu);
    const auto plan = make_plan(*t, estimate_profile(*t), o, nullptr);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    const std::string text = explain(*plan, true);
    std::size_t column = 0;
    for (const char c : text) {
      column = c == '\n' ? 0 : column + 1;
      ASSERT_LE(column, 100u) << text;
    }
    for (const char* word :
         {"barrier", "layout", "predicted", "measured", "bound", "levels", "stages", "considered", "chosen"})
      EXPECT_NE(text.find(word), std::string::npos) << word;
  }
}

}  // namespace
}  // namespace fermata
