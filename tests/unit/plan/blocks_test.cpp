// Block programs of every kind and algorithm, run and compared with a serial reference; and the choice of
// schedules.
#include <gtest/gtest.h>

#include <set>

#include "algo/algorithm.hpp"
#include "algo/sweep.hpp"
#include "block_crew.hpp"
#include "schedule/compose.hpp"

namespace fermata {
namespace {

using test::BlockCrew;
using test::Random;

constexpr OpTraits kSum{.associative = true, .commutative = true, .idempotent = false};
constexpr OpTraits kFloatSum{.associative = false, .commutative = true, .idempotent = false};
constexpr OpTraits kProduct{.associative = true, .commutative = false, .idempotent = false};
constexpr OpTraits kLeftToRight{
    .associative = false, .commutative = false, .idempotent = false, .left_to_right = true};
constexpr OpTraits kFloatProduct{.associative = false, .commutative = false, .idempotent = false};

bool irregular_kind(Kind k) { return has_several_blocks(k) && !folds(k); }

std::vector<std::int32_t> roots_of(Kind kind, std::int32_t members) {
  if (!has_root(kind)) return {0};
  const std::set<std::int32_t> roots{0, members / 2, members - 1};
  return {roots.begin(), roots.end()};
}

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
  using Order = BlockCrew::Order;
  const Order order = !verify(s, kProduct)      ? Order::kAny
                      : verify(s, kLeftToRight) ? Order::kLeftToRight
                                                : Order::kRanks;
  BlockCrew regular(s, programs, false, random);
  regular.run();
  regular.check(order);
  if (!straight) return;
  BlockCrew irregular(s, programs, true, random);
  irregular.run();
  irregular.check(order);
}

bool uses_space(const std::vector<CompiledBlocks>& programs) {
  return std::any_of(programs.begin(), programs.end(),
                     [](const CompiledBlocks& c) { return c.program.space_blocks > 0; });
}

TEST(Blocks, EveryKindAndAlgorithmGivesWhatASerialReferenceGives) {
  Random random(11);
  std::set<Kind> seen;
  for (const std::int32_t members : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 33}) {
    if (members > 16 && FERMATA_TEST_SCALE > 1) continue;
    for (const Algorithm& algorithm : algorithms()) {
      for (int k = 1; k < kKindCount; ++k) {
        const auto kind = static_cast<Kind>(k);
        for (const std::int32_t degree : algorithm.has_degree ? std::vector{1, 2, 3} : std::vector{2}) {
          for (const std::int32_t root : roots_of(kind, members)) {
            const Request request{.kind = kind, .members = members, .root = root, .degree = degree};
            if (!algorithm.applicable(request)) continue;
            const Schedule whole = algorithm.build(request);
            if (!verify(whole, kSum)) continue;  // contributions come more than once
            for (const std::int32_t segments : {1, 3}) {
              if (segments > 1 && (members > 9 || members % 2 == FERMATA_TEST_SCALE % 2)) continue;
              const Schedule s = pipeline(whole, segments);
              SCOPED_TRACE(s.algorithm + " " + name_of(kind) + " P=" + std::to_string(members) +
                           " root=" + std::to_string(root) + " segments=" + std::to_string(segments));
              run_and_check(s, random, irregular_kind(kind) && !uses_space(compile_all(s)));
              seen.insert(kind);
              if (HasFailure()) return;
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(kKindCount - 1));
}

TEST(Blocks, NothingIsCopiedButContributionsThatNobodyTouched) {
  for (const Algorithm& algorithm : algorithms()) {
    for (int k = 1; k < kKindCount; ++k) {
      const Request request{
          .kind = static_cast<Kind>(k), .members = 8, .root = has_root(static_cast<Kind>(k)) ? 3 : 0};
      if (!algorithm.applicable(request)) continue;
      const Schedule s = algorithm.build(request);
      for (const CompiledBlocks& c : compile_all(s)) {
        std::uint32_t copies = 0;
        for (const BlockTransfer& t : c.transfers) {
          // Transfers that others wait for go first.
          if (t.code == BlockCode::kSend && &t < c.transfers.data() + c.stages.front().count) {
            EXPECT_EQ(copies, 0U) << s.algorithm << " " << name_of(s.kind);
          }
          if (t.code != BlockCode::kCopy) continue;
          ++copies;
          if (t.to.place == BlockPlace::kSpace) continue;
          EXPECT_EQ(t.from.place, BlockPlace::kInput) << s.algorithm << " " << name_of(s.kind);
          EXPECT_EQ(t.to.place, BlockPlace::kOutput) << s.algorithm << " " << name_of(s.kind);
        }
        const bool own =
            s.kind == Kind::kAllgather || s.kind == Kind::kAlltoall ||
            (s.kind == Kind::kScan && c.program.rank == 0) ||
            ((s.kind == Kind::kGather || s.kind == Kind::kScatter) && c.program.rank == c.program.root);
        // The value that an exscan's chain sends on is folded apart from the member's result.
        const bool apart = s.kind == Kind::kExscan && s.registers == 2 && c.program.rank != 0 &&
                           c.program.rank != c.program.members - 1;
        EXPECT_EQ(copies, own || apart ? 1u : 0u)
            << s.algorithm << " " << name_of(s.kind) << " rank " << c.program.rank;
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
    const auto kind = static_cast<Kind>(1 + random.below(kKindCount - 1));
    const std::int32_t members = 1 + random.below(4);
    const Request request{
        .kind = kind, .members = members, .root = has_root(kind) ? random.below(members) : 0};
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
    SCOPED_TRACE(s.algorithm + " " + name_of(kind) + " P=" + std::to_string(members) + " trial " +
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
  s.kind = Kind::kAllreduce;
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
    const Schedule s = find_algorithm(name)->build({.kind = Kind::kAllreduce, .members = 2});
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
  const Schedule s = find_algorithm("bruck")->build({.kind = Kind::kAlltoall, .members = 16});
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
  Schedule s = find_algorithm("linear")->build({.kind = Kind::kBroadcast, .members = 3});
  EXPECT_EQ(compile_blocks(s, 3).error().status, Status::kArgument);
  EXPECT_EQ(compile_blocks(s, -1).error().status, Status::kArgument);
  s.stages[0].transfers.push_back({.from = 1, .to = 2});
  EXPECT_EQ(compile_blocks(s, 0).error().status, Status::kUnsupported);
  s.stages[0].transfers.clear();
  EXPECT_EQ(compile_blocks(s, 0).error().status, Status::kVerify);
  const Schedule barrier = find_algorithm("linear")->build({.kind = Kind::kBarrier, .members = 3});
  EXPECT_EQ(compile_blocks(barrier, 0).error().status, Status::kUnsupported);
  const Schedule twice = find_algorithm("dissemination")->build({.kind = Kind::kAllreduce, .members = 3});
  EXPECT_EQ(compile_blocks(twice, 0).error().status, Status::kVerify);
}

bool goes_straight(const Schedule& s) {
  for (const Stage& stage : s.stages) {
    for (const Transfer& t : stage.transfers)
      if (t.from != rule_of(s, t.chunk).starts_at || t.to != rule_of(s, t.chunk).ends_at) return false;
  }
  return true;
}

Schedule chosen(Kind kind, std::int32_t members, std::int32_t root, std::size_t bytes, bool irregular,
                OpTraits op, const CostModel* model) {
  return choose_blocks(
      {.kind = kind, .members = members, .root = root, .bytes = bytes, .irregular = irregular, .op = op},
      model);
}

TEST(BlockChoice, ThereAlwaysIsOne) {
  for (std::int32_t members = 1; members <= 33; members += members < 9 || FERMATA_TEST_SCALE == 1 ? 1 : 12) {
    for (int k = 1; k < kKindCount; ++k) {
      const auto kind = static_cast<Kind>(k);
      for (const std::int32_t root : roots_of(kind, members)) {
        for (const std::size_t bytes : {std::size_t{8}, std::size_t{1} << 20}) {
          for (const OpTraits op : {kFloatSum, kFloatProduct, kLeftToRight}) {
            if (!folds(kind) && !op.commutative) continue;
            if (op.left_to_right && members > 9) continue;  // the next test has every size
            const bool irregular = members % 2 == 0;
            const Schedule s = chosen(kind, members, root, bytes, irregular, op, nullptr);
            SCOPED_TRACE(s.algorithm + " " + name_of(kind) + " P=" + std::to_string(members) +
                         " root=" + std::to_string(root));
            ASSERT_GT(s.chunks, 0);
            EXPECT_EQ(s.kind, kind);
            EXPECT_EQ(s.members, members);
            EXPECT_EQ(s.root, has_root(kind) ? root : 0);
            EXPECT_TRUE(verify(s, op));
            if (irregular && hides_lengths(kind)) {
              EXPECT_TRUE(goes_straight(s));
            }
            EXPECT_TRUE(compile_blocks(s, members - 1, Verified{}));
          }
        }
      }
    }
  }
}

TEST(BlockChoice, LeftToRightIsTheTreeOfASerialLoopAtEverySize) {
  std::set<std::string> names;
  for (const Kind kind :
       {Kind::kReduce, Kind::kAllreduce, Kind::kReduceScatter, Kind::kScan, Kind::kExscan}) {
    for (std::size_t bytes = 1; bytes <= std::size_t{1} << 26; bytes *= FERMATA_TEST_SCALE == 1 ? 2 : 64) {
      const Schedule s = chosen(kind, 5, has_root(kind) ? 2 : 0, bytes, false, kLeftToRight, nullptr);
      SCOPED_TRACE(s.algorithm + " " + name_of(kind) + " " + std::to_string(bytes));
      names.insert(s.algorithm);
      const std::int32_t pieces = s.chunks / blocks_of(kind, 5);
      const std::int32_t at = kind == Kind::kReduce ? 2 : 4;
      const std::int32_t chunk = kind == Kind::kReduceScatter ? at * pieces : 0;
      EXPECT_EQ(result_expression(s, at, chunk),
                kind == Kind::kExscan ? "(((0+1)+2)+3)" : "((((0+1)+2)+3)+4)");
      EXPECT_TRUE(verify(s, kLeftToRight));
    }
  }
  EXPECT_GT(names.size(), 2u);
}

TEST(BlockChoice, OtherTreesAreNotLeftToRight) {
  const Request allreduce{.kind = Kind::kAllreduce, .members = 4};
  const Schedule tree = find_algorithm("butterfly")->build(allreduce);
  EXPECT_TRUE(verify(tree, kFloatProduct));  // ((0+1)+(2+3)): in rank order
  EXPECT_NE(verify(tree, kLeftToRight).error().message.find("((0+1)+(2+3)), not left to right"),
            std::string::npos);
  EXPECT_TRUE(verify(find_algorithm("linear")->build(allreduce), kLeftToRight));
  Schedule swapped = find_algorithm("in_order")->build({.kind = Kind::kReduce, .members = 4});
  EXPECT_TRUE(verify(swapped, kLeftToRight));
  std::swap(swapped.stages[0].transfers[1], swapped.stages[0].transfers[2]);
  EXPECT_FALSE(verify(swapped, kLeftToRight));
  EXPECT_TRUE(verify(swapped, kFloatSum));
}

TEST(BlockChoice, SizeDecides) {
  const auto stages = [](Kind kind, std::size_t bytes) {
    return chosen(kind, 16, 0, bytes, false, kFloatSum, nullptr).stages.size();
  };
  // Short vectors: few stages. Long ones: more stages, in which each member moves little.
  EXPECT_LE(stages(Kind::kAllreduce, 8), 4u);
  EXPECT_GT(stages(Kind::kAllreduce, 8 << 20), 4u);
  EXPECT_GT(chosen(Kind::kAllreduce, 16, 0, 8 << 20, false, kFloatSum, nullptr).chunks, 1);
  EXPECT_GT(chosen(Kind::kBroadcast, 16, 0, 8 << 20, false, kFloatSum, nullptr).chunks, 1);
  EXPECT_EQ(chosen(Kind::kBroadcast, 16, 0, 8, false, kFloatSum, nullptr).chunks, 1);
}

TEST(BlockChoice, WhereCpusAreSharedAScanTakesTheFewestSteps) {
  for (const Kind kind : {Kind::kScan, Kind::kExscan}) {
    const BlockCase wanted{.kind = kind, .members = 8, .bytes = 8, .op = kSum};
    CostModel model = flat_model(8);
    EXPECT_NE(choose_blocks(wanted, &model).algorithm, "chain");
    model.members_per_cpu = 4;
    EXPECT_EQ(choose_blocks(wanted, &model).algorithm, "chain");
  }
}

TEST(BlockChoice, WhatLeavesTheCachesIsCut) {
  const BlockCase wanted{.kind = Kind::kAllreduce, .members = 2, .bytes = std::size_t{8} << 20, .op = kSum};
  CostModel model = flat_model(2);
  model.bytes.fold_apart = 0;
  EXPECT_EQ(BlockChooser(wanted, &model).ranked().front().segments, 1);
  model.bytes.cached = 262144;
  model.bytes.beyond = 1.3;
  const BlockChooser cut(wanted, &model);
  EXPECT_GE(cut.ranked().front().segments, 16) << "halves of 4 MiB";
}

TEST(BlockChoice, TheModelDecides) {
  CostModel far;  // ranks 0-3 and 4-7 on two machines: trees that often cross cost much
  far.members = 8;
  far.o.assign(64, 100);
  far.l.assign(64, 50);
  far.g.assign(64, 0.1);
  for (int i = 0; i < 8; ++i) {
    for (int j = 0; j < 8; ++j)
      if ((i < 4) != (j < 4)) far.o[static_cast<std::size_t>(i * 8 + j)] = 50000;
  }
  const auto time = [&](const Schedule& s) { return cost(s, far, LayoutChoice{}, 64).critical_path_ns; };
  const Schedule near = chosen(Kind::kAllreduce, 8, 0, 64, false, kSum, &far);
  for (const Algorithm& algorithm : algorithms()) {
    const Request request{.kind = Kind::kAllreduce, .members = 8};
    if (algorithm.redundant || algorithm.cuts || !algorithm.applicable(request)) continue;
    EXPECT_LE(time(near), time(algorithm.build(request))) << near.algorithm << " and " << algorithm.name;
  }
}

}  // namespace
}  // namespace fermata
