// Single copy of long pieces between processes: offered, read, refused at once or in the middle. This process
// has both members and drives them alternately.
#include "os/os.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <memory>
#include <vector>

#include "exec/blocks.hpp"
#include "sum.hpp"

namespace fermata::exec {
namespace {

constexpr std::size_t kCount = 400'000;  // 3.2 MB
constexpr std::size_t kPage = 4096;

// A member's program of one transfer on the edge 0 -> 1.
struct OneTransfer {
  BlockStage stage{0, 1};
  BlockTransfer transfer;
  BlockEdge edge{0, 1};
  BlockProgram program;
  OneTransfer(BlockCode code, std::uint32_t rank) {
    transfer.code = code;
    transfer.peer = 1 - rank;
    transfer.from = {BlockPlace::kInput, 0};
    transfer.to = {BlockPlace::kOutput, 0};
    program = {.members = 2,
               .rank = rank,
               .stage_count = 1,
               .transfer_count = 1,
               .edge_count = 1,
               .stages = &stage,
               .transfers = &transfer,
               .edges = &edge};
  }
};

// Member 0's block, on pages that can be made unreadable.
struct Pages {
  static constexpr std::size_t kBytes = (kCount * 8 + kPage - 1) / kPage * kPage;
  std::byte* const base = static_cast<std::byte*>(
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  Pages() {
    for (std::uint64_t i = 0; i < kCount; ++i) std::memcpy(base + 8 * i, &i, 8);
  }
  ~Pages() { munmap(base, kBytes); }
  Pages(const Pages&) = delete;
  void protect(std::size_t from, int how) const { ASSERT_EQ(mprotect(base + from, kBytes - from, how), 0); }
};

// Two pieces in a row over one ring buffer. `closed_from`: the bytes of the first piece that are readable at
// first.
void exchange(BlockCode code, bool receiver_may, std::size_t closed_from, bool expect_refusal) {
  const OneTransfer sends(BlockCode::kSend, 0), receives(code, 1);
  const Pages pages;
  alignas(kMaxLine) static std::byte ring[Channel::ring_bytes(kLeastRingLines, kMostPiece)];
  std::memset(ring, 0, sizeof ring);
  Channel::End ends[2][2];
  Channel channels[2] = {{ring, kLeastRingLines, kMostPiece, 0, ends[0]},
                         {ring, kLeastRingLines, kMostPiece, 0, ends[1]}};
  const auto bounce = std::make_unique<std::byte[]>(kBounce);
  std::vector<std::uint64_t> mine(kCount, 5), result(kCount, 7);
  BlockOperation::Work work[2];
  BlockCall call;
  call.element = 8;
  call.fold = add;
  call.direct_from = 2048;
  call.single_copy[0] = call.single_copy[1] = Sizes::from(15);
  const auto none = [](std::uint32_t) {};
  for (int use = 0; use < 2; ++use) {
    BlockOperation sender, receiver;
    BlockCall one = call, two = call;
    one.home = two.home = os::own_memory();  // as if they were two processes
    one.input = {pages.base, kCount, nullptr, nullptr};
    two.input = {reinterpret_cast<std::byte*>(mine.data()), kCount, nullptr, nullptr};
    two.output = {reinterpret_cast<std::byte*>(result.data()), kCount, nullptr, nullptr};
    if (receiver_may) two.bounce = bounce.get();
    sender.prepare(sends.program, one, &channels[0], &work[0], nullptr, 0);
    receiver.prepare(receives.program, two, &channels[1], &work[1], nullptr, 0);
    result.assign(kCount, 7);
    EXPECT_FALSE(sender.advance(none));
    if (use == 0 && closed_from < Pages::kBytes) pages.protect(closed_from, PROT_NONE);
    const bool at_once = receiver.advance(none);
    EXPECT_EQ(at_once, !expect_refusal);
    if (closed_from < Pages::kBytes) pages.protect(0, PROT_READ | PROT_WRITE);
    int turns = 0;
    while (!sender.over() || !receiver.over()) {
      sender.advance(none);
      receiver.advance(none);
      ASSERT_LT(++turns, 10'000);
    }
    ASSERT_EQ(sender.status(), Status::kOk);
    ASSERT_EQ(receiver.status(), Status::kOk);
    EXPECT_EQ(ends[0][0].refused, expect_refusal);
    for (std::uint64_t i = 0; i < kCount; ++i)
      ASSERT_EQ(result[i], code == BlockCode::kReceive ? i : i + 5) << i << " in use " << use;
  }
}

class SingleCopy : public testing::TestWithParam<BlockCode> {
 protected:
  void SetUp() override {
    const std::uint64_t theirs = 1;
    std::uint64_t read = 0;
    if (!os::read_memory(os::own_memory(), &theirs, &read, sizeof read))
      GTEST_SKIP() << "no process may read another's memory here";
  }
};

TEST_P(SingleCopy, IsReadWhereItLies) { exchange(GetParam(), true, Pages::kBytes, false); }
TEST_P(SingleCopy, RefusedAtOnce) { exchange(GetParam(), false, Pages::kBytes, true); }
TEST_P(SingleCopy, RefusedAtTheFirstByte) { exchange(GetParam(), true, 0, true); }
// The first part was already read and folded: it must not come again.
TEST_P(SingleCopy, RefusedInTheMiddle) { exchange(GetParam(), true, 400 * kPage, true); }

// A sender that moves nothing else uses sizes of its own.
TEST(SingleCopy, GoesBySize) {
  const OneTransfer sends(BlockCode::kSend, 0);
  alignas(kMaxLine) static std::byte ring[Channel::ring_bytes(kLeastRingLines, kMostPiece)];
  std::vector<std::uint64_t> block(65536 / 8);
  for (const std::size_t count : {32768 / 8 - 1, 32768 / 8, 65536 / 8 - 1, 65536 / 8}) {
    std::memset(ring, 0, sizeof ring);
    Channel::End ends[2];
    Channel channel{ring, kLeastRingLines, kMostPiece, 0, ends};
    BlockOperation::Work work;
    BlockOperation sender;
    BlockCall call;
    call.home = os::own_memory();
    call.element = 8;
    call.single_copy[0] = Sizes::from(0);
    call.single_copy[1] = {std::uint64_t{1} << 15};
    call.input = {reinterpret_cast<std::byte*>(block.data()), count, nullptr, nullptr};
    sender.prepare(sends.program, call, &channel, &work, nullptr, 0);
    sender.advance([](std::uint32_t) {});
    EXPECT_EQ(sender.uses_single_copy(), count * 8 >= 32768 && count * 8 < 65536) << count;
  }
}

INSTANTIATE_TEST_SUITE_P(Codes, SingleCopy,
                         testing::Values(BlockCode::kReceive, BlockCode::kReceiveLeft,
                                         BlockCode::kReceiveRight));

TEST(ProcessMemory, IsNobodyElse) {
  const int theirs = 3;
  int mine = 0;
  os::ProcessMemory other = os::own_memory();
  other.word ^= 1;
  EXPECT_FALSE(os::read_memory(other, &theirs, &mine, sizeof mine)) << "another process of that number";
  other = os::own_memory();
  other.process = 0x7ffffffe;
  EXPECT_FALSE(os::read_memory(other, &theirs, &mine, sizeof mine)) << "no such process";
}

}  // namespace
}  // namespace fermata::exec
