// The schedule of a team's collectives on blocks: chosen by the profile, or as measured and saved.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <thread>
#include <vector>

#include "../../own_folder.hpp"
#include "plan/choose_blocks.hpp"
#include "team/blocks.hpp"
#include "team/machine.hpp"
#include "team/measure.hpp"

namespace fermata {
namespace {

constexpr OpTraits kFloatSum{.associative = false, .commutative = true, .idempotent = false};
constexpr int kMembers = 3;
constexpr std::size_t kCount = 1000, kClass = 8192;  // doubles, and the size class in bytes

class BlockChoice : public testing::Test {
 protected:
  void SetUp() override {
    key_.fingerprint = fingerprint(**team::this_machine());
    key_.members = kMembers;
  }

  // Runs one allreduce and returns the number of transfers of each member's program.
  std::vector<std::size_t> run() {
    fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
    config.members = kMembers;
    fermata_team* team = nullptr;
    EXPECT_EQ(fermata_team_create(&config, &team), FERMATA_OK) << fermata_error_detail();
    std::vector<std::size_t> transfers(kMembers);
    std::vector<std::thread> workers;
    for (int r = 0; r < kMembers; ++r) {
      workers.emplace_back([&, r] {
        fermata_member* m = nullptr;
        ASSERT_EQ(fermata_team_join(team, r, &m), FERMATA_OK);
        ASSERT_EQ(fermata_member_set_timeout(m, 60), FERMATA_OK);
        std::vector<double> in(kCount), out(kCount);
        std::iota(in.begin(), in.end(), r);
        EXPECT_EQ(fermata_allreduce(m, in.data(), out.data(), kCount, FERMATA_DOUBLE, FERMATA_SUM),
                  FERMATA_OK)
            << fermata_error_detail();
        for (std::size_t i = 0; i < kCount; ++i) ASSERT_EQ(out[i], 3 * static_cast<double>(i) + 3);
        ASSERT_EQ(m->blocks->programs.size(), 1u);
        transfers[static_cast<std::size_t>(r)] = m->blocks->programs.begin()->second->transfers.size();
        fermata_member_leave(m);
      });
    }
    for (std::thread& t : workers) t.join();
    fermata_team_destroy(team);
    return transfers;
  }

  std::vector<std::size_t> transfers_of(const Schedule& s) const {
    std::vector<std::size_t> out;
    for (std::int32_t r = 0; r < kMembers; ++r)
      out.push_back(compile_blocks(s, r, Verified{})->transfers.size());
    return out;
  }

  PlanKey key_;

 private:
  test::OwnCache cache_;
};

TEST_F(BlockChoice, WhatWasMeasuredIsRun) {
  const CostModel model = block_costs(team::this_profile(Engine::kThreads), **team::this_machine(), key_);
  const BlockCase wanted{.collective = Collective::kAllreduce,
                         .members = kMembers,
                         .root = 0,
                         .bytes = kClass,
                         .irregular = false,
                         .op = kFloatSum};
  const Schedule predicted = choose_blocks(wanted, &model);
  EXPECT_EQ(run(), transfers_of(predicted));
  const BlockChooser chooser(wanted, &model);
  int other = 0;
  for (const BlockCandidate& c : chooser.ranked()) {
    const Schedule s = chooser.build(c);
    if (!verify(s, kFloatSum) || transfers_of(s) == transfers_of(predicted) || ++other > 3) continue;
    ASSERT_TRUE(save_block_plan(
                    key_, {Collective::kAllreduce, kClass, "measured", "", {{c.name, c.ns, c.ns, "chosen"}}})
                    .ok());
    EXPECT_EQ(run(), transfers_of(s)) << c.name;
  }
  EXPECT_GT(other, 0);
}

// If the file names an algorithm that does not exist, all members run the predicted best.
TEST_F(BlockChoice, ANameThatThereIsNotIsPassedOver) {
  const std::vector<std::size_t> predicted = run();
  ASSERT_TRUE(
      save_block_plan(key_, {Collective::kAllreduce, kClass, "measured", "", {{"no such", 1, 1, "chosen"}}})
          .ok());
  EXPECT_EQ(run(), predicted);
}

TEST_F(BlockChoice, CandidatesAreTimedHere) {
  const BlockMeasure measure = measure_blocks_on_this_machine();
  for (const Engine engine : {Engine::kThreads, Engine::kProcesses}) {
    key_.engine = engine;
    for (const Collective collective :
         {Collective::kBroadcast, Collective::kReduceScatter, Collective::kAlltoall}) {
      key_.collective = collective;
      const BlockCase wanted{.collective = collective,
                             .members = kMembers,
                             .root = 0,
                             .bytes = 4096,
                             .irregular = false,
                             .op = kFloatSum};
      const auto ns = measure(choose_blocks(wanted, nullptr), key_, 4096, 0);
      ASSERT_TRUE(ns.ok()) << ns.error().message;
      EXPECT_GT(*ns, 0);
    }
  }
  const BlockCase one{.collective = Collective::kBroadcast,
                      .members = kMembers,
                      .root = 0,
                      .bytes = 8,
                      .irregular = false,
                      .op = {}};
  Schedule wrong = choose_blocks(one, nullptr);
  wrong.stages.clear();
  EXPECT_EQ(measure(wrong, key_, 8, 0).error().status, Status::kVerify);
}

}  // namespace
}  // namespace fermata
