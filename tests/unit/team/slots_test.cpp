// The account of a team's heap: it reuses parts that nobody holds any more, and never parts that somebody
// holds.
#include "team/slots.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>

#include "base/line.hpp"

namespace fermata::team {
namespace {

constexpr std::uint64_t kBegin = 4096;
constexpr std::uint64_t kBytes = 64 * 1024;
constexpr std::uint32_t kHolders = 3;

struct Heap : ::testing::Test {
  alignas(kMaxLine) std::byte memory[kBegin + kBytes] = {};
  SlotHeap heap{memory, kBegin, kBytes};
  std::atomic<std::uint32_t>& holders(std::uint64_t at) {
    return *reinterpret_cast<std::atomic<std::uint32_t>*>(memory + at);
  }
  void drop(std::uint64_t at) { holders(at).fetch_sub(1, std::memory_order_relaxed); }
};

TEST_F(Heap, NothingIsUsedAgainBeforeTheLastHolderHasLetGo) {
  const SlotHeap::Part whole = heap.take(kBytes - kMaxLine, kHolders);
  ASSERT_EQ(whole.at, kBegin);
  EXPECT_FALSE(whole.used);
  for (std::uint32_t i = 0; i < kHolders; ++i) {
    EXPECT_EQ(heap.take(1, kHolders).at, 0U);
    drop(whole.at);
  }
  const SlotHeap::Part again = heap.take(kBytes - kMaxLine, kHolders);
  EXPECT_EQ(again.at, kBegin);
  EXPECT_TRUE(again.used);
}

TEST_F(Heap, WhatIsGivenBackAtOnceTakesLittleRoom) {
  std::uint64_t end = 0;
  for (int i = 0; i < 10'000; ++i) {
    const SlotHeap::Part part = heap.take(100, 1);
    ASSERT_NE(part.at, 0U);
    end = std::max(end, part.at);
    drop(part.at);
  }
  EXPECT_LT(end, kBegin + 64 * kMaxLine);
}

TEST_F(Heap, WhatPartsDoNotNeedIsAnEighthOfItAndComesBack) {
  const std::uint64_t before = heap.spare();
  EXPECT_GT(before, 0U);
  std::uint64_t spent = 0;
  std::vector<std::uint64_t> held;
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t spare = heap.spare();
    const SlotHeap::Part part = heap.take(1 + spare, 1, spare);
    ASSERT_NE(part.at, 0U);
    spent += spare;
    held.push_back(part.at);
  }
  EXPECT_LE(spent, kBytes / 8);
  EXPECT_LT(heap.spare(), before / 100);
  for (const std::uint64_t at : held) drop(at);
  EXPECT_NE(heap.take(kBytes - kMaxLine, 1).at, 0U);
  EXPECT_EQ(heap.spare(), before);
}

TEST_F(Heap, PiecesOfRoomJoinAgain) {
  std::uint64_t at[16];
  for (std::uint64_t& part : at) part = heap.take(kBytes / 16 - kMaxLine, 1).at;
  EXPECT_EQ(heap.take(1, 1).at, 0U);
  std::shuffle(std::begin(at), std::end(at), std::mt19937(7));
  for (const std::uint64_t part : at) drop(part);
  EXPECT_EQ(heap.take(kBytes - kMaxLine, 1).at, kBegin);
}

TEST_F(Heap, PartsNeverOverlap) {
  std::mt19937 random(11);
  struct Part {
    std::uint64_t at, end;
  };
  std::vector<Part> held;
  std::uint64_t high = kBegin;
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t bytes = 1 + random() % 6000;
    const SlotHeap::Part got = heap.take(bytes, 1);
    if (got.at == 0) {
      ++refused;
    } else {
      const Part part{got.at, got.at + kMaxLine + bytes};
      ASSERT_LE(part.end, kBegin + kBytes);
      for (const Part& other : held) ASSERT_TRUE(part.end <= other.at || other.end <= part.at);
      ASSERT_TRUE(got.used || got.at >= high);
      high = std::max(high, part.end);
      held.push_back(part);
    }
    if (got.at == 0 || random() % 8 < 3) {
      const std::size_t gone = random() % held.size();
      drop(held[gone].at);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(gone));
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_GE(heap.taken(), held.size());
}

}  // namespace
}  // namespace fermata::team
