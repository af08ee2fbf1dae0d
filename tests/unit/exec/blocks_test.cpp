// Collectives on blocks, driven by hand: cases that the property tests meet only by chance.
#include "exec/blocks.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

#include "sum.hpp"

namespace fermata::exec {
namespace {

constexpr std::size_t kQuarter = 256;
constexpr auto kNobody = [](std::uint32_t) {};

// Ranks 1 and 2 send to rank 0, which folds them in this order. The ring buffers are adjacent.
struct Fold {
  BlockEdge edges[2] = {{1, 0}, {2, 0}};
  BlockTransfer receives[2], send[2];
  BlockStage both{0, 2}, one{0, 1};
  BlockProgram program[3];
  alignas(kMaxLine) std::byte rings[2 * Channel::ring_bytes(kLeastRingLines, kQuarter)] = {};
  Channel::End ends[3][4];
  Channel channels[3];
  BlockOperation::Work work[3][2];
  BlockOperation operation[3];

  Fold() {
    for (std::uint32_t e = 0; e < 2; ++e) {
      receives[e].code = BlockCode::kReceiveRight;
      receives[e].peer = e + 1;
      receives[e].edge = send[e].edge = e;
      receives[e].from = receives[e].to = {BlockPlace::kOutput, 0};
      program[e + 1] = {.members = 3,
                        .rank = e + 1,
                        .stage_count = 1,
                        .transfer_count = 1,
                        .edge_count = 2,
                        .stages = &one,
                        .transfers = &send[e],
                        .edges = edges};
    }
    program[0] = {.members = 3,
                  .rank = 0,
                  .stage_count = 1,
                  .transfer_count = 2,
                  .edge_count = 2,
                  .stages = &both,
                  .transfers = receives,
                  .edges = edges};
    for (std::uint32_t r = 0; r < 3; ++r) channels[r] = {rings, kLeastRingLines, kQuarter, 0, ends[r]};
  }
  void prepare(std::uint32_t rank, std::uint64_t* data, std::size_t count) {
    BlockCall call;
    call.element = 8;
    call.fold = add;
    call.direct_from = SIZE_MAX;
    call.input = call.output = {reinterpret_cast<std::byte*>(data), count, nullptr, nullptr};
    operation[rank].prepare(program[rank], call, &channels[rank], work[rank], nullptr, 0);
  }
};

// Rank 2 has sent everything and may leave, although rank 0 can't take it yet.
TEST(BlockOperation, LacksNothingOfWhoHasSent) {
  Fold f;
  std::uint64_t data[3] = {1, 10, 100};
  for (std::uint32_t r = 0; r < 3; ++r) f.prepare(r, &data[r], 1);
  EXPECT_TRUE(f.operation[2].untouched());
  EXPECT_TRUE(f.operation[2].advance(kNobody));
  EXPECT_FALSE(f.operation[2].untouched());
  EXPECT_FALSE(f.operation[0].advance(kNobody));
  EXPECT_TRUE(f.operation[0].untouched());
  EXPECT_FALSE(f.operation[0].ready());
  EXPECT_TRUE(f.operation[0].works_with(2));
  EXPECT_FALSE(f.operation[0].lacks(2));
  EXPECT_TRUE(f.operation[0].lacks(1));
  EXPECT_TRUE(f.operation[1].advance(kNobody));
  EXPECT_TRUE(f.operation[0].advance(kNobody));
  EXPECT_FALSE(f.operation[0].untouched());
  EXPECT_EQ(data[0], 111u);
}

TEST(BlockOperation, NothingIsOpenInOneThatHasFailed) {
  Fold f;
  std::uint64_t data[3] = {1, 10, 100};
  for (std::uint32_t r = 0; r < 3; ++r) f.prepare(r, &data[r], 1);
  EXPECT_FALSE(f.operation[0].advance(kNobody));
  EXPECT_TRUE(f.operation[0].works_with(2));
  EXPECT_TRUE(f.operation[0].lacks(2));
  EXPECT_EQ(f.operation[0].open_bytes(), 16u);
  EXPECT_EQ(f.operation[0].awaited(), 1u);
  f.operation[0].fail(1);
  EXPECT_TRUE(f.operation[0].ready());
  EXPECT_FALSE(f.operation[0].works_with(2));
  EXPECT_FALSE(f.operation[0].lacks(2));
  EXPECT_EQ(f.operation[0].open_bytes(), 0u);
  EXPECT_EQ(f.operation[0].awaited(), 0u);
}

// Pieces of all lengths, on the line and in the buffer, for several laps. The sender is always as far ahead
// as it may be.
void share_a_ring(std::size_t in_quarter) {
  Fold f;
  for (Channel& channel : f.channels) channel.in_quarter = in_quarter;
  std::uint64_t sent[1 + 2 * kQuarter / 8], received[1 + 2 * kQuarter / 8];
  std::uint64_t value = 0, expected = 0;
  std::size_t calls = 0, taken = 0;
  constexpr std::size_t kCalls = 2000;
  const auto count_of = [](std::size_t call) { return 1 + call * 7919 % (2 * kQuarter / 8); };
  bool sending = false, receiving = false;
  f.receives[0].code = BlockCode::kReceive;
  f.program[0].stages = &f.one;
  f.program[0].transfer_count = 1;
  for (std::size_t turn = 0; taken < kCalls; ++turn) {
    ASSERT_LT(turn, 20 * kCalls);
    while (calls < kCalls) {
      if (!sending)
        for (std::size_t i = 0; i < count_of(calls); ++i) sent[i] = ++value;
      if (!sending) f.prepare(1, sent, count_of(calls));
      sending = !f.operation[1].advance(kNobody);
      if (sending) break;
      ++calls;
    }
    for (int some = 0; some < 3 && taken < calls + (sending ? 1 : 0); ++some) {
      if (!receiving) f.prepare(0, received, count_of(taken));
      receiving = !f.operation[0].advance(kNobody);
      if (receiving) break;
      for (std::size_t i = 0; i < count_of(taken); ++i)
        ASSERT_EQ(received[i], ++expected) << "call " << taken;
      ++taken;
    }
  }
}

TEST(BlockOperation, PiecesOfAllLengthsShareARing) { share_a_ring(kQuarter); }
TEST(BlockOperation, PiecesOfAllLengthsShareARingWithLittleRoom) { share_a_ring(kRingLine); }
TEST(BlockOperation, PiecesOfAllLengthsShareARingOfLines) { share_a_ring(0); }

TEST(BlockOperation, ShortOnesStreamAsFarAsThereAreLines) {
  Fold f;
  std::uint64_t value = 7;
  for (std::uint64_t call = 0; call <= kLeastRingLines; ++call) {
    f.prepare(1, &value, 1);
    EXPECT_EQ(f.operation[1].advance(kNobody), call < kLeastRingLines);
  }
}

}  // namespace
}  // namespace fermata::exec
