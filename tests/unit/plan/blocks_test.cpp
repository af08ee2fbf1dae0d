// Block programs of every collective and algorithm, run and compared with a serial reference.
#include <gtest/gtest.h>

#include "algo/algorithm.hpp"
#include "algo/sweep.hpp"
#include "block_simulation.hpp"
#include "operators.hpp"
#include "schedule/compose.hpp"

namespace fermata {
namespace {

using test::BlockSimulation;
using test::kLeftToRight;
using test::kProduct;
using test::kSum;
using test::Random;
using test::roots_of;

bool irregular_collective(Collective k) { return has_several_blocks(k) && !folds(k); }

std::vector<CompiledBlocks> compile_all(const Schedule& s) {
  std::vector<CompiledBlocks> programs;
  for (std::int32_t m = 0; m < s.members; ++m) {
    Result<CompiledBlocks> one = compile_blocks(s, m, Verified{});
    EXPECT_TRUE(one) << (one ? "" : one.error().message);
    if (one) programs.push_back(std::move(*one));
  }
  return programs;
}

// Lists are in order, indices within the program's sizes, and nothing is read before it was written.
void check_form(const CompiledBlocks& c) {
  const BlockProgram& p = c.program;
  std::uint32_t next = 0;
  for (std::uint32_t a = 0; a < p.stage_count; ++a) {
    ASSERT_EQ(p.stages[a].first, next);
    ASSERT_GT(p.stages[a].count, 0u);
    next += p.stages[a].count;
    int before = 0;
    for (std::uint32_t i = p.stages[a].first; i < next; ++i) {
      const BlockTransfer& t = p.transfers[i];
      const int group = is_receive(t.code) ? 1 : 0;
      ASSERT_GE(group, before) << "receives behind the rest";
      before = group;
      ASSERT_LT(t.piece, t.pieces);
      if (t.from.place == BlockPlace::kSpace) {
        ASSERT_LT(t.from.index, p.space_blocks);
      }
      if (t.to.place == BlockPlace::kSpace) {
        ASSERT_LT(t.to.index, p.space_blocks);
      }
    }
  }
  ASSERT_EQ(next, p.transfer_count);
}

void run_and_check(const Schedule& s, Random& random, bool straight) {
  const std::vector<CompiledBlocks> programs = compile_all(s);
  ASSERT_EQ(std::ssize(programs), s.members);
  for (const CompiledBlocks& c : programs) check_form(c);
  using Order = BlockSimulation::Order;
  const Order order = !verify(s, kProduct)      ? Order::kAny
                      : verify(s, kLeftToRight) ? Order::kLeftToRight
                                                : Order::kRanks;
  BlockSimulation regular(s, programs, false, random);
  regular.run();
  regular.check(order);
  if (!straight) return;
  BlockSimulation irregular(s, programs, true, random);
  irregular.run();
  irregular.check(order);
}

bool uses_space(const std::vector<CompiledBlocks>& programs) {
  return std::any_of(programs.begin(), programs.end(),
                     [](const CompiledBlocks& c) { return c.program.space_blocks > 0; });
}

TEST(Blocks, EveryCollectiveAndAlgorithmGivesWhatASerialReferenceGives) {
  Random random(11);
  std::set<Collective> seen;
  for (const std::int32_t members : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 33}) {
    if (members > 16 && FERMATA_TEST_SCALE > 1) continue;
    for (const Algorithm& algorithm : algorithms()) {
      for (int k = 1; k < kCollectiveCount; ++k) {
        const auto collective = static_cast<Collective>(k);
        for (const std::int32_t degree : algorithm.has_degree ? std::vector{1, 2, 3} : std::vector{2}) {
          for (const std::int32_t root : roots_of(collective, members)) {
            const Request request{
                .collective = collective, .members = members, .root = root, .degree = degree};
            if (!algorithm.applicable(request)) continue;
            const Schedule whole = algorithm.build(request);
            if (!verify(whole, kSum)) continue;  // contributions come more than once
            for (const std::int32_t segments : {1, 3}) {
              if (segments > 1 && (members > 9 || members % 2 == FERMATA_TEST_SCALE % 2)) continue;
              const Schedule s = pipeline(whole, segments);
              SCOPED_TRACE(s.algorithm + " " + name_of(collective) + " P=" + std::to_string(members) +
                           " root=" + std::to_string(root) + " segments=" + std::to_string(segments));
              run_and_check(s, random, irregular_collective(collective) && !uses_space(compile_all(s)));
              seen.insert(collective);
              if (HasFailure()) return;
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(kCollectiveCount - 1));
}

TEST(Blocks, NothingIsCopiedButContributionsThatNobodyTouched) {
  for (const Algorithm& algorithm : algorithms()) {
    for (int k = 1; k < kCollectiveCount; ++k) {
      const Request request{.collective = static_cast<Collective>(k),
                            .members = 8,
                            .root = has_root(static_cast<Collective>(k)) ? 3 : 0};
      if (!algorithm.applicable(request)) continue;
      const Schedule s = algorithm.build(request);
      for (const CompiledBlocks& c : compile_all(s)) {
        std::uint32_t copies = 0;
        for (const BlockTransfer& t : c.transfers) {
          // Transfers that others wait for go first.
          if (t.code == BlockCode::kSend && &t < c.transfers.data() + c.stages.front().count) {
            EXPECT_EQ(copies, 0U) << s.algorithm << " " << name_of(s.collective);
          }
          if (t.code != BlockCode::kCopy) continue;
          ++copies;
          if (t.to.place == BlockPlace::kSpace) continue;
          EXPECT_EQ(t.from.place, BlockPlace::kInput) << s.algorithm << " " << name_of(s.collective);
          EXPECT_EQ(t.to.place, BlockPlace::kOutput) << s.algorithm << " " << name_of(s.collective);
        }
        const bool own = s.collective == Collective::kAllgather || s.collective == Collective::kAlltoall ||
                         (s.collective == Collective::kScan && c.program.rank == 0) ||
                         ((s.collective == Collective::kGather || s.collective == Collective::kScatter) &&
                          c.program.rank == c.program.root);
        // The value that an exscan's chain sends on is folded apart from the member's result.
        const bool apart = s.collective == Collective::kExscan && s.registers == 2 && c.program.rank != 0 &&
                           c.program.rank != c.program.members - 1;
        EXPECT_EQ(copies, own || apart ? 1u : 0u)
            << s.algorithm << " " << name_of(s.collective) << " rank " << c.program.rank;
      }
    }
  }
}

// Schedules that move values between registers: saved, restored, exchanged, overwritten while they are sent.
TEST(Blocks, SchedulesWithCopiesHereAndThereGiveTheSame) {
  Random random(3);
  int ran = 0, copied = 0, last_copied = 0, after_sends = 0, to_oneself = 0;
  for (int trial = 0; trial < 300000 / FERMATA_TEST_SCALE; ++trial) {
    const auto& table = algorithms();
    const Algorithm& algorithm =
        table[static_cast<std::size_t>(random.below(static_cast<int>(table.size())))];
    const auto collective = static_cast<Collective>(1 + random.below(kCollectiveCount - 1));
    const std::int32_t members = 1 + random.below(4);
    const Request request{.collective = collective,
                          .members = members,
                          .root = has_root(collective) ? random.below(members) : 0};
    if (!algorithm.applicable(request)) continue;
    Schedule s = pipeline(algorithm.build(request), 1 + random.below(2));
    s.registers = 2;
    for (int more = 1 + random.below(4); more > 0; --more) {
      const int at = random.below(static_cast<int>(s.stages.size()) + 1);
      if (random.chance(30) || at == std::ssize(s.stages)) s.stages.insert(s.stages.begin() + at, Stage{});
      std::vector<Transfer>& list = s.stages[static_cast<std::size_t>(at)].transfers;
      const std::int32_t from = random.below(members), to = random.chance(60) ? from : random.below(members);
      const Transfer extra{from,
                           to,
                           random.below(s.chunks),
                           static_cast<std::uint8_t>(random.below(2)),
                           static_cast<std::uint8_t>(random.below(2)),
                           random.chance(80) ? Action::kCopy : Action::kCombine,
                           random.chance(50) ? Side::kLeft : Side::kRight};
      list.insert(list.begin() + random.below(static_cast<int>(list.size()) + 1), extra);
    }
    if (!verify(s, kSum)) continue;
    SCOPED_TRACE(s.algorithm + " " + name_of(collective) + " P=" + std::to_string(members) + " trial " +
                 std::to_string(trial));
    run_and_check(s, random, false);
    if (HasFailure()) return;
    ++ran;
    for (const CompiledBlocks& c : compile_all(s)) {
      for (const BlockTransfer& t : c.transfers) {
        copied += t.code == BlockCode::kCopy && t.to.place == BlockPlace::kSpace;
        last_copied += t.code == BlockCode::kCopy && t.from.place == BlockPlace::kSpace &&
                       t.to.place == BlockPlace::kOutput;
        after_sends += t.after_sends;
        to_oneself += t.code == BlockCode::kSend && t.peer == c.program.rank;
      }
    }
  }
  EXPECT_GT(ran, 5000 / FERMATA_TEST_SCALE);
  EXPECT_GT(copied, 500 / FERMATA_TEST_SCALE);
  EXPECT_GT(last_copied, 500 / FERMATA_TEST_SCALE);
  EXPECT_GT(after_sends, 500 / FERMATA_TEST_SCALE);
  EXPECT_GT(to_oneself, 50 / FERMATA_TEST_SCALE);
}

Schedule sum_of_two(std::vector<Stage> stages) {
  Schedule s;
  s.collective = Collective::kAllreduce;
  s.members = 2;
  s.chunks = 1;
  s.registers = 2;
  s.stages = std::move(stages);
  EXPECT_TRUE(verify(s, kProduct));
  return s;
}
Transfer moved(int from, int to, std::uint8_t src, std::uint8_t dst) {
  return {from, to, 0, src, dst, Action::kCopy, Side::kRight};
}
Transfer folded(int from, int to, std::uint8_t src, Side side) {
  return {from, to, 0, src, 0, Action::kCombine, side};
}

TEST(Blocks, AFoldTakesItsOwnValueFromTheRegisterThatTheScheduleNames) {
  Random random(1);
  run_and_check(sum_of_two({{{moved(1, 1, 0, 1)}},  // saved
                            {{moved(0, 1, 0, 0)}},
                            {{moved(0, 1, 0, 0), folded(1, 1, 1, Side::kRight)}},
                            {{moved(1, 0, 0, 0)}}}),
                random, false);
}

TEST(Blocks, WhatAStageSendsIsNotCopiedOver) {
  Random random(1);
  run_and_check(sum_of_two({{{moved(1, 1, 0, 1)}},  // saved
                            {{moved(0, 1, 0, 0)}},
                            // 0's value goes back to it; member 1 restores its own
                            {{moved(1, 0, 0, 1), moved(1, 1, 1, 0)}},
                            {{folded(0, 1, 1, Side::kLeft)}},
                            {{moved(1, 0, 0, 0)}}}),
                random, false);
}

TEST(Blocks, TwoMembersFoldIntoTheOutputInOnePass) {
  for (const char* name : {"complete", "butterfly"}) {
    const Schedule s = find_algorithm(name)->build({.collective = Collective::kAllreduce, .members = 2});
    for (const CompiledBlocks& c : compile_all(s)) {
      ASSERT_EQ(c.transfers.size(), 2u) << name;
      EXPECT_EQ(c.edges.size(), 2u) << name;
      EXPECT_EQ(c.transfers[0].from, (BlockAt{BlockPlace::kInput, 0}));
      EXPECT_EQ(c.transfers[1].code,
                c.program.rank == 0 ? BlockCode::kReceiveRight : BlockCode::kReceiveLeft);
      EXPECT_EQ(c.transfers[1].from, (BlockAt{BlockPlace::kInput, 0}));
      EXPECT_EQ(c.transfers[1].to, (BlockAt{BlockPlace::kOutput, 0}));
      EXPECT_FALSE(c.transfers[1].after_sends);
    }
  }
}

TEST(Blocks, SpaceIsUsedAgain) {
  const Schedule s = find_algorithm("bruck")->build({.collective = Collective::kAlltoall, .members = 16});
  std::int32_t through = 0;  // blocks that pass through member 0
  for (const Stage& stage : s.stages) {
    for (const Transfer& t : stage.transfers) through += t.to == 0 && t.chunk % 16 != 0;
  }
  const auto c = compile_blocks(s, 0);
  ASSERT_TRUE(c);
  EXPECT_GT(c->program.space_blocks, 0u);
  EXPECT_LT(static_cast<std::int32_t>(c->program.space_blocks), through);
  EXPECT_LE(c->program.space_blocks, 16u);
}

TEST(Blocks, WhatCannotBeCompiledIsRefused) {
  Schedule s = find_algorithm("linear")->build({.collective = Collective::kBroadcast, .members = 3});
  EXPECT_EQ(compile_blocks(s, 3).error().status, Status::kArgument);
  EXPECT_EQ(compile_blocks(s, -1).error().status, Status::kArgument);
  s.stages[0].transfers.push_back({.from = 1, .to = 2});
  EXPECT_EQ(compile_blocks(s, 0).error().status, Status::kUnsupported);
  s.stages[0].transfers.clear();
  EXPECT_EQ(compile_blocks(s, 0).error().status, Status::kVerify);
  const Schedule barrier =
      find_algorithm("linear")->build({.collective = Collective::kBarrier, .members = 3});
  EXPECT_EQ(compile_blocks(barrier, 0).error().status, Status::kUnsupported);
  const Schedule twice =
      find_algorithm("dissemination")->build({.collective = Collective::kAllreduce, .members = 3});
  EXPECT_EQ(compile_blocks(twice, 0).error().status, Status::kVerify);
}

}  // namespace
}  // namespace fermata
